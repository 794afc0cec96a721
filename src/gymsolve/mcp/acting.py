"""Tools that act: start and steer runs, try remedies, write into the logbook."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from gymsolve.errors import UsageError
from gymsolve.mcp.playing import EPISODE
from gymsolve.mcp.tool import Arguments, Home, Reply, Run, Tell, Tool
from gymsolve.service.answers import Answer
from gymsolve.service.budget import require_writing

__all__ = ["TOOLS"]

Settings = Annotated[dict[str, Any], Field(description='Settings to change: {"algo.gamma": 0.98}')]
_REFUSED = ("track",)
"""Settings that would send data elsewhere; a person decides on those."""


class Start(Arguments):
    env: Annotated[
        str, Field(description="ENV or ENV:VARIANT: a recipe, or any Gymnasium id (module:Id too)")
    ]
    set: Settings = Field(default_factory=dict)
    seed: Annotated[int | None, Field(ge=0)] = None
    steps: Annotated[int | None, Field(ge=1, description="Budget in environment steps")] = None
    from_run: Annotated[str | None, Field(description="RUN[@CHECKPOINT] whose weights it begins with")] = None
    key: Annotated[
        str | None, Field(max_length=100, description="Same key, same run: a retry starts nothing twice")
    ] = None


def _start(home: Home, given: Start, tell: Tell) -> Reply:
    from gymsolve.service.steering import NewRun

    require_writing(home.limits)
    wanted = NewRun(given.env, _checked(given.set), given.seed, given.steps, given.from_run)
    return wanted.start(home, given.key)


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    for path in settings:
        if path.split(".")[0] in _REFUSED:
            raise UsageError(
                "agents cannot send metrics elsewhere.", where=path, hint="Ask the person to do so."
            )
    return settings


class Control(Arguments):
    run: Run
    action: Annotated[
        Literal["stop", "resume", "fork"],
        Field(description="resume: same run goes on; fork: new run from its state, with other settings"),
    ]
    set: Settings = Field(default_factory=dict)
    steps: Annotated[int | None, Field(ge=1, description="Budget of the whole run, to extend it")] = None
    seed: Annotated[int | None, Field(ge=0, description="Of a fork")] = None
    key: Annotated[str | None, Field(max_length=100)] = None


def _control(home: Home, given: Control, tell: Tell) -> Reply:
    from gymsolve.service.runs import stop_run
    from gymsolve.service.steering import Continuation

    require_writing(home.limits)
    if given.action == "stop":
        return stop_run(given.run, home.runs_dir)
    wanted = Continuation(given.run, given.action, _checked(given.set), given.steps, given.seed)
    return wanted.start(home, given.key)


class Diagnose(Arguments):
    run: Annotated[str, Field(description="A run, a log of another tool, or wandb:ENTITY/PROJECT/RUN")]
    action: Annotated[
        Literal["explain", "try_fix"], Field(description="try_fix: train with and without the remedy")
    ] = "explain"
    alert: Annotated[str | None, Field(description="Id of an alert; the first root cause by default")] = None
    seeds: Annotated[int, Field(ge=1, le=5)] = 2
    key: Annotated[str | None, Field(max_length=100, description="Of try_fix, as in rl_start")] = None


@dataclass(frozen=True)
class Explained(Answer):
    """What went wrong, causes first."""

    run: str
    env_steps: int
    roots: list[dict[str, Any]]
    consequences: list[str]
    doubts: list[str]
    problems: list[str]
    next: str


def _diagnose(home: Home, given: Diagnose, tell: Tell) -> Reply:
    from gymsolve.service.diagnose import diagnose_path

    if given.action == "try_fix":
        from gymsolve.service.steering import FixTrial

        require_writing(home.limits)
        return FixTrial(given.run, given.alert, given.seeds).start(home, given.key)
    found = diagnose_path(given.run, home.runs_dir)
    kept = ("id", "severity", "title", "evidence", "cause", "changes", "effect", "step", "active")
    roots = [{name: value for name, value in one.items() if name in kept} for one in found.to_json()["roots"]]
    advice = "rl_diagnose(action=try_fix) tries the first remedy." if roots else "No alert fired."
    return Explained(
        found.run,
        found.env_steps,
        roots,
        [f"{one.id} (because of {one.because})" for one in found.consequences],
        found.lint,
        found.problems,
        advice,
    )


class Logbook(Arguments):
    action: Literal["read", "add"] = "read"
    query: Annotated[str, Field(description="Words, verdict:refuted, run:PART")] = ""
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    note: str = ""
    hypothesis: str = ""
    change: Annotated[str, Field(description="What was changed: algo.gamma=0.98")] = ""
    result: str = ""
    verdict: Literal["confirmed", "refuted", "open"] = "open"
    runs: Annotated[list[str], Field(max_length=50, description="Runs that it is about")] = Field(
        default_factory=list
    )


def _logbook(home: Home, given: Logbook, tell: Tell) -> Reply:
    from gymsolve.service.logbook import add_entry, read_logbook

    if given.action == "read":
        return read_logbook(given.query, given.limit, home.runs_dir)
    require_writing(home.limits)
    return add_entry(
        by=home.by,
        note=given.note,
        hypothesis=given.hypothesis,
        change=given.change,
        result=given.result,
        verdict=given.verdict,
        runs=given.runs,
        runs_dir=home.runs_dir,
    )


TOOLS = (
    Tool(
        "rl_start",
        "Start a training in the background; returns its id at once. Follow it with rl_run(wait=45).",
        Start,
        _start,
        writes=True,
    ),
    Tool("rl_control", "Stop, resume, extend or fork a run.", Control, _control, writes=True),
    Tool(
        "rl_diagnose",
        "Why a run does not learn: root causes with evidence and remedy. try_fix measures the remedy.",
        Diagnose,
        _diagnose,
    ),
    EPISODE,
    Tool(
        "rl_logbook",
        "What was tried and what came of it. Read it before you start, write when you know more.",
        Logbook,
        _logbook,
        writes=True,
    ),
)
