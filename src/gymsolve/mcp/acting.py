"""Tools that start and steer runs."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gymsolve.errors import UsageError
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.mcp.diagnosing import DIAGNOSE, TRY_FIX
from gymsolve.mcp.playing import EPISODE
from gymsolve.mcp.remembering import LOGBOOK
from gymsolve.mcp.starting import begun
from gymsolve.mcp.tool import Arguments, Env, Key, Record, Reply, Run, Settings, Tell, Tool, refuse_given
from gymsolve.runs.process import is_here
from gymsolve.service.agent_limits import Home, own_run, require_own, require_writing
from gymsolve.service.start_requests import start_request
from gymsolve.view.runs import stop_run

_REFUSED = ("track",)
"""Settings that would send data elsewhere; a person decides on those."""


MaxSeconds = Annotated[
    float | None, Field(gt=0, description="End after so long, last evaluation included; each seed has it")
]


class Start(Arguments):
    env: Env
    set: Settings = Field(default_factory=dict)
    seed: Annotated[int | None, Field(ge=0)] = None
    seeds: Annotated[int, Field(ge=1, le=100, description="Train so many, queued, as one group:ID")] = 1
    steps: Annotated[int | None, Field(ge=1, description="Budget in environment steps, of each seed")] = None
    max_seconds: MaxSeconds = None
    from_run: Annotated[str | None, Field(description="RUN[@CHECKPOINT] whose weights it begins with")] = None
    key: Key = None


def _start(home: Home, given: Start, tell: Tell) -> Reply:
    """Start a training in the background; returns its id at once. Follow it with rl_run(wait=45)."""
    require_writing(home.limits)
    settings = spell_settings(_checked(given.set))
    seeds = None if given.seeds == 1 else given.seeds
    request = RunRequest(
        "train",
        given.env,
        settings,
        given.seed,
        seeds,
        steps=given.steps,
        max_seconds=given.max_seconds,
        start_from=given.from_run,
    )
    return begun(start_request(request, home, given.key))


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
        Field(description="resume: same run goes on, with `steps` for longer; fork: new run from its state"),
    ]
    set: Settings = Field(default_factory=dict)
    steps: Annotated[int | None, Field(ge=1, description="Budget of the whole run, to extend it")] = None
    max_seconds: MaxSeconds = None
    seed: Annotated[int | None, Field(ge=0, description="Of a fork")] = None
    key: Key = None


def _control(home: Home, given: Control, tell: Tell) -> Reply:
    """Stop, resume, extend or fork a run."""
    require_writing(home.limits)
    if given.action == "stop":
        refuse_given(given, "with action=stop", ("set", "steps", "max_seconds", "seed", "key"))
        return _stopped(home, given.run)
    if given.action == "resume":
        refuse_given(given, "with action=resume: the run keeps its seed", ("seed",))
    settings = spell_settings(_checked(given.set))
    request = RunRequest(
        given.action, given.run, settings, given.seed, steps=given.steps, max_seconds=given.max_seconds
    )
    return begun(start_request(request, home, given.key))


def _stopped(home: Home, ref: str) -> Record:
    require_own(ref, home)
    asked = stop_run(ref, home.runs_dir)
    if not ref.startswith("group:") and not is_here(info := own_run(asked.run, home)[0].info()):
        where = f"It trains on {info['host']!r} and hears of it only if that machine shares this folder. "
    else:
        where = ""
    return Record(asked.to_json(), f"{where}rl_run(run, wait=45) tells when it has ended.")


TOOLS = (
    Tool("rl_start", Start, _start, writes=True),
    Tool("rl_control", Control, _control, writes=True),
    DIAGNOSE,
    TRY_FIX,
    EPISODE,
    LOGBOOK,
)
