"""What the pages do: start, stop and fork runs, behind the limits that the server was given.

With `"dry_run": true` nothing is done: the answer is the command that would be run, for the user to confirm.
"""

from typing import Any

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.jobs.request import RunRequest, Verb, require_env, spell_settings
from gymsolve.service.agent_limits import require_writing
from gymsolve.web.reading import asked_run
from gymsolve.web.route import Ask, Reply, Route

_TEXT = 10_000
_PARTS = ("note", "hypothesis", "change", "result")


def _start(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    env = _text(ask.body, "env").strip()
    require_env(env)
    seeds = _whole(ask.body, "seeds", least=1)
    request = _request(ask, "train", env, seeds=None if seeds == 1 else seeds)
    if _is_dry(ask):
        return _go_on(ask, request) | {"plan": _plan(ask, request)}
    return _go_on(ask, request)


def _plan(ask: Ask, request: RunRequest) -> dict[str, Any] | None:
    """What it would be; None for an environment without a recipe, whose settings are derived as it starts."""
    from gymsolve.recipes import has_recipe
    from gymsolve.service.planning import plan_training

    if not has_recipe(request.env_or_ref):
        return None
    settings = {path: value for path, value in request.settings().items() if path != "seed"}
    return plan_training(request.env_or_ref, settings, runs_dir=ask.home.runs_dir).to_json()


def _stop(ask: Ask) -> Reply:
    from gymsolve.service.start_requests import command_line
    from gymsolve.view.runs import stop_run

    require_writing(ask.home.limits)
    run = asked_run(ask)
    if _is_dry(ask):
        return {"command": command_line(["stop", run.id], ask.home)}
    return stop_run(run.id, ask.home.runs_dir).to_json()


def _resume(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    return _go_on(ask, _request(ask, "resume", _at(ask)))


def _fork(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    return _go_on(ask, _request(ask, "fork", _at(ask)))


def _request(ask: Ask, verb: Verb, what: str, seeds: int | None = None) -> RunRequest:
    settings, steps = spell_settings(_settings(ask.body)), _whole(ask.body, "steps", least=1)
    seed = None if verb == "resume" else _whole(ask.body, "seed")
    return RunRequest(verb, what, settings, seed, seeds, steps)


def _go_on(ask: Ask, request: RunRequest) -> dict[str, Any]:
    from gymsolve.service.start_requests import command_line, start_request

    if _is_dry(ask):
        return {"command": command_line(request.words(), ask.home)}
    return start_request(request, ask.home, _key(ask)).to_json()


def _fix(ask: Ask) -> Reply:
    from gymsolve.service.start_requests import FixTrial

    require_writing(ask.home.limits)
    wanted = FixTrial(asked_run(ask).id, _text(ask.body, "alert") or None)
    return {"command": wanted.command(ask.home)} if _is_dry(ask) else _done(wanted.start(ask.home, _key(ask)))


def _write_report(ask: Ask) -> Reply:
    from gymsolve.service.report import report_run

    require_writing(ask.home.limits)
    return report_run(asked_run(ask).id, ask.home.runs_dir).to_json()


def _note(ask: Ask) -> Reply:
    from gymsolve.service.logbook import add_entry

    require_writing(ask.home.limits)
    parts = {name: _text(ask.body, name) for name in _PARTS}
    verdict = _text(ask.body, "verdict") or "open"
    runs = [asked_run(ask).id]
    return add_entry(
        by=ask.home.by, **parts, verdict=verdict, runs=runs, runs_dir=ask.home.runs_dir
    ).to_json()


def _done(answer: Answer) -> dict[str, Any]:
    return answer.to_json()


def _is_dry(ask: Ask) -> bool:
    return ask.body.get("dry_run") is True


def _at(ask: Ask) -> str:
    """RUN, or RUN@CHECKPOINT if the page names one."""
    checkpoint = _text(ask.body, "checkpoint")
    run = asked_run(ask).id
    if checkpoint and not (checkpoint in ("best", "last") or checkpoint.isdecimal()):
        raise UsageError(f"there is no checkpoint {checkpoint!r}.", where="checkpoint")
    return f"{run}@{checkpoint}" if checkpoint else run


def _key(ask: Ask) -> str | None:
    return _text(ask.body, "key")[:100] or None


def _settings(body: dict[str, Any]) -> dict[str, Any]:
    """Lines such as `algo.gamma=0.98`, as `--set` takes them."""
    from gymsolve.recipes import parse_overrides

    given = body.get("set", [])
    if not (isinstance(given, list) and all(isinstance(one, str) for one in given)):
        raise UsageError("settings are lines of text.", where="set", hint="Write algo.gamma=0.98")
    return parse_overrides([line.strip() for line in given if line.strip()])


def _text(body: dict[str, Any], name: str) -> str:
    found = body.get(name) or ""
    if not isinstance(found, str) or len(found) > _TEXT:
        raise UsageError("this is no text, or too long a one.", where=name)
    return found


def _whole(body: dict[str, Any], name: str, least: int = 0) -> int | None:
    found = body.get(name)
    if found is not None and (type(found) is not int or not least <= found < 1 << 62):
        raise UsageError(f"this should be a whole number from {least} on.", where=name)
    return found


ROUTES: tuple[Route, ...] = (
    Route("POST", "/runs", _start),
    Route("POST", "/runs/{run}/stop", _stop),
    Route("POST", "/runs/{run}/resume", _resume),
    Route("POST", "/runs/{run}/fork", _fork),
    Route("POST", "/runs/{run}/fix", _fix),
    Route("POST", "/runs/{run}/report", _write_report),
    Route("POST", "/runs/{run}/logbook", _note),
)
