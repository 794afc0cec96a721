"""Tools that act: start and steer runs, try remedies, write into the logbook."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gymsolve.doctor.diagnose_run import ONLINE, diagnose_path
from gymsolve.errors import UsageError
from gymsolve.jobs.calls import call_command
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.mcp.playing import EPISODE
from gymsolve.mcp.remembering import LOGBOOK
from gymsolve.mcp.tool import (
    Arguments,
    Env,
    Record,
    Reply,
    Run,
    Settings,
    Tell,
    Tool,
    refuse_given,
    shorten,
)
from gymsolve.runs.process import is_here
from gymsolve.service.agent_limits import Allowance, Home, own_run, require_own, require_writing
from gymsolve.service.start_requests import FixTrial, start_request
from gymsolve.view.runs import stop_run

_REFUSED = ("track",)
"""Settings that would send data elsewhere; a person decides on those."""
_EXPLAINED = ("id", "severity", "title", "cause", "changes", "instead", "effect", "step", "active")
_SHORT, _LONG = 400, 3000
"""Characters of one text in a diagnosis."""


class Start(Arguments):
    env: Env
    set: Settings = Field(default_factory=dict)
    seed: Annotated[int | None, Field(ge=0)] = None
    steps: Annotated[int | None, Field(ge=1, description="Budget in environment steps")] = None
    from_run: Annotated[str | None, Field(description="RUN[@CHECKPOINT] whose weights it begins with")] = None
    key: Annotated[
        str | None, Field(max_length=100, description="Same key, same run: a retry starts nothing twice")
    ] = None


def _start(home: Home, given: Start, tell: Tell) -> Reply:
    """Start a training in the background; returns its id at once. Follow it with rl_run(wait=45)."""
    require_writing(home.limits)
    settings = spell_settings(_checked(given.set))
    request = RunRequest(
        "train", given.env, settings, given.seed, steps=given.steps, start_from=given.from_run
    )
    return _begun(start_request(request, home, given.key))


def _begun(started: Allowance) -> Record:
    again = "Nothing new was started. " if started.already_started else ""
    return Record(started.to_json(), f"{again}rl_run(run, wait=45) follows it.")


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
    seed: Annotated[int | None, Field(ge=0, description="Of a fork")] = None
    key: Annotated[str | None, Field(max_length=100)] = None


def _control(home: Home, given: Control, tell: Tell) -> Reply:
    """Stop, resume, extend or fork a run."""
    require_writing(home.limits)
    if given.action == "stop":
        refuse_given(given, "with action=stop", ("set", "steps", "seed", "key"))
        return _stopped(home, given.run)
    if given.action == "resume":
        refuse_given(given, "with action=resume: the run keeps its seed", ("seed",))
    settings = spell_settings(_checked(given.set))
    request = RunRequest(given.action, given.run, settings, given.seed, steps=given.steps)
    return _begun(start_request(request, home, given.key))


def _stopped(home: Home, ref: str) -> Record:
    require_own(ref, home)
    asked = stop_run(ref, home.runs_dir)
    if not ref.startswith("group:") and not is_here(info := own_run(asked.run, home)[0].info()):
        where = f"It trains on {info['host']!r} and hears of it only if that machine shares this folder. "
    else:
        where = ""
    return Record(asked.to_json(), f"{where}rl_run(run, wait=45) tells when it has ended.")


class Diagnose(Arguments):
    run: Annotated[str, Field(description="A run, a log of another tool, or wandb:ENTITY/PROJECT/RUN")]
    action: Annotated[
        Literal["explain", "try_fix"], Field(description="try_fix: train with and without the remedy")
    ] = "explain"
    alert: Annotated[str | None, Field(description="Id of an alert; the first root cause by default")] = None
    seeds: Annotated[int, Field(ge=1, le=5)] = 2
    key: Annotated[str | None, Field(max_length=100, description="Of try_fix, as in rl_start")] = None


def _diagnose(home: Home, given: Diagnose, tell: Tell) -> Reply:
    """Why a run does not learn: root causes with evidence and remedy. try_fix measures the remedy."""
    if given.action == "try_fix":
        require_writing(home.limits)
        started = FixTrial(given.run, given.alert, given.seeds).start(home, given.key)
        return _begun(started) if isinstance(started, Allowance) else started
    refuse_given(given, "with action=explain", ("seeds", "key"))
    require_own(given.run, home)
    findings = _findings(home, given.run)
    roots, consequences = findings["roots"], findings["consequences"]
    if given.alert is not None:
        roots = [alert for alert in (*roots, *consequences) if alert["id"] == given.alert]
        if not roots:
            raise UsageError(f"the alert {given.alert!r} did not fire in this run.", where="alert")
    facts = {
        "run": findings["run"],
        "env_steps": findings["env_steps"],
        "roots": shorten([_explained(alert) for alert in roots], _LONG),
        "consequences": [f"{alert['id']} (because of {alert['because']})" for alert in consequences],
        "doubts": [shorten(doubt, _SHORT) for doubt in findings["lint"]],
        "problems": [shorten(problem, _SHORT) for problem in findings["problems"][:10]],
    }
    return Record(facts, _advice(findings))


def _findings(home: Home, ref: str) -> dict[str, Any]:
    """The findings of the rules; a process that can be ended asks W&B."""
    if ref.startswith(ONLINE):
        answer: dict[str, Any] = call_command(["diagnose", ref])
        return answer
    return diagnose_path(ref, home.runs_dir).to_json()


def _explained(alert: dict[str, Any]) -> dict[str, Any]:
    evidence = {name: value for name, value in alert["evidence"].items() if value not in (None, "")}
    return {name: alert[name] for name in _EXPLAINED if alert[name] != ""} | {"evidence": evidence}


def _advice(findings: dict[str, Any]) -> str:
    if not findings["roots"]:
        return "No alert fired: rl_metrics and rl_episode show what it does."
    remedied = next((alert["id"] for alert in findings["roots"] if alert["changes"]), None)
    if findings["log"] != "gymsolve":
        return "A log of another tool: remedies are in its own words."
    if remedied is None:
        return "No setting mends it: see `instead` and `cause`."
    return f"rl_diagnose(run, action=try_fix, alert={remedied}) measures its remedy."


TOOLS = (
    Tool("rl_start", Start, _start, writes=True),
    Tool("rl_control", Control, _control, writes=True),
    Tool("rl_diagnose", Diagnose, _diagnose),
    EPISODE,
    LOGBOOK,
)
