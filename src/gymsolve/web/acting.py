"""Actions of the pages: start, stop and fork runs, within the limits of the server.

With `"dry_run": true` nothing is done, and the answer is the command, for the user to confirm.
"""

from typing import Any

from gymsolve.errors import UsageError
from gymsolve.jobs.request import RunRequest, Verb, require_env, spell_settings
from gymsolve.recipes import parse_overrides
from gymsolve.recipes.files import uses_recipe
from gymsolve.service.agent_limits import require_writing
from gymsolve.service.logbook import add_entry
from gymsolve.service.planning import plan_training
from gymsolve.service.report import report_run
from gymsolve.service.start_requests import FixTrial, command_line, foreseen_doubts, start_request
from gymsolve.view.runs import stop_run
from gymsolve.web.reading import asked_run
from gymsolve.web.route import Ask, Reply

_PARTS = ("note", "hypothesis", "change", "result")


def start(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    env = ask.body_text("env").strip()
    require_env(env)
    seeds = ask.body_whole("seeds", least=1)
    request = _request(ask, "train", env, seeds=None if seeds == 1 else seeds)
    return _go_on(ask, request) | ({"plan": _plan(ask, request)} if _is_dry(ask) else {})


def _plan(ask: Ask, request: RunRequest) -> dict[str, Any] | None:
    """The plan; None where no recipe is used: settings are then derived as the run starts."""
    if not uses_recipe(request.env_or_ref):
        return None
    settings = {path: value for path, value in request.settings().items() if path != "seed"}
    return plan_training(request.env_or_ref, settings, runs_dir=ask.home.runs_dir).to_json()


def stop(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    run = asked_run(ask)
    if _is_dry(ask):
        return {"command": command_line(["stop", run.id], ask.home)}
    return stop_run(run.id, ask.home.runs_dir).to_json()


def resume(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    return _continue(ask, _request(ask, "resume", _at(ask)))


def fork(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    return _continue(ask, _request(ask, "fork", _at(ask)))


def _continue(ask: Ask, request: RunRequest) -> dict[str, Any]:
    doubts = {"doubts": foreseen_doubts(request, ask.home)} if _is_dry(ask) else {}
    return _go_on(ask, request) | doubts


def _request(ask: Ask, verb: Verb, what: str, seeds: int | None = None) -> RunRequest:
    settings, steps = spell_settings(_settings(ask.body)), ask.body_whole("steps", least=1)
    seed = None if verb == "resume" else ask.body_whole("seed")
    return RunRequest(verb, what, settings, seed, seeds, steps)


def _go_on(ask: Ask, request: RunRequest) -> dict[str, Any]:
    if _is_dry(ask):
        return {"command": command_line(request.words(), ask.home)}
    return start_request(request, ask.home, _key(ask)).to_json()


def try_fix(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    trial = FixTrial(asked_run(ask).id, ask.body_text("alert") or None)
    if _is_dry(ask):
        return {"command": trial.command(ask.home)}
    return trial.start(ask.home, _key(ask)).to_json()


def write_report(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    return report_run(asked_run(ask).id, ask.home.runs_dir).to_json()


def write_note(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    parts = {name: ask.body_text(name) for name in _PARTS} | {"verdict": ask.body_text("verdict") or "open"}
    home = ask.home
    return add_entry(by=home.by, **parts, runs=[asked_run(ask).id], runs_dir=home.runs_dir).to_json()


def _is_dry(ask: Ask) -> bool:
    return ask.body.get("dry_run") is True


def _at(ask: Ask) -> str:
    """RUN, or RUN@CHECKPOINT if the page names one."""
    checkpoint = ask.body_text("checkpoint")
    run = asked_run(ask).id
    if checkpoint and not (checkpoint in ("best", "last") or checkpoint.isdecimal()):
        raise UsageError(f"there is no checkpoint {checkpoint!r}.", where="checkpoint")
    return f"{run}@{checkpoint}" if checkpoint else run


def _key(ask: Ask) -> str | None:
    return ask.body_text("key")[:100] or None


def _settings(body: dict[str, Any]) -> dict[str, Any]:
    """Lines such as `algo.gamma=0.98`, as `--set` takes them."""
    given = body.get("set", [])
    if not (isinstance(given, list) and all(isinstance(line, str) for line in given)):
        raise UsageError("settings are lines of text.", where="set", hint="Write algo.gamma=0.98")
    return parse_overrides([line.strip() for line in given if line.strip()])
