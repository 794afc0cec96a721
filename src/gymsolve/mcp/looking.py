"""The tool that looks at one run: its state and what is new, its settings, events and report."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.errors import GymsolveError, UsageError
from gymsolve.jobs.queue import Queue
from gymsolve.jobs.requested_queue import QueueState, open_queue
from gymsolve.mcp.tool import DATA, Arguments, Content, Record, Reply, Tell, Tool, refuse_given, shorten
from gymsolve.runs.groups import GROUP
from gymsolve.service.agent_limits import Home, own_run, require_own
from gymsolve.service.group_changes import GroupNews, wait_for_group, wait_for_queue
from gymsolve.service.run_changes import News, wait_for
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.markdown import render_markdown
from gymsolve.view.report.write import compose
from gymsolve.view.run_view import RunView
from gymsolve.view.runs import get_run

_EVENT_TEXT = 300
_EVENTS = 20
"""Events at a time."""
_PAGE = 6000
"""Characters of a report at a time."""


class Look(Arguments):
    run: Annotated[str, Field(description="Run id, a unique part of it, @last, @best:ENV or group:ID")]
    detail: Annotated[
        Literal["summary", "settings", "all_settings", "events", "report"],
        Field(description="summary: state and what is new; settings: those that are not defaults"),
    ] = "summary"
    wait: Annotated[int, Field(ge=0, le=45, description="Seconds to wait for news")] = 0
    until: Literal["end", "evaluation", "alert"] = "end"
    since: Annotated[str, Field(description="`cursor` of the last answer")] = ""
    offset: Annotated[
        int, Field(ge=0, description="Characters of a report, or newer events, to leave out")
    ] = 0


def _look(home: Home, given: Look, tell: Tell) -> Reply:
    """State of a run and what is new; waits for news if asked to. Also its settings, events, report."""
    require_own(given.run, home)
    if given.run.startswith(GROUP):
        refuse_given(given, "with a group", ("detail", "until", "since", "offset"))
        return _group(home, given, tell)
    if given.detail not in ("report", "events"):
        refuse_given(given, f"with detail={given.detail}", ("offset",))
    if given.detail == "summary":
        return _news(home, given, tell)
    refuse_given(given, f"with detail={given.detail}", ("wait", "until", "since"))
    if given.detail == "report":
        return _report(home, given)
    if given.detail == "events":
        return _events(home, given)
    details = get_run(given.run, home.runs_dir)
    decided, following = details.provenance, "rl_catalog(kind=settings, query) explains one."
    if given.detail == "settings":
        decided = {path: source for path, source in decided.items() if source != "default"}
        following = f"detail=all_settings also has the defaults; {following}"
    values = {path: shorten(_value(details.config, path), _EVENT_TEXT) for path in decided}
    decided_by = decided if given.detail == "settings" else {}
    return Record({"run": details.id, "settings": values, "decided_by": decided_by}, following)


def _events(home: Home, given: Look) -> Reply:
    """A page of the events of a run: the newest, or those before them."""
    view = RunView(own_run(given.run, home)[0])
    end = max(0, len(view.shown_events) - given.offset)
    page = view.shown_events[max(0, end - _EVENTS) : end]
    facts = {
        "run": view.run.id,
        "events": [shorten(event, _EVENT_TEXT) for event in page],
        "problems": view.problems[:20],
        "about": DATA,
    }
    older = end - len(page)
    return Record(facts, f"{older} older ones: offset={given.offset + len(page)}." if older else None)


def _value(config: Any, path: str) -> Any:
    for key in path.split("."):
        config = config.get(key) if isinstance(config, dict) else None
    return config


def _news(home: Home, given: Look, tell: Tell) -> Reply:
    def heard(news: News) -> None:
        tell(news.env_steps, news.steps or 0, f"{news.run}: {news.status}")

    news = wait_for(given.run, given.since, given.wait, given.until, home.runs_dir, tell=heard)
    return Record(news.to_json(), _following(home, news))


def _group(home: Home, given: Look, tell: Tell) -> Reply:
    queue = open_queue(given.run, home.runs_dir)
    if queue is not None:
        return _queue(queue, given, tell)

    def heard(news: GroupNews) -> None:
        seeds = len(news.seeds)
        done = sum(seed.get("env_steps", 0) for seed in news.seeds)
        tell(done, 0, f"{news.run}: {news.training} of {seeds} seeds train, {news.waiting} wait")

    news = wait_for_group(given.run, given.wait, home.runs_dir, tell=heard)
    if news.status == "running":
        return Record(news.to_json(), "rl_run(run, wait=45) again.")
    return Record(news.to_json(), "rl_compare(runs=[this group, another]) says whether they differ.")


def _queue(queue: Queue, given: Look, tell: Tell) -> Reply:
    def heard(state: QueueState) -> None:
        runs = len(state.runs)
        tell(runs - state.training - state.waiting, runs, f"{state.training} train, {state.waiting} wait")

    state, going = wait_for_queue(queue, given.wait, tell=heard)
    facts = {"run": state.run, "status": "running" if going else "ended", **state.to_json()}
    if going:
        return Record(facts, "rl_run(run, wait=45) again.")
    return Record(facts, "rl_compare(runs=[ID, ID]) sets its runs side by side.")


def _following(home: Home, news: News) -> str:
    if news.trying is not None:
        return "rl_run(run, wait=45) again: a remedy is being tried."
    if news.status == "running":
        return "rl_run(run, wait=45, since=cursor) again."
    if news.status == "solved":
        return "It is solved: rl_logbook(action=add) says so to others."
    if news.status == "crashed":
        return "rl_run(run, detail=events) tells why; rl_control(action=resume) goes on from its checkpoint."
    try:
        roots = diagnose_path(news.run, home.runs_dir).roots
    except GymsolveError:  # a file of it is damaged, and the state is told all the same
        return "rl_diagnose(run) says what stands in its way."
    causes = [alert for alert in roots if alert.severity != "info"]
    if not causes:
        more = "rl_metrics and rl_episode show more; rl_control(action=resume, steps) trains on."
        return f"No cause is known: {more}"
    if not causes[0].changes:
        return f"rl_diagnose(run) explains {causes[0].id}; more steps will hardly help."
    remedy = f"rl_try_fix(run, alert={causes[0].id}) measures its remedy"
    return f"rl_diagnose(run) explains {causes[0].id}; {remedy}. More steps alone will hardly help."


def _report(home: Home, given: Look) -> Reply:
    return Content(report_page(home, given.run, given.offset, "offset={}"), quoted=True)


def report_page(home: Home, ref: str, offset: int, more: str) -> str:
    """A part of the report of a run; `more` says how to ask for what begins at {}."""
    run, _ = own_run(ref, home)
    text = render_markdown(compose(DiagnosedRun(run)))
    if offset and offset >= len(text):
        raise UsageError(f"the report has {len(text):,} characters.", where="offset")
    part = text[offset : offset + _PAGE]
    left = len(text) - offset - len(part)
    following = f"\n[{left:,} more characters: {more.format(offset + len(part))}]" if left else ""
    return f"[Report of {run.id}. {DATA}]\n{part}{following}"


LOOK = Tool("rl_run", Look, _look)
