"""Starting, resuming and forking runs within the limits of a server, and the command that does the same.

Doors that other programs or pages use come through here: what they may spend is decided in `budget.py`.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gymsolve.errors import UsageError
from gymsolve.recipes import apply_overrides, has_recipe, resolve, validate
from gymsolve.runs import find_run, runs_folder, split_ref
from gymsolve.service.budget import Allowance, Home, start_within
from gymsolve.service.fix import PlannedFix, plan_fix
from gymsolve.service.runs import get_run
from gymsolve.service.seeds import jobs_at_once
from gymsolve.service.start import (
    StartedRun,
    fork_run,
    fork_words,
    resume_run,
    resume_words,
    start_fix,
    start_run,
    train_words,
)

__all__ = ["Continuation", "FixTrial", "NewRun", "command_line"]

START_SECONDS = 45.0
"""How long a page or an agent waits for a run to begin."""
_MOST_SEEDS = 1000


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
        if self.env.startswith("-") or not self.env.strip():  # it becomes a word of a command line
            raise UsageError(f"{self.env!r} names no environment.", where="env", hint="Such as CartPole-v1.")
        if self.seeds is not None and not 2 <= self.seeds <= _MOST_SEEDS:
            hint = f"Give 2 to {_MOST_SEEDS:,}, or nothing for one."
            raise UsageError(f"{self.seeds} is no number of seeds to compare.", where="seeds", hint=hint)

    def start(self, home: Home, key: str | None = None) -> Allowance:
        """Start it, if the limits allow it; of several seeds, the answer names the group."""
        runs = self.seeds or 1

        def begin(seconds: float | None) -> StartedRun:
            share = None if seconds is None else seconds / runs
            return start_run(
                self.env,
                {**self.settings, **_time_limit(share, self.settings)},
                seed=self.seed,
                seeds=self.seeds,
                steps=self.steps,
                start_from=self.start_from,
                runs_dir=home.runs_dir,
                limit=START_SECONDS,
            )

        return start_within(
            home.limits,
            begin,
            steps=runs * self._planned(home),
            begun=0 if self.seeds is None else None,
            at_once=jobs_at_once(1, runs),
            key=key,
            runs_dir=home.runs_dir,
        )

    def command(self, home: Home) -> str:
        """What a person would type."""
        words = train_words(
            self.env,
            self.settings,
            seed=self.seed,
            seeds=self.seeds,
            steps=self.steps,
            start_from=self.start_from,
        )
        return command_line(words, home)

    def _planned(self, home: Home) -> int:
        """Environment steps that it may take."""
        asked = _with_steps(self.settings, self.steps)
        if has_recipe(self.env):
            return resolve(self.env, asked).config.env_budget
        steps = asked.get("steps", 0)
        if home.limits.steps is None or (steps and isinstance(steps, int) and "budget_in" not in asked):
            return steps if isinstance(steps, int) else 0
        raise UsageError(
            f"{self.env!r} has no recipe, and steps are limited here.", where="steps", hint="Give a number."
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
        name, which = split_ref(self.run)
        run = find_run(name, home.runs_dir)
        stored = validate(run.config_json()["config"])
        config, _ = apply_overrides(stored, _with_steps(self.settings, self.steps))
        done, spent = run.summary().env_steps, get_run(str(run.path)).seconds
        # Of a checkpoint that is not a number of steps, the least is known: it counts as the beginning.
        begun = done if which in (None, "last") else int(which) if which.isdecimal() else 0
        return start_within(
            home.limits,
            lambda seconds: self._begin(home, _time_limit(seconds, self.settings, spent)),
            steps=max(0, config.env_budget - begun),
            begun=begun,
            key=key,
            runs_dir=home.runs_dir,
        )

    def _begin(self, home: Home, limits: Mapping[str, Any]) -> StartedRun:
        changes = {**self.settings, **limits}
        steps, folder, limit = self.steps, home.runs_dir, START_SECONDS
        if self.kind == "resume":
            return resume_run(self.run, changes, steps=steps, runs_dir=folder, limit=limit)
        return fork_run(self.run, changes, seed=self.seed, steps=steps, runs_dir=folder, limit=limit)

    def command(self, home: Home) -> str:
        """What a person would type."""
        if self.kind == "resume":
            return command_line(resume_words(self.run, self.settings, steps=self.steps), home)
        return command_line(fork_words(self.run, self.settings, seed=self.seed, steps=self.steps), home)


@dataclass(frozen=True)
class FixTrial:
    """Trials of an alert's remedy in the background; an event of the run tells what came of them."""

    run: str
    alert: str | None = None
    seeds: int = 2

    def start(self, home: Home, key: str | None = None) -> Allowance | PlannedFix:
        """Start them, if there is something to try and the limits allow it."""
        plan = plan_fix(self.run, self.alert, seeds=self.seeds, runs_dir=home.runs_dir)
        if plan.obstacle is not None:
            return plan.answer()

        def begin(seconds: float | None) -> StartedRun:
            return start_fix(plan.run, self.alert, self.seeds)

        trials = 2 * self.seeds * plan.steps
        return start_within(home.limits, begin, steps=trials, begun=None, key=key, runs_dir=home.runs_dir)

    def command(self, home: Home) -> str:
        """What a person would type."""
        return command_line(["fix", self.run, *([self.alert] if self.alert else [])], home)


def command_line(words: list[str], home: Home) -> str:
    """A command of gymsolve as one types it, with the folder of runs unless it is the usual one."""
    folder = runs_folder(home.runs_dir).absolute()
    place = [] if folder == runs_folder(None).absolute() else ["--runs-dir", str(folder)]
    return shlex.join(["gymsolve", *words, *place])


def _with_steps(settings: Mapping[str, Any], steps: int | None) -> dict[str, Any]:
    return {**settings, **({} if steps is None else {"steps": steps})}


def _time_limit(seconds: float | None, settings: Mapping[str, Any], spent: float = 0.0) -> dict[str, Any]:
    """Seconds that a run may train in all, of which it has `spent` some; a shorter limit of its own stays."""
    if seconds is None:
        return {}
    own = settings.get("max_seconds")
    allowed = round(seconds + spent)
    return {"max_seconds": min(allowed, own) if isinstance(own, int | float) else allowed}
