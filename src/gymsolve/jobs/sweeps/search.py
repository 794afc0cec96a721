"""Works on a sweep: asks for configurations, trains them level by level, then tests the best on fresh seeds.

This process asks and tells; each trial is a process of its own at a place. Whatever it knows comes from the
journal and from the runs, so it may die at any moment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gymsolve.errors import EnvFaultError, GymsolveError, RunDamagedError, UsageError
from gymsolve.jobs.local import LocalPlace
from gymsolve.jobs.place import Begun, Job
from gymsolve.jobs.queue import (
    Event,
    Stopping,
    Task,
    TaskBegun,
    TaskEnded,
    TaskFailed,
    Tick,
    jobs_under_way,
    work_on,
)
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.jobs.sweeps.ladder import Level, Standing, best_of, next_promotion
from gymsolve.jobs.sweeps.proposals import Journal
from gymsolve.jobs.sweeps.results import TrialRun, read_runs, read_trial_run, standing_of
from gymsolve.jobs.sweeps.stored import Sweep
from gymsolve.jobs.sweeps.verdict import Claim, judge
from gymsolve.runs.run import Run
from gymsolve.training.stop import Reason, StopSignal

RECIPE = 0
"""The number of the configuration that is the recipe itself."""
Key = tuple[str, int, int]
"""Purpose, configuration and seed of a run."""


@dataclass(frozen=True)
class TrialChanged:
    """A run of a configuration began, ended or moved up; `text` says what."""

    key: Key
    text: str


Tell = Callable[[TrialChanged | None], None]


class Search:
    """The state of a sweep in the process that works on it."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.tell: Tell = lambda change: None
        """Hears what happens, and several times a second that nothing does."""
        self.journal = Journal(sweep)
        self.configurations = self.journal.configurations()
        self.runs: dict[Key, TrialRun] = {}
        for run in read_runs(sweep):
            self.runs[run.purpose, run.number, run.seed] = run  # the newest of several
        self.training: dict[Key, Run | None] = {}
        """Runs that train or start now; None until a run has begun."""
        self.failed: dict[int, str] = {}
        """Configurations of which no run could begin, and why."""
        self._adopted: list[tuple[Key, Job]] = []
        self.on_stopping: Callable[[], None] = lambda: None
        """Called when somebody has asked to stop."""
        self._idle = False
        """Nothing was to do when it was last asked for, and nothing has happened since."""
        self.stop = StopSignal()
        self.place = LocalPlace(sweep.jobs, runs_dir=sweep.base)

    # -------------------------------------------------------------------------------- standings

    def standings(self) -> dict[int, Standing]:
        """How far each configuration has come."""
        runs = list(self.runs.values())
        return {each.number: self._standing(each.number, runs) for each in self.configurations}

    def _standing(self, number: int, runs: list[TrialRun]) -> Standing:
        busy = any(key[:2] == ("trial", number) for key in self.training)
        return standing_of(number, runs, self.sweep, busy=busy, failed=number in self.failed)

    def winner(self) -> int | None:
        """The configuration with the best score at the highest level."""
        best = best_of(self.standings())
        return None if best is None else best.number

    def claim(self) -> Claim | None:
        """The result on fresh seeds; None while there is none."""
        winner = self.winner()
        return None if winner is None else judge(self.sweep, winner, list(self.runs.values()))

    # -------------------------------------------------------------------------------- next task

    def next_task(self) -> tuple[str, Task] | None:
        """The next run to start, go on with or watch; None while there is nothing to do."""
        if self._adopted:
            key, job = self._adopted.pop()
            return _text(key), job
        if self._idle and self.training:
            return None
        standings = self.standings()
        wanted = self._next_in_search(standings)
        if wanted is None and not self.training:
            self.journal.close_trials(standings)
            wanted = self._next_in_test()
        elif wanted is None and any(key[0] == "test" for key in self.training):
            wanted = self._next_in_test()
        self._idle = wanted is None
        if wanted is None:
            return None
        key, level = wanted
        self.sweep.log_event("starts", purpose=key[0], trial=key[1], seed=key[2], until=level.until)
        self.training[key] = None
        return _text(key), self._request(key, level)

    def _next_in_search(self, standings: dict[int, Standing]) -> tuple[Key, Level] | None:
        levels = self.sweep.levels
        if any(key[0] == "test" for key in self.training):
            return None
        for each in standings.values():  # what was begun comes first
            if each.busy or each.broken or each.level >= len(levels):
                continue
            key = "trial", each.number, levels[each.level].seed
            if each.level == 0 or self._has_begun(key, levels[each.level]):
                return key, levels[each.level]
        if (standing := next_promotion(standings, len(levels))) is not None:
            return self._promoted(standing)
        if len(standings) < self.sweep.trials:
            configuration = self.journal.propose(standings)
            self.configurations.append(configuration)
            self.sweep.log_event("proposed", trial=configuration.number, settings=configuration.values)
            return ("trial", configuration.number, levels[0].seed), levels[0]
        if (standing := next_promotion(standings, len(levels), last=True)) is not None:
            return self._promoted(standing)
        return None

    def _has_begun(self, key: Key, level: Level) -> bool:
        """A run was on its way to this level when it was stopped or died."""
        run = self.runs.get(key)
        if run is None:
            return False
        others = [other for other in self.sweep.levels if other.seed == level.seed and other != level]
        return run.asked == level.until or not others

    def _promoted(self, standing: Standing) -> tuple[Key, Level]:
        level = self.sweep.levels[standing.level]
        newest = max(self.configurations, key=lambda each: each.number).number
        self.sweep.log_event(
            "promoted", trial=standing.number, level=standing.level, score=standing.scores[-1], after=newest
        )
        return ("trial", standing.number, level.seed), level

    def _next_in_test(self) -> tuple[Key, Level] | None:
        winner = self.winner()
        if winner is None or winner == RECIPE:
            return None
        for seed in self.sweep.test_seeds:
            for number in (RECIPE, winner):
                key = "test", number, seed
                run = self.runs.get(key)
                done = run is not None and run.reached(None, self.sweep.config.env_budget)
                if not done and key not in self.training:
                    return key, Level(seed, None)
        return None

    def _request(self, key: Key, level: Level) -> RunRequest:
        purpose, number, seed = key
        label, run = self.sweep.label(purpose, number), self.runs.get(key)
        if run is not None and not run.is_broken:
            return RunRequest("resume", str(run.run.path), until=level.until, trial=label)
        values = next(each.values for each in self.configurations if each.number == number)
        overrides = self.sweep.overrides + spell_settings(values)
        return RunRequest("train", self.sweep.env, overrides, seed=seed, until=level.until, trial=label)

    # ------------------------------------------------------------------------------------- events

    def hear(self, event: Event) -> None:
        """Take in what happened to a run."""
        self._idle &= isinstance(event, Tick)
        if self.sweep.stop_requested():
            self.stop.request("stop file")
        match event:
            case TaskBegun(key, run):
                self.training[_key(key)] = run
                self.tell(TrialChanged(_key(key), "begins"))
            case TaskEnded(key, run):
                self._ended(_key(key), run)
            case TaskFailed(key, error):
                self._failed(_key(key), error)
            case Stopping():
                self.on_stopping()
            case _:
                self.tell(None)

    def _ended(self, key: Key, run: Run) -> None:
        self.training.pop(key, None)
        result = read_trial_run(run, self.sweep)
        if result is None:
            raise RunDamagedError("the run no longer says what it was a trial of.", where=str(run.path))
        self.runs[key] = result
        if result.machine_fault is not None:
            hint = f"Then go on with: gymsolve sweep resume {self.sweep.id}"
            raise GymsolveError(result.machine_fault, where=run.id, hint=hint)
        if result.reason == "stop file":
            self.stop.request("stop file")  # somebody stops one of them, which is for all
        if key[0] == "trial":
            self.journal.report(self._standing(key[1], list(self.runs.values())))
        self.tell(TrialChanged(key, result.status))

    def _failed(self, key: Key, error: GymsolveError) -> None:
        self.training.pop(key, None)
        own = isinstance(error, UsageError | EnvFaultError)
        if key[1] == RECIPE or key[0] == "test" or not own:
            raise error  # it says nothing about a configuration
        self.failed[key[1]] = str(error)
        self.sweep.log_event("failed", trial=key[1], text=str(error))
        self.tell(TrialChanged(key, f"could not begin: {error}"))

    # --------------------------------------------------------------------------------------- work

    def work(self, at_once: int | None = None) -> Reason | Literal["failed"] | None:
        """Train until the search and the test are over, or somebody asks to stop; returns why it ended."""
        self.sweep.clear_stop()
        self._adopt()
        return work_on(
            self.next_task,
            self.place,
            at_once=at_once or self.sweep.at_once,
            on_event=self.hear,
            group=self.sweep.id,
            stop=self.stop,
        )

    def _adopt(self) -> None:
        """Watch jobs that a process which is gone has started."""
        for request, job in jobs_under_way(self.place, self.sweep.id).items():
            key = self._key_of(request, job)
            if key is not None:
                self.training[key] = None
                self._adopted.append((key, job))

    def _key_of(self, request: RunRequest, job: Job) -> Key | None:
        words = (request.trial or "").split()
        seed = request.seed
        if seed is None:  # a resume: its run knows the seed
            state = job.poll()
            run = state.run if isinstance(state, Begun) else Run(Path(request.env_or_ref))
            seed = run.summary().seed
        return None if len(words) != 4 or seed is None else (words[2], int(words[3]), seed)


def _text(key: Key) -> str:
    return " ".join(map(str, key))


def _key(text: str) -> Key:
    purpose, number, seed = text.split()
    return purpose, int(number), int(seed)
