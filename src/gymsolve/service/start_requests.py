"""Starting, resuming and forking runs within the limits of a server, and the command that does the same.

Pages and agents start runs through this module; `agent_limits.py` decides what they may spend.
"""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from gymsolve.doctor.fix import SEEDS, PlannedFix, plan_fix
from gymsolve.doctor.lint import lint
from gymsolve.errors import GymsolveError, UsageError, did_you_mean
from gymsolve.jobs.local import jobs_at_once
from gymsolve.jobs.request import RunRequest, require_env
from gymsolve.jobs.requested_queue import create_queue
from gymsolve.jobs.start import StartedRun, start, start_fix
from gymsolve.recipes import apply_overrides, resolve, split_name, validate
from gymsolve.recipes.files import DERIVED, uses_recipe
from gymsolve.runs import Run, runs_folder
from gymsolve.runs.checkpoints import pointed
from gymsolve.runs.groups import GROUP
from gymsolve.runs.trust import buildable_settings
from gymsolve.service.agent_limits import Allowance, Home, Request, Room, own_run, start_within
from gymsolve.service.recipes import list_recipes
from gymsolve.settings.changes import require_budget_left
from gymsolve.settings.durations import parse_seconds
from gymsolve.view.run_view import RunView

_LONG = 600
"""Seconds from which on a limit is whole minutes."""


def start_request(request: RunRequest, home: Home, key: str | None = None) -> Allowance:
    """Start, resume or fork, if the limits allow it; of several seeds, the answer names the group."""
    if request.verb == "train":
        require_env(request.env_or_ref)
        need, spent = _need_of_new(request, home), 0.0
    elif request.env_or_ref.startswith(GROUP):
        raise UsageError(
            f"{request.env_or_ref} is a group, and its seeds go on one by one.",
            where="run",
            hint="Name one of its runs.",
        )
    else:
        run, which = own_run(request.env_or_ref, home)
        spent = RunView(run).seconds
        request = replace(request, env_or_ref=run.id if which is None else f"{run.id}@{which}")
        need = _need_of_rest(request, run, which, spent)

    def begin(room: Room) -> StartedRun:
        seconds = _time_limit(room, request.seeds or 1)
        at_once = None if request.seeds is None else room.at_once
        limited = replace(request, max_seconds=seconds or request.max_seconds, at_once=at_once)
        return start(limited, runs_dir=home.runs_dir, limit=room.patience)

    return start_within(home.limits, begin, need, key=key, runs_dir=home.runs_dir)


def start_queue(requests: Sequence[RunRequest], home: Home, key: str | None = None) -> Allowance:
    """Start different runs as one queue, if the limits allow all of them; the answer names `group:ID`."""
    needs = []
    for at, request in enumerate(requests):
        require_env(request.env_or_ref)
        try:
            needs.append(_need_of_new(request, home))
        except GymsolveError as error:
            error.where = f"requests[{at}]" + (f".{error.where}" if error.where else "")
            raise
    seconds = [need.seconds for need in needs]
    whole = Request(
        [word for request in requests for word in request.words()],
        sum(need.steps for need in needs),
        begun=None,
        at_once=jobs_at_once(1, len(requests)),
        jobs=len(requests),
        seconds=None if None in seconds else sum(filter(None, seconds)),
    )

    def begin(room: Room) -> StartedRun:
        share = _time_limit(room, len(requests))
        queue = create_queue([_limited(request, share) for request in requests], home.runs_dir)
        again = RunRequest("resume", f"{GROUP}{queue.group}", at_once=room.at_once)
        return start(again, runs_dir=home.runs_dir, limit=room.patience)

    return start_within(home.limits, begin, whole, key=key, runs_dir=home.runs_dir)


def _limited(request: RunRequest, seconds: int | None) -> RunRequest:
    """The request with its share of the hours that are left, unless it asks for less."""
    own = _seconds(request.settings().get("max_seconds"))
    if seconds is None or (own is not None and own <= seconds):
        return request
    return replace(request, max_seconds=seconds)


def _need_of_new(request: RunRequest, home: Home) -> Request:
    """The request of a new run, or of a group of seeds."""
    asked = request.settings()
    if uses_recipe(request.env_or_ref):
        config = resolve(request.env_or_ref, asked).config
        return _for_each_seed(request, config.env_budget, config.max_seconds)
    steps, own = asked.get("steps", 0) if request.steps is None else request.steps, asked.get("max_seconds")
    if home.limits.steps is None or (steps and isinstance(steps, int) and "budget_in" not in asked):
        whole = steps if isinstance(steps, int) else 0
        return _for_each_seed(request, whole, _seconds(own))
    base, variant = split_name(request.env_or_ref)
    near = did_you_mean(base, [recipe.env_id for recipe in list_recipes().recipes])
    if variant is not None and variant.lower() == DERIVED:
        raise UsageError(
            "a budget would be derived, and steps are limited here.", where="steps", hint="Give a number."
        )
    hint = "Give a number." if near is None else f"{near} If not, give a number."
    text = f"{request.env_or_ref!r} has no recipe, and steps are limited here."
    raise UsageError(text, where="steps", hint=hint)


def _seconds(value: Any) -> float | None:
    """A limit as seconds; None for none, and for what the start of the run will refuse."""
    with suppress(ValueError):
        return parse_seconds(str(value)) if value is not None else None
    return None


def _for_each_seed(request: RunRequest, steps: int, seconds: float | None) -> Request:
    runs = request.seeds or 1
    return Request(
        request.words(),
        runs * steps,
        begun=0 if request.seeds is None else None,
        at_once=jobs_at_once(1, runs),
        jobs=runs,
        seconds=None if seconds is None else runs * seconds,
    )


def _need_of_rest(request: RunRequest, run: Run, which: str | None, spent: float) -> Request:
    """The request of a run that goes on, or of a fork."""
    stored = validate(run.config_json()["config"])
    asked = request.settings()
    config, changes = apply_overrides(stored, asked)
    done = int(pointed(run, "last") or 0)
    # A checkpoint whose name is not a number of steps counts as the beginning.
    begun = done if which in (None, "last") else int(which) if which.isdecimal() else 0
    if request.verb == "fork" or ("steps" in changes and run.status != "solved"):
        require_budget_left(run.id, begun, config.env_budget, changes)
    return Request(
        request.words(),
        steps=max(0, config.env_budget - begun),
        begun=begun,
        seconds=config.max_seconds if "max_seconds" in asked else None,
        trained=spent if begun == done else 0.0,
    )


def foreseen_doubts(request: RunRequest, home: Home) -> list[str]:
    """Doubts about the settings with which a run would go on, or a fork begin."""
    run, _ = own_run(request.env_or_ref, home)
    config, _ = apply_overrides(validate(run.config_json()["config"]), request.settings())
    return [str(doubt) for doubt in lint(config)]


@dataclass(frozen=True)
class FixTrial:
    """Trials of an alert's remedy in the background; an event of the run has the verdict."""

    run: str
    alert: str | None = None
    seeds: int = SEEDS

    def start(self, home: Home, key: str | None = None) -> Allowance | PlannedFix:
        """Start the trials, if there is a remedy and the limits allow it."""
        run, _ = own_run(self.run, home)
        plan = plan_fix(str(run.path), self.alert, seeds=self.seeds, runs_dir=home.runs_dir)
        if plan.obstacle is not None:
            return plan.answer()
        buildable_settings(plan.run)  # trials in the background would be refused, and nobody would hear it
        trials = 2 * self.seeds

        def begin(room: Room) -> StartedRun:
            each = None if room.seconds is None else max(1.0, room.seconds / trials)
            return start_fix(plan.run, self.alert, self.seeds, each)

        assert plan.alert is not None
        words = ["fix", run.id, plan.alert.id, str(self.seeds)]  # whatever names they were given by
        request = Request(words, trials * plan.steps, begun=None, jobs=trials)
        return start_within(home.limits, begin, request, key=key, runs_dir=home.runs_dir)

    def command(self, home: Home) -> str:
        """The same as a command of gymsolve."""
        return command_line(self._words(), home)

    def _words(self) -> list[str]:
        return ["fix", self.run, *([self.alert] if self.alert else [])]


def command_line(words: list[str], home: Home) -> str:
    """A command of gymsolve as it is typed, with the folder of runs unless it is the usual one."""
    folder = runs_folder(home.runs_dir).absolute()
    place = [] if folder == runs_folder(None).absolute() else ["--runs-dir", str(folder)]
    return shlex.join(["gymsolve", *words, *place])


def _time_limit(room: Room, runs: int) -> int | None:
    """Seconds that each run may take.

    Long limits are whole minutes, so that runs that start one after the other have the same limit.
    """
    if room.seconds is None:
        return None
    whole = int(room.seconds / runs)
    return max(1, whole - whole % 60 if whole > _LONG else whole)
