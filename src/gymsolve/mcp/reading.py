"""Tools that look: recipes, plans, runs, metrics, diagnoses, comparisons."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from gymsolve.mcp.tool import Arguments, Content, Home, Reply, Tell, Tool
from gymsolve.service.answers import Answer
from gymsolve.text import age, number, sparkline

__all__ = ["TOOLS"]

_MOST_TEXT = 7000
"""Characters of an answer in text: some two thousand tokens."""
Run = Annotated[str, Field(description="Run id, a unique part of it, @last or @best:ENV")]


@dataclass(frozen=True)
class RunSettings(Answer):
    """All settings of a run, and who decided them."""

    run: str
    config: dict[str, Any]
    decided_by: dict[str, str]


@dataclass(frozen=True)
class RunEvents(Answer):
    """The newest events of a run, and what of it could not be read."""

    run: str
    events: list[dict[str, Any]]
    problems: list[str]


class Catalog(Arguments):
    query: Annotated[str, Field(description="Words of a recipe's name or description")] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    offset: Annotated[int, Field(ge=0)] = 0


def _catalog(home: Home, given: Catalog, tell: Tell) -> Reply:
    from gymsolve.service.recipes import list_recipes

    found = list_recipes(given.query or None).recipes
    rows = [f"{one.name}: {one.description}" for one in found]
    return Content(_page(rows, given.limit, given.offset, "recipes", "rl_plan(env=NAME) plans one."))


class Plan(Arguments):
    env: Annotated[
        str, Field(description="ENV or ENV:VARIANT: a recipe, or any Gymnasium id (module:Id too)")
    ]
    set: Annotated[dict[str, Any], Field(description='Settings to change: {"algo.gamma": 0.98}')] = Field(
        default_factory=dict
    )
    measure: Annotated[bool, Field(description="Also step the environment: speed, blind policies")] = False


def _plan(home: Home, given: Plan, tell: Tell) -> Reply:
    from gymsolve.service.planning import plan_training

    return plan_training(given.env, given.set, measure=given.measure, runs_dir=home.runs_dir)


class Runs(Arguments):
    query: Annotated[str, Field(description="Words of the id, status:solved, env:CartPole, algo:ppo")] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 15
    offset: Annotated[int, Field(ge=0)] = 0


def _runs(home: Home, given: Runs, tell: Tell) -> Reply:
    from gymsolve.service.runs import list_runs

    found = list_runs(given.query, None, home.runs_dir, trials=False)
    rows = [
        f"{one.id}  {one.status}  {one.env_steps:,} of {one.steps or 0:,} steps  "
        f"best {number(one.best_reward)}  {age(one.created)}"
        for one in found
    ]
    return Content(_page(rows, given.limit, given.offset, "runs", "rl_run(run=ID) shows one."))


class Look(Arguments):
    run: Run
    detail: Annotated[
        Literal["summary", "settings", "events", "report"],
        Field(description="summary: state and what is new"),
    ] = "summary"
    wait: Annotated[int, Field(ge=0, le=45, description="Seconds to wait for news")] = 0
    until: Literal["end", "evaluation", "alert"] = "end"
    since: Annotated[str, Field(description="`cursor` of the last answer")] = ""


def _look(home: Home, given: Look, tell: Tell) -> Reply:
    from gymsolve.service.runs import get_run
    from gymsolve.service.watching import News, wait_for

    if given.detail == "summary":

        def heard(news: News) -> None:
            tell(news.env_steps, news.steps or 0, f"{news.run}: {news.status}")

        return wait_for(given.run, given.since, given.wait, given.until, home.runs_dir, tell=heard)
    told = get_run(given.run, home.runs_dir)
    if given.detail == "settings":
        return RunSettings(told.id, told.config, told.provenance)
    if given.detail == "events":
        return RunEvents(told.id, told.events, told.problems)
    page = Path(told.path) / "report.md"
    if not home.limits.read_only:
        from gymsolve.service.report import report_run

        page = Path(report_run(given.run, home.runs_dir).markdown)
    text = page.read_text(encoding="utf-8") if page.is_file() else "No report was written yet."
    return Content(_cut(text, f"All of it is in {page}."))


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
    from gymsolve.service.curves import read_curves

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
        lines = ["Nothing was recorded yet."]
    others = [name for name in found.names if name not in {one.name for one in found.series}]
    lines.append(f"Also recorded: {', '.join(others[:25])}{' …' * (len(others) > 25)}")
    text = _cut("\n".join(lines), "Ask for fewer names or points.")
    if given.format != "png" or not found.series:
        return Content(text)
    from gymsolve.service.pictures import draw_curves

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
    from gymsolve.service.runs import compare_runs

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
    return Content(_cut("\n".join(lines), "Compare fewer runs."))


def _page(rows: list[str], limit: int, offset: int, what: str, following: str) -> str:
    shown = rows[offset : offset + limit]
    if not shown:
        return f"No {what} there ({len(rows)} fit in all). Try other words." if rows else f"No {what} fit."
    left = len(rows) - offset - len(shown)
    more = f"{left} more: offset={offset + len(shown)}. " if left else ""
    return _cut("\n".join([*shown, f"{more}{following}"]), "Ask for fewer rows.")


def _cut(text: str, advice: str) -> str:
    return (
        text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}\n[cut: {len(text):,} characters. {advice}]"
    )


TOOLS = (
    Tool("rl_catalog", "Find recipes: environments that train with known good settings.", Catalog, _catalog),
    Tool(
        "rl_plan",
        "Say what a training would be without starting it: settings and their origin, budget, doubts, time.",
        Plan,
        _plan,
    ),
    Tool("rl_runs", "List runs, newest first.", Runs, _runs),
    Tool(
        "rl_run",
        "State of a run and what is new; waits for news if asked to. Also its settings, events, report.",
        Look,
        _look,
    ),
    Tool("rl_metrics", "Curves of up to eight runs, as text, table or picture.", Metrics, _metrics),
    Tool(
        "rl_compare",
        "Runs side by side: results, settings that differ, whether a difference can be claimed.",
        Compare,
        _compare,
    ),
)
