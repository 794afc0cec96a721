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
from gymsolve.service import edit_runs
from gymsolve.service.agent_limits import Home, own_run, require_own, require_writing
from gymsolve.service.start_requests import start_queue, start_request
from gymsolve.view.runs import stop_run

_QUEUED = ("requests", "key")
"""Arguments of a queue."""
_REFUSED = ("track",)
"""Settings that would send data elsewhere; a person decides on those."""


MaxSeconds = Annotated[
    float | None, Field(gt=0, description="End after so long, last evaluation included; each seed has it")
]


class Wanted(Arguments):
    """One training of a queue; its arguments are those of rl_start."""

    env: str
    set: dict[str, Any] = Field(default_factory=dict)
    seed: Annotated[int | None, Field(ge=0)] = None
    steps: Annotated[int | None, Field(ge=1)] = None
    max_seconds: Annotated[float | None, Field(gt=0)] = None
    from_run: str | None = None

    def request(self, seeds: int | None = None) -> RunRequest:
        """The same for every door."""
        settings = spell_settings(_checked(self.set))
        return RunRequest(
            "train",
            self.env,
            settings,
            self.seed,
            seeds,
            steps=self.steps,
            max_seconds=self.max_seconds,
            start_from=self.from_run,
        )


class Start(Arguments):
    env: Env | None = None
    set: Settings = Field(default_factory=dict)
    seed: Annotated[int | None, Field(ge=0)] = None
    seeds: Annotated[int, Field(ge=1, le=100, description="Train so many, queued, as one group:ID")] = 1
    steps: Annotated[int | None, Field(ge=1, description="Budget in environment steps, of each seed")] = None
    max_seconds: MaxSeconds = None
    from_run: Annotated[str | None, Field(description="RUN[@CHECKPOINT] whose weights it begins with")] = None
    requests: Annotated[
        list[Wanted], Field(max_length=50, description="Different trainings, queued, as one group:ID; no env")
    ] = Field(default_factory=list)
    key: Key = None


def _start(home: Home, given: Start, tell: Tell) -> Reply:
    """Start a training in the background; returns its id at once. Follow it with rl_run(wait=45)."""
    require_writing(home.limits)
    if given.requests:
        refuse_given(given, "with requests", [name for name in Start.model_fields if name not in _QUEUED])
        return begun(start_queue([wanted.request() for wanted in given.requests], home, given.key))
    if given.env is None:
        raise UsageError("this names nothing to train.", where="env", hint="rl_start(env=ENV)")
    wanted = Wanted(**{name: getattr(given, name) for name in Wanted.model_fields})
    seeds = None if given.seeds == 1 else given.seeds
    return begun(start_request(wanted.request(seeds), home, given.key))


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
        Literal["stop", "resume", "fork", "label"],
        Field(
            description="resume: same run goes on, with `steps` for longer; fork: new run from its state; "
            "label: give it `name`, `tags`"
        ),
    ]
    set: Settings = Field(default_factory=dict)
    steps: Annotated[int | None, Field(ge=1, description="Budget of the whole run, to extend it")] = None
    max_seconds: MaxSeconds = None
    seed: Annotated[int | None, Field(ge=0, description="Of a fork")] = None
    name: Annotated[str | None, Field(description='Found by it as by the id; "": none')] = None
    tags: Annotated[list[str] | None, Field(description="All of its tags; tag:x finds it")] = None
    key: Key = None


def _control(home: Home, given: Control, tell: Tell) -> Reply:
    """Stop, resume, extend, fork, name or tag a run."""
    require_writing(home.limits)
    steering = ("set", "steps", "max_seconds", "seed", "key")
    if given.action == "label":
        refuse_given(given, "with action=label", steering)
        return _labelled(home, given)
    refuse_given(given, f"with action={given.action}; action=label takes it", ("name", "tags"))
    if given.action == "stop":
        refuse_given(given, "with action=stop", steering)
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


def _labelled(home: Home, given: Control) -> Record:
    run, _ = own_run(given.run, home)
    if given.name is None and given.tags is None:
        raise UsageError("there is neither a name nor a tag.", where="name", hint="Give name, tags or both.")
    if given.tags is not None:
        edit_runs.tag([str(run.path)], given.tags, run.summary().tags)
    answer = edit_runs.rename(str(run.path), run.summary().label if given.name is None else given.name)
    return Record(answer.to_json(), "rl_runs(query=tag:TAG) lists runs with a tag.")


TOOLS = (
    Tool("rl_start", Start, _start, writes=True),
    Tool("rl_control", Control, _control, writes=True),
    DIAGNOSE,
    TRY_FIX,
    EPISODE,
    LOGBOOK,
)
