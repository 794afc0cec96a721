"""Names, tags and the deletion of runs, as pages ask for them.

With `"dry_run": true` nothing is done, and the answer is the command, for the user to confirm.
"""

from gymsolve.errors import UsageError
from gymsolve.service import edit_runs
from gymsolve.service.agent_limits import require_writing
from gymsolve.service.start_requests import command_line
from gymsolve.view.run_page import folder_by_id
from gymsolve.web.reading import asked_run
from gymsolve.web.route import Ask, Reply

_MOST = 200
"""Runs of one request: as many as a page of the table shows."""


def rename(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    return edit_runs.rename(asked_run(ask).id, ask.body_text("label"), ask.home.runs_dir).to_json()


def tag(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    add, remove = _words(ask, "add"), _words(ask, "remove")
    changed = edit_runs.tag(_paths(ask), add, remove, ask.home.runs_dir)
    return {"runs": [answer.to_json() for answer in changed]}


def delete(ask: Ask) -> Reply:
    require_writing(ask.home.limits)
    dry = ask.body.get("dry_run") is True
    answer = edit_runs.delete(_paths(ask), ask.home.runs_dir, dry_run=dry)
    command = command_line(["runs", "delete", *answer.runs], ask.home)
    return answer.to_json() | ({"command": command} if dry else {})


def _paths(ask: Ask) -> list[str]:
    """Folders of the runs that are named by their whole ids, and in no other way."""
    names = _words(ask, "runs")
    if not names or len(names) > _MOST:
        raise UsageError(f"between 1 and {_MOST} runs can be named.", where="runs")
    return [str(folder_by_id(name, ask.home.runs_dir)) for name in names]


def _words(ask: Ask, name: str) -> list[str]:
    given = ask.body.get(name, [])
    if not (isinstance(given, list) and all(isinstance(word, str) for word in given)):
        raise UsageError("this should be a list of words.", where=name)
    return given
