"""Starting, resuming and forking runs within the limits of a server, and the command that does the same.

Doors that other programs or pages use come through here: what they may spend is decided in `agent_limits.py`.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gymsolve.doctor.fix import PlannedFix, plan_fix
from gymsolve.errors import UsageError, did_you_mean
from gymsolve.jobs.seeds import jobs_at_once
from gymsolve.jobs.start import (
    StartedRun,
    fork_run,
    fork_words,
    resume_run,
    resume_words,
    start_fix,
    start_run,
    train_words,
)
from gymsolve.recipes import apply_overrides, has_recipe, resolve, validate
from gymsolve.runs import runs_folder
from gymsolve.runs.checkpoints import pointed
from gymsolve.runs.trust import buildable_settings
from gymsolve.service.agent_limits import Allowance, Home, Request, Room, own_run, start_within
from gymsolve.service.recipes import list_recipes
from gymsolve.settings.config import TrainConfig
from gymsolve.view.run_view import RunView

_MOST_SEEDS = 1000
_LONG = 600
"""Seconds."""


def require_env(name: str) -> None:
    """Refuse what cannot name an environment: it becomes a word of a command line."""
    if name.startswith("-") or not name.strip():
        raise UsageError(f"{name!r} names no environment.", where="env", hint="Such as CartPole-v1.")


@dataclass(frozen=True)
class NewRun:
    """A training that somebody wants."""

    env: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    steps: int | None = None
    start_from: str | None = None
    seeds: int | None = None
    """So many of them, from `seed` on; None is one."""

    def __post_init__(self) -> None:
        require_env(self.env)
        if self.seeds is not None and not 2 <= self.seeds <= _MOST_SEEDS:
            hint = f"Give 2 to {_MOST_SEEDS:,}, or nothing for one."
            raise UsageError(f"{self.seeds} is no number of seeds to compare.", where="seeds", hint=hint)

    def start(self, home: Home, key: str | None = None) -> Allowance:
        """Start it, if the limits allow it; of several seeds, the answer names the group."""

        def begin(room: Room) -> StartedRun:
            return start_run(
                self.env,
                {**self.settings, **_time_limit(room, runs=self.seeds or 1)},
                seed=self.seed,
                seeds=self.seeds,
                steps=self.steps,
                start_from=self.start_from,
                runs_dir=home.runs_dir,
                limit=room.patience,
            )

        return start_within(home.limits, begin, self._request(home), key=key, runs_dir=home.runs_dir)

    def command(self, home: Home) -> str:
        """What a person would type."""
        return command_line(self._words(), home)

    def _words(self) -> list[str]:
        return train_words(
            self.env,
            self.settings,
            seed=self.seed,
            seeds=self.seeds,
            steps=self.steps,
            start_from=self.start_from,
        )

    def _request(self, home: Home) -> Request:
        """What it may take."""
        asked = _with_steps(self.settings, self.steps)
        if has_recipe(self.env):
            config = resolve(self.env, asked).config
            return self._asks(config.env_budget, config.max_seconds)
        steps, own = asked.get("steps", 0), asked.get("max_seconds")
        if home.limits.steps is None or (steps and isinstance(steps, int) and "budget_in" not in asked):
            known = steps if isinstance(steps, int) else 0
            return self._asks(known, own if isinstance(own, int | float) else None)
        near = did_you_mean(self.env, [one.env_id for one in list_recipes().recipes])
        hint = "Give a number." if near is None else f"{near} If not, give a number."
        raise UsageError(f"{self.env!r} has no recipe, and steps are limited here.", where="steps", hint=hint)

    def _asks(self, steps: int, seconds: float | None) -> Request:
        """So many steps and seconds for each seed."""
        runs = self.seeds or 1
        return Request(
            self._words(),
            runs * steps,
            begun=0 if self.seeds is None else None,
            at_once=jobs_at_once(1, runs),
            seconds=None if seconds is None else runs * seconds,
        )


@dataclass(frozen=True)
class Continuation:
    """A run that is to go on, or a new one that begins in its state."""

    run: str
    """RUN or RUN@CHECKPOINT."""
    kind: Literal["resume", "fork"]
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    """Budget of the whole run, to extend it."""
    seed: int | None = None
    """Of a fork."""

    def start(self, home: Home, key: str | None = None) -> Allowance:
        """Let it go on, if the limits allow it."""
        run, which = own_run(self.run, home)
        stored = validate(run.config_json()["config"])
        config, _ = apply_overrides(stored, _with_steps(self.settings, self.steps))
        done, spent = int(pointed(run, "last") or 0), RunView(run).seconds
        # Of a checkpoint that is not a number of steps, the least is known: it counts as the beginning.
        begun = done if which in (None, "last") else int(which) if which.isdecimal() else 0
        request = Request(
            self._words(),
            steps=max(0, config.env_budget - begun),
            begun=begun,
            seconds=_left_of(config, stored, spent),
            trained=spent if begun == done else 0.0,
        )
        ref = run.id if which is None else f"{run.id}@{which}"
        return start_within(
            home.limits,
            lambda room: self._begin(ref, home, room, _time_limit(room, spent)),
            request,
            key=key,
            runs_dir=home.runs_dir,
        )

    def _begin(self, ref: str, home: Home, room: Room, limits: Mapping[str, Any]) -> StartedRun:
        changes = {**self.settings, **limits}
        steps, folder, limit = self.steps, home.runs_dir, room.patience
        if self.kind == "resume":
            return resume_run(ref, changes, steps=steps, runs_dir=folder, limit=limit)
        return fork_run(ref, changes, seed=self.seed, steps=steps, runs_dir=folder, limit=limit)

    def command(self, home: Home) -> str:
        """What a person would type."""
        return command_line(self._words(), home)

    def _words(self) -> list[str]:
        if self.kind == "resume":
            return resume_words(self.run, self.settings, steps=self.steps)
        return fork_words(self.run, self.settings, seed=self.seed, steps=self.steps)


@dataclass(frozen=True)
class FixTrial:
    """Trials of an alert's remedy in the background; an event of the run tells what came of them."""

    run: str
    alert: str | None = None
    seeds: int = 2

    def start(self, home: Home, key: str | None = None) -> Allowance | PlannedFix:
        """Start them, if there is something to try and the limits allow it."""
        run, _ = own_run(self.run, home)
        plan = plan_fix(str(run.path), self.alert, seeds=self.seeds, runs_dir=home.runs_dir)
        if plan.obstacle is not None:
            return plan.answer()
        buildable_settings(plan.run)  # trials in the background would be refused, and nobody would hear it
        trials = 2 * self.seeds

        def begin(room: Room) -> StartedRun:
            each = None if room.seconds is None else max(1.0, room.seconds / trials)
            return start_fix(plan.run, self.alert, self.seeds, each)

        request = Request([*self._words(), str(self.seeds)], trials * plan.steps, begun=None)
        return start_within(home.limits, begin, request, key=key, runs_dir=home.runs_dir)

    def command(self, home: Home) -> str:
        """What a person would type."""
        return command_line(self._words(), home)

    def _words(self) -> list[str]:
        return ["fix", self.run, *([self.alert] if self.alert else [])]


def command_line(words: list[str], home: Home) -> str:
    """A command of gymsolve as one types it, with the folder of runs unless it is the usual one."""
    folder = runs_folder(home.runs_dir).absolute()
    place = [] if folder == runs_folder(None).absolute() else ["--runs-dir", str(folder)]
    return shlex.join(["gymsolve", *words, *place])


def _with_steps(settings: Mapping[str, Any], steps: int | None) -> dict[str, Any]:
    return {**settings, **({} if steps is None else {"steps": steps})}


def _left_of(config: TrainConfig, stored: TrainConfig, spent: float) -> float | None:
    """Seconds that a run asks for itself; a limit that an earlier sitting was given is not its own."""
    if config.max_seconds is None or config.max_seconds == stored.max_seconds:
        return None
    return max(1.0, config.max_seconds - spent)


def _time_limit(room: Room, spent: float = 0.0, runs: int = 1) -> dict[str, Any]:
    """Seconds that each run may train in all, of which it has `spent` some; of long ones, whole minutes.

    Runs that start one after the other then have the same limit, and do not differ in it.
    """
    if room.seconds is None:
        return {}
    whole = int(room.seconds / runs + spent)
    return {"max_seconds": max(1, whole - whole % 60 if whole > _LONG else whole)}
