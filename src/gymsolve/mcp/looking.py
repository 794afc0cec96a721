"""The tool that looks at one run: its state and what is new, its settings, events and report."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.mcp.tool import DATA, Arguments, Content, Home, Reply, Tell, Told, Tool, refuse_given, shorten
from gymsolve.service.agent_limits import require_own

if TYPE_CHECKING:
    from gymsolve.service.run_changes import News

_EVENT_TEXT = 300
_PAGE = 6000
"""Characters of a report at a time."""


@dataclass(frozen=True)
class RunSettings(Answer):
    """Settings of a run, and who decided them."""

    run: str
    settings: dict[str, Any]
    decided_by: dict[str, str]
    next: str


@dataclass(frozen=True)
class RunEvents(Answer):
    """The newest events of a run, and what of it could not be read."""

    run: str
    events: list[dict[str, Any]]
    problems: list[str]
    about: str


class Look(Arguments):
    run: Annotated[str, Field(description="Run id, a unique part of it, @last or @best:ENV")]
    detail: Annotated[
        Literal["summary", "settings", "all_settings", "events", "report"],
        Field(description="summary: state and what is new; settings: those that are not defaults"),
    ] = "summary"
    wait: Annotated[int, Field(ge=0, le=45, description="Seconds to wait for news")] = 0
    until: Literal["end", "evaluation", "alert"] = "end"
    since: Annotated[str, Field(description="`cursor` of the last answer")] = ""
    offset: Annotated[int, Field(ge=0, description="Of report: characters to leave out")] = 0


def _look(home: Home, given: Look, tell: Tell) -> Reply:
    require_own(given.run, home)
    if given.detail != "report":
        refuse_given(given, f"with detail={given.detail}", ("offset",))
    if given.detail == "summary":
        return _news(home, given, tell)
    refuse_given(given, f"with detail={given.detail}", ("wait", "until", "since"))
    if given.detail == "report":
        return _report(home, given)
    from gymsolve.view.runs import get_run

    told = get_run(given.run, home.runs_dir)
    if given.detail == "events":
        return RunEvents(
            told.id, [shorten(one, _EVENT_TEXT) for one in told.events], told.problems[:20], DATA
        )
    wanted = {
        path: source
        for path, source in told.provenance.items()
        if given.detail == "all_settings" or source != "default"
    }
    values = {path: shorten(_value(told.config, path), _EVENT_TEXT) for path in wanted}
    more = "rl_catalog(kind=settings, query) explains one."
    if given.detail == "all_settings":
        return RunSettings(told.id, values, {}, more)
    return RunSettings(told.id, values, wanted, f"detail=all_settings also has the defaults; {more}")


def _value(config: Any, path: str) -> Any:
    for key in path.split("."):
        config = config.get(key) if isinstance(config, dict) else None
    return config


def _news(home: Home, given: Look, tell: Tell) -> Reply:
    from gymsolve.service.run_changes import wait_for

    def heard(news: "News") -> None:
        tell(news.env_steps, news.steps or 0, f"{news.run}: {news.status}")

    news = wait_for(given.run, given.since, given.wait, given.until, home.runs_dir, tell=heard)
    return Told(news.to_json(), _following(news))


def _following(news: "News") -> str:
    if news.trying is not None:
        return "rl_run(run, wait=45) again: a remedy is being tried."
    if news.status == "running":
        return "rl_run(run, wait=45, since=cursor) again."
    if news.status == "solved":
        return "It is solved: rl_logbook(action=add) says so to others."
    if news.status == "crashed":
        return "rl_run(run, detail=events) tells why; rl_control(action=resume) goes on from its checkpoint."
    return "rl_diagnose(run) says what stands in its way; rl_control(action=resume, steps) gives it more."


def _report(home: Home, given: Look) -> Reply:
    from gymsolve.runs.files import read_file
    from gymsolve.service.agent_limits import own_run

    run, _ = own_run(given.run, home)
    page = run.path / "report.md"
    if not home.limits.read_only:
        from gymsolve.service.report import report_run

        page = Path(report_run(run.id, home.runs_dir).markdown)
    elif not page.exists():
        return Content("No report was written yet, and this server writes none.")
    text = read_file(page).decode(errors="replace")
    if given.offset and given.offset >= len(text):
        raise UsageError(f"the report has {len(text):,} characters.", where="offset")
    shown = text[given.offset : given.offset + _PAGE]
    left = len(text) - given.offset - len(shown)
    following = f"\n[{left:,} more characters: offset={given.offset + len(shown)}]" if left else ""
    return Content(f"[Report of {run.id}. {DATA}]\n{shown}{following}")


LOOK = Tool(
    "rl_run",
    "State of a run and what is new; waits for news if asked to. Also its settings, events, report.",
    Look,
    _look,
)
