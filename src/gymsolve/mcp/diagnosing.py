"""Tools that explain why a run does not learn, and that try the remedy."""

import json
from typing import Annotated, Any

from pydantic import Field

from gymsolve.doctor.diagnose_run import ONLINE, diagnose_path
from gymsolve.doctor.fix import SEEDS
from gymsolve.errors import UsageError
from gymsolve.jobs.calls import call_command
from gymsolve.mcp.starting import begun
from gymsolve.mcp.tool import Arguments, Key, Record, Reply, Tell, Tool, shorten
from gymsolve.service.agent_limits import Allowance, Home, require_own, require_writing
from gymsolve.service.start_requests import FixTrial

_EXPLAINED = ("id", "severity", "title", "cause", "changes", "instead", "effect", "step", "active")
_SHORT, _LONG = 400, 3000
"""Characters of one text in a diagnosis."""
_ALERT = "Id of an alert; the first root cause by default"


class Diagnose(Arguments):
    run: Annotated[str, Field(description="A run, a log of another tool, or wandb:ENTITY/PROJECT/RUN")]
    alert: Annotated[str | None, Field(description=_ALERT)] = None


def _diagnose(home: Home, given: Diagnose, tell: Tell) -> Reply:
    """Why a run does not learn: root causes with evidence and remedy."""
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
        "tried": shorten(findings["tried"], _SHORT),
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
    tried = next((remedy for remedy in findings["tried"] if remedy["alert"] == remedied), None)
    return (
        f"rl_try_fix(run, alert={remedied}) measures its remedy." if tried is None else _after_trials(tried)
    )


def _after_trials(tried: dict[str, Any]) -> str:
    """The next step once a remedy was tried."""
    if tried["verdict"] == "helped":
        call = f"rl_control(run={tried['start']}, action=fork, set={json.dumps(tried['changes'])})"
        return f"The remedy helped: {call} applies it."
    if tried["verdict"] == "hurt":
        return "The remedy made it worse: look at `cause` for another one."
    needed, seeds = tried["seeds_needed"], len(tried["original"])
    if needed is None or needed <= seeds:
        return "The trials show no difference that more seeds would prove."
    return f"The trials are unclear: rl_try_fix(run, alert={tried['alert']}, seeds={needed}) would tell."


class TryFix(Arguments):
    run: Annotated[str, Field(description="Run id, a unique part of it, or @last")]
    alert: Annotated[str | None, Field(description=_ALERT)] = None
    seeds: Annotated[int, Field(ge=1, le=20, description="Fewer than 4 show no difference")] = SEEDS
    key: Key = None


def _try_fix(home: Home, given: TryFix, tell: Tell) -> Reply:
    """Train with and without the remedy of an alert, on several seeds; then rl_diagnose has the verdict."""
    require_writing(home.limits)
    started = FixTrial(given.run, given.alert, given.seeds).start(home, given.key)
    if not isinstance(started, Allowance):
        return started
    return begun(started, "rl_run(run, wait=45) waits; rl_diagnose(run) then has the verdict.")


DIAGNOSE = Tool("rl_diagnose", Diagnose, _diagnose)
TRY_FIX = Tool("rl_try_fix", TryFix, _try_fix, writes=True)
