"""Tools that read: the catalogue, plans, runs, metrics, comparisons."""

from typing import Annotated, Literal

from pydantic import Field

from gymsolve.mcp.looking import LOOK
from gymsolve.mcp.tool import Arguments, Content, Env, Record, Reply, Settings, Tell, Tool, cut
from gymsolve.service import catalog
from gymsolve.service.agent_limits import Home, read_spent, require_own
from gymsolve.service.planning import plan_training
from gymsolve.text import age, number, sparkline
from gymsolve.view.comparing import compare_runs
from gymsolve.view.curve_answers import read_curves
from gymsolve.view.pictures import draw_curves
from gymsolve.view.runs import count_runs, list_runs

_PAGE = 6000
"""Characters of a list's rows in one answer."""


class Catalog(Arguments):
    kind: Annotated[
        Literal["recipes", "settings", "metrics", "alerts", "demos"],
        Field(description="settings: what `set` takes; demos: episodes that people played"),
    ] = "recipes"
    query: Annotated[str, Field(description="Words of a name or description")] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    offset: Annotated[int, Field(ge=0)] = 0


def _catalog(home: Home, given: Catalog, tell: Tell) -> Reply:
    """Find recipes (environments with known good settings); also settings, metrics, alerts, demos."""
    rows, following = {
        "recipes": (catalog.recipe_lines, "rl_plan(env=NAME) plans one."),
        "settings": (catalog.setting_lines, "Give them as set={PATH: VALUE} to rl_plan first."),
        "metrics": (catalog.metric_lines, "rl_metrics(names=[NAME]) shows one."),
        "alerts": (catalog.alert_lines, "rl_diagnose(run) says which fired."),
        "demos": (
            lambda query: catalog.demo_lines(query, home.runs_dir),
            "A person plays: gymsolve play ENV.",
        ),
    }[given.kind]
    lines = rows(given.query)
    page = lines[given.offset : given.offset + given.limit]
    return Content(_rows(page, len(lines), given.offset, given.kind, following))


class Plan(Arguments):
    env: Env
    set: Settings = Field(default_factory=dict)
    measure: Annotated[bool, Field(description="Also step the environment: speed, blind policies")] = False
    detail: Annotated[
        Literal["concise", "detailed"], Field(description="detailed: who decided each setting")
    ] = "concise"


def _plan(home: Home, given: Plan, tell: Tell) -> Reply:
    """Say what a training would be without starting it: settings, threshold, budget, doubts, time.

    With measure, or without a recipe, the environment's code runs.
    """
    own_code = not home.limits.read_only
    planned = plan_training(
        given.env, given.set, measure=given.measure, runs_dir=home.runs_dir, own_code=own_code
    )
    answer = planned.to_json()
    if given.detail == "concise":
        del answer["decided_by"]
    answer["spent"] = read_spent(home.limits, home.runs_dir).to_json()
    unsure = planned.seconds is None or planned.threshold is None
    hint = "measure=true also tells threshold and time. " if unsure and planned.measured is None else ""
    return Record(answer, f"{hint}rl_start(env, set) starts it.")


class Runs(Arguments):
    query: Annotated[
        str, Field(description="Words of the id, status:solved, env:CartPole, algo:ppo, tag:x")
    ] = ""
    trials: Annotated[bool, Field(description="Also runs that tried a remedy")] = False
    limit: Annotated[int, Field(ge=1, le=100)] = 15
    offset: Annotated[int, Field(ge=0)] = 0


def _runs(home: Home, given: Runs, tell: Tell) -> Reply:
    """List runs, newest first."""
    total = count_runs(given.query, home.runs_dir, trials=given.trials)
    runs = list_runs(given.query, given.offset + given.limit, home.runs_dir, trials=given.trials)
    rows = [
        f"{run.id}  {run.status}  {run.env_steps:,} of {run.steps or 0:,} steps  "
        f"best {number(run.best_reward)}  {age(run.created)}"
        + (f"  because: {run.reason[:200]!r}" if run.status in ("crashed", "damaged") and run.reason else "")
        + (f"  called {run.label!r}" if run.label else "")
        + (f"  tags: {' '.join(run.tags)}" if run.tags else "")
        + (f"  group:{run.group}" if run.group else "")
        + (f"  from {(run.parent or {}).get('run')}" if run.parent else "")
        for run in runs[given.offset :]
    ]
    return Content(_rows(rows, total, given.offset, "runs", "rl_run(run=ID) shows one."))


class Metrics(Arguments):
    runs: Annotated[list[str], Field(min_length=1, max_length=8, description="Run ids")]
    names: Annotated[
        list[str], Field(description="Metrics or patterns such as train/*; none: the usual ones")
    ] = Field(default_factory=list)
    format: Annotated[Literal["table", "sparkline", "png"], Field()] = "sparkline"
    points: Annotated[int, Field(ge=2, le=200)] = 20
    start: Annotated[int, Field(ge=0, description="First environment step")] = 0
    end: Annotated[int | None, Field(ge=0)] = None


def _metrics(home: Home, given: Metrics, tell: Tell) -> Reply:
    """Curves of up to eight runs, as text, table or picture."""
    for ref in given.runs:
        require_own(ref, home)
    between = given.start, given.end
    curves = read_curves(given.runs, given.names, given.points, between, home.runs_dir)
    lines = []
    for line in curves.series:
        values = [value for _, value in line.points]
        kind = "" if line.note is None else f" ({line.note})"
        lines.append(f"{line.run} {line.name}{kind} ({line.total} records): {_ends(values)}")
        if given.format == "table":
            lines += [f"  {step:>10,}  {number(value)}" for step, value in line.points]
        elif given.format == "sparkline":
            lines.append(f"  {sparkline(values)}  steps {line.points[0][0]:,} to {line.points[-1][0]:,}")
    if not lines:
        whole = between == (0, None)
        lines = ["Nothing was recorded yet." if whole else "Nothing was recorded between these steps."]
    others = [name for name in curves.names if name not in {line.name for line in curves.series}]
    if others:
        lines.append(f"Also recorded: {', '.join(others[:25])}{' …' * (len(others) > 25)}")
    text = cut("\n".join(lines), "Ask for fewer names or points.")
    if given.format != "png" or not curves.series:
        return Content(text)
    return Content(text, (draw_curves(curves.series),))


def _ends(values: list[float]) -> str:
    finite = [value for value in values if value == value]
    if not finite:
        return "no finite number"
    ends = f"{number(values[0])} → {number(values[-1])}"
    return f"{ends}, lowest {number(min(finite))}, highest {number(max(finite))}"


class Compare(Arguments):
    runs: Annotated[list[str], Field(min_length=2, max_length=20, description="Run ids, or group:ID")]
    axis: Literal["env_steps", "vec_steps", "time"] = "env_steps"


def _compare(home: Home, given: Compare, tell: Tell) -> Reply:
    """Runs side by side: results, settings that differ, whether a difference can be claimed."""
    for ref in given.runs:
        require_own(ref, home)
    comparison = compare_runs(given.runs, home.runs_dir, axis=given.axis)
    lines = [f"{run.letter} = {run.id} ({run.status})" for run in comparison.runs]
    lines += ["  ".join(map(str, row)) for row in comparison.results]
    lines += comparison.conclusions
    lines += [f"seeds {', '.join(map(str, group.seeds))}: {group.remark}" for group in comparison.seeds]
    differing = comparison.differences.items()
    lines.append("Settings that differ:" if differing else "No setting differs that changes results.")
    lines += [f"  {path}: {', '.join(map(str, values))}" for path, values in differing]
    lines += [comparison.remark] * bool(comparison.remark)
    lines += [f"{title}\n{chart}" for title, chart in list(comparison.charts.items())[:1]]
    return Content(cut("\n".join(lines), "Compare fewer runs."))


def _rows(rows: list[str], total: int, offset: int, what: str, following: str) -> str:
    """Rows of a list from `offset` on, and the call for more."""
    if not rows:
        past = f"No {what} from {offset} on; {total} fit in all: offset=0."
        return past if total else f"No {what} fit. Try other words, or none."
    fitting = _fitting(rows)
    left = total - offset - fitting
    more = f"{left} more: offset={offset + fitting}. " if left > 0 else ""
    return cut("\n".join([*rows[:fitting], f"{more}{following}"]), "Ask for fewer rows.")


def _fitting(rows: list[str]) -> int:
    """The number of whole rows that an answer has room for; at least one."""
    room, count = _PAGE, 0
    for row in rows:
        room -= len(row) + 1
        if room < 0 and count:
            break
        count += 1
    return count


TOOLS = (
    Tool("rl_catalog", Catalog, _catalog),
    Tool("rl_plan", Plan, _plan, runs_code=True),
    Tool("rl_runs", Runs, _runs),
    LOOK,
    Tool("rl_metrics", Metrics, _metrics),
    Tool("rl_compare", Compare, _compare),
)
