"""Tools that look: what there is, plans, runs, metrics, comparisons."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gymsolve.mcp.looking import LOOK
from gymsolve.mcp.tool import Arguments, Content, Home, Reply, Tell, Told, Tool, cut
from gymsolve.service.agent_limits import require_own
from gymsolve.text import age, number, sparkline

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
    from gymsolve.service import catalog

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
    return Content(_page(rows(given.query), given.limit, given.offset, given.kind, following))


class Plan(Arguments):
    env: Annotated[
        str, Field(description="ENV or ENV:VARIANT: a recipe, or any Gymnasium id (module:Id too)")
    ]
    set: Annotated[dict[str, Any], Field(description='Settings to change: {"algo.gamma": 0.98}')] = Field(
        default_factory=dict
    )
    measure: Annotated[bool, Field(description="Also step the environment: speed, blind policies")] = False
    detail: Annotated[
        Literal["concise", "detailed"], Field(description="detailed: who decided each setting")
    ] = "concise"


def _plan(home: Home, given: Plan, tell: Tell) -> Reply:
    from gymsolve.service.agent_limits import read_spent
    from gymsolve.service.planning import plan_training

    planned = plan_training(given.env, given.set, measure=given.measure, runs_dir=home.runs_dir)
    told = planned.to_json()
    if given.detail == "concise":
        del told["decided_by"]
    told["spent"] = read_spent(home.limits, home.runs_dir).to_json()
    unsure = planned.seconds is None or planned.threshold is None
    hint = "measure=true also tells threshold and time. " if unsure and planned.measured is None else ""
    return Told(told, f"{hint}rl_start(env, set) starts it.")


class Runs(Arguments):
    query: Annotated[str, Field(description="Words of the id, status:solved, env:CartPole, algo:ppo")] = ""
    trials: Annotated[bool, Field(description="Also runs that tried a remedy")] = False
    limit: Annotated[int, Field(ge=1, le=100)] = 15
    offset: Annotated[int, Field(ge=0)] = 0


def _runs(home: Home, given: Runs, tell: Tell) -> Reply:
    from gymsolve.view.runs import count_runs, list_runs

    total = count_runs(given.query, home.runs_dir, trials=given.trials)
    found = list_runs(given.query, given.offset + given.limit, home.runs_dir, trials=given.trials)
    rows = [
        f"{one.id}  {one.status}  {one.env_steps:,} of {one.steps or 0:,} steps  "
        f"best {number(one.best_reward)}  {age(one.created)}"
        + (f"  because: {one.reason[:200]!r}" if one.status in ("crashed", "damaged") and one.reason else "")
        + (f"  from {(one.parent or {}).get('run')}" if one.parent else "")
        for one in found[given.offset :]
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
    from gymsolve.view.curve_answers import read_curves

    for ref in given.runs:
        require_own(ref, home)
    found = read_curves(
        given.runs,
        given.names,
        points=given.points,
        start=given.start,
        end=given.end,
        runs_dir=home.runs_dir,
    )
    lines = []
    for one in found.series:
        values = [value for _, value in one.points]
        lines.append(f"{one.run} {one.name} ({one.total} records): {_ends(values)}")
        if given.format == "table":
            lines += [f"  {step:>10,}  {number(value)}" for step, value in one.points]
        elif given.format == "sparkline":
            lines.append(f"  {sparkline(values)}  steps {one.points[0][0]:,} to {one.points[-1][0]:,}")
    if not lines:
        between = given.start or given.end is not None
        lines = ["Nothing was recorded between these steps." if between else "Nothing was recorded yet."]
    others = [name for name in found.names if name not in {one.name for one in found.series}]
    if others:
        lines.append(f"Also recorded: {', '.join(others[:25])}{' …' * (len(others) > 25)}")
    text = cut("\n".join(lines), "Ask for fewer names or points.")
    if given.format != "png" or not found.series:
        return Content(text)
    from gymsolve.view.pictures import draw_curves

    return Content(text, (draw_curves(found.series),))


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
    from gymsolve.view.comparing import compare_runs

    for ref in given.runs:
        require_own(ref, home)
    found = compare_runs(given.runs, home.runs_dir, axis=given.axis)
    lines = [f"{one.letter} = {one.id} ({one.status})" for one in found.runs]
    lines += ["  ".join(map(str, row)) for row in found.results]
    lines += [f"seeds {', '.join(map(str, one.seeds))}: {one.remark}" for one in found.seeds]
    differing = [f"  {path}: {', '.join(map(str, values))}" for path, values in found.differences.items()]
    lines += (
        ["Settings that differ:", *differing] if differing else ["No setting differs that changes results."]
    )
    lines += [found.remark] * bool(found.remark)
    lines += [f"{title}\n{chart}" for title, chart in list(found.charts.items())[:1]]
    return Content(cut("\n".join(lines), "Compare fewer runs."))


def _page(rows: list[str], limit: int, offset: int, what: str, following: str) -> str:
    return _rows(rows[offset : offset + limit], len(rows), offset, what, following)


def _rows(shown: list[str], total: int, offset: int, what: str, following: str) -> str:
    """Rows of a list from `offset` on, and what to do for others."""
    if not shown:
        past = f"No {what} from {offset} on; {total} fit in all: offset=0."
        return past if total else f"No {what} fit. Try other words, or none."
    fitting = _fitting(shown)
    left = total - offset - fitting
    more = f"{left} more: offset={offset + fitting}. " if left > 0 else ""
    return cut("\n".join([*shown[:fitting], f"{more}{following}"]), "Ask for fewer rows.")


def _fitting(rows: list[str]) -> int:
    """How many whole rows an answer has room for; at least one."""
    room, count = _PAGE, 0
    for row in rows:
        room -= len(row) + 1
        if room < 0 and count:
            break
        count += 1
    return count


TOOLS = (
    Tool(
        "rl_catalog",
        "Find recipes (environments with known good settings); also settings, metrics, alerts, demos.",
        Catalog,
        _catalog,
    ),
    Tool(
        "rl_plan",
        "Say what a training would be without starting it: settings, threshold, budget, doubts, time.",
        Plan,
        _plan,
    ),
    Tool("rl_runs", "List runs, newest first.", Runs, _runs),
    LOOK,
    Tool("rl_metrics", "Curves of up to eight runs, as text, table or picture.", Metrics, _metrics),
    Tool(
        "rl_compare",
        "Runs side by side: results, settings that differ, whether a difference can be claimed.",
        Compare,
        _compare,
    ),
)
