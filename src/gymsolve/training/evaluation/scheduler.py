"""When evaluations happen: in the loop, or beside it in a process of their own.

Both schedulers give the same `EvalOutcome`s. The one beside the loop works on a checkpoint on disk, which
cannot change under it, and its results carry the step those weights come from. Should its process die,
another one repeats the evaluation.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from gymsolve.envs.build import needs_own_process
from gymsolve.envs.processes import OwnProcess
from gymsolve.errors import DivergenceError, EnvFaultError, GymsolveError
from gymsolve.experience.learner import Policy
from gymsolve.runs.checkpoints import POLICY, find_place, meta_in
from gymsolve.runs.loading import load_policy_file
from gymsolve.runs.run import Run
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.schedules import Progress
from gymsolve.training.checkpoint import require_same_policy, save
from gymsolve.training.engines.choose import load_policy
from gymsolve.training.evaluation.evaluate import Evaluator, Verdict
from gymsolve.training.health.nonfinite import date_fault, raise_as
from gymsolve.training.observer import Observer, tell_late
from gymsolve.training.trainer import Trainer
from gymsolve.training.watchdog import Watchdog

_TRIES = 3
"""How often an evaluation is begun whose process dies."""
_PATIENCE = 5.0
"""Seconds that an idle process gets to close its environments."""
_GLANCE = 0.2
"""Seconds between two looks whether somebody asks to stop."""


@dataclass(frozen=True)
class EvalOutcome:
    """A verdict, and the moment of training it is about."""

    verdict: Verdict
    where: dict[str, Any]
    """env_steps, vec_steps, updates and progress of the weights."""
    seconds: float
    """Seconds of training time that the evaluation took."""
    checkpoint: str | None
    """Name of the checkpoint with these weights, or None while the live trainer still has them."""


class EvalScheduler(Protocol):
    """Evaluates the policy now and then."""

    def make_way(self, trainer: Trainer, observer: Observer) -> list[EvalOutcome]:
        """Before another evaluation: wait for the one under way, if that must not keep it from happening."""

    def announce(self, trainer: Trainer) -> None:
        """Let checkpoints of this moment say that their weights are to be evaluated, if they will be."""

    def submit(self, trainer: Trainer, run: Run, observer: Observer) -> list[EvalOutcome]:
        """Evaluate the policy as it is; returns outcomes that are ready."""

    def make_up(self, trainer: Trainer, run: Run, observer: Observer) -> list[EvalOutcome]:
        """Evaluate the checkpoint that `counters.judging` names, since an earlier sitting could not."""

    def finished(self) -> list[EvalOutcome]:
        """Judgements that have become ready."""

    def drain(self, observer: Observer) -> list[EvalOutcome]:
        """Wait for what is under way, unless somebody asks to stop: then a resume makes up for it."""

    def close(self) -> None:
        """End at once; what is still under way is lost."""


class _CancelledError(Exception):
    """Somebody asked to stop during an evaluation, or is no longer there to hear of it."""


class InlineScheduler:
    """Evaluates in the loop, while training waits."""

    def __init__(self, evaluator: Evaluator, cancelled: Callable[[], bool]) -> None:
        self.evaluator, self.cancelled = evaluator, cancelled

    def make_way(self, trainer: Trainer, observer: Observer) -> list[EvalOutcome]:
        return []

    def announce(self, trainer: Trainer) -> None:
        _announce(trainer)

    def submit(self, trainer: Trainer, run: Run, observer: Observer) -> list[EvalOutcome]:
        _announce(trainer)
        return self._evaluate(trainer, observer, trainer.policy, trainer.position(), None)

    def make_up(self, trainer: Trainer, run: Run, observer: Observer) -> list[EvalOutcome]:
        place, where = _saved(trainer, run)
        policy = load_policy(*load_policy_file(place / POLICY), trainer.config)
        return self._evaluate(trainer, observer, policy, where, place.name)

    def _evaluate(
        self,
        trainer: Trainer,
        observer: Observer,
        policy: Policy,
        where: dict[str, Any],
        checkpoint: str | None,
    ) -> list[EvalOutcome]:
        def watch(done: int, total: int) -> None:
            if self.cancelled():
                raise _CancelledError
            observer.eval_step(done, total)

        try:
            verdict = self.evaluator.evaluate(policy, trainer.counters.judging_round, watch)
        except _CancelledError:  # a user who stops does not wait; `counters.judging` remembers it
            return []
        except (DivergenceError, EnvFaultError) as error:
            raise_as(date_fault(error, trainer.config.env.id, where["env_steps"]), error)
        return [EvalOutcome(verdict, where, verdict.seconds, checkpoint)]

    def finished(self) -> list[EvalOutcome]:
        return []

    def drain(self, observer: Observer) -> list[EvalOutcome]:
        return []

    def close(self) -> None:
        self.evaluator.close()


class ProcessScheduler:
    """Evaluates in another process; one evaluation at a time, later ones are skipped until it is done.

    Three evaluations are waited for instead: the first of a process, also of one in place of another that
    died, which has to start and to build its environments; one that a resume makes up for; and the one under
    way when the budget is spent. So a run that was killed skips no evaluation for having to repeat one.
    """

    def __init__(self, config: TrainConfig, threshold: float | None, cancelled: Callable[[], bool]) -> None:
        self._config, self._threshold, self._cancelled = config, threshold, cancelled
        self._process = self._start()
        self._pending: tuple[dict[str, Any], Path, int] | None = None
        self._deaths: tuple[str, ...] = ()
        """Of processes that were at the evaluation under way."""
        self._is_first = True
        """The evaluation under way is the first one of its process; it may be one that is made up for."""

    def _start(self) -> OwnProcess:
        config = self._config
        return OwnProcess(
            _serve,
            config.model_dump_json(),
            self._threshold,
            os.getpid(),
            fork=False,
            # A daemon may have no processes of its own, and takes no core from training with them. Where each
            # environment needs one, `close` ends it, or the end of the training process.
            daemon=not needs_own_process(config.env),
        )

    def make_way(self, trainer: Trainer, observer: Observer) -> list[EvalOutcome]:
        waits = self._pending is not None and (self._is_first or trainer.budget_is_spent)
        return self.drain(observer) if waits else []

    def announce(self, trainer: Trainer) -> None:
        if self._pending is None:  # else this evaluation will be skipped, and the other is not over
            _announce(trainer)

    def submit(self, trainer: Trainer, run: Run, observer: Observer) -> list[EvalOutcome]:
        if self._pending is not None:
            run.append_event("eval_skipped", env_steps=trainer.counters.env_steps)
            return []
        _announce(trainer)  # the checkpoint itself says that it is being evaluated
        place = save(trainer, run, "eval")
        require_same_policy(trainer, place)
        return self._begin(trainer, place, trainer.position())

    def make_up(self, trainer: Trainer, run: Run, observer: Observer) -> list[EvalOutcome]:
        return self._begin(trainer, *_saved(trainer, run))

    def _begin(self, trainer: Trainer, place: Path, where: dict[str, Any]) -> list[EvalOutcome]:
        self._pending, self._deaths = (where, place, trainer.counters.judging_round), ()
        return self._ask()

    def finished(self) -> list[EvalOutcome]:
        return self._receive() if self._pending is not None and self._process.connection.poll() else []

    def drain(self, observer: Observer) -> list[EvalOutcome]:
        outcomes: list[EvalOutcome] = []
        look = tell_late(observer, "waiting for the evaluation under way in another process")
        while self._pending is not None and not self._cancelled():
            look()
            if self._process.connection.poll(_GLANCE):
                outcomes += self._receive()
        return outcomes

    def close(self) -> None:
        self._process.end(patience=_PATIENCE if self._pending is None else 0.0)

    def _ask(self) -> list[EvalOutcome]:
        """Have the checkpoint evaluated; a verdict that there is none, once that has failed too often."""
        assert self._pending is not None
        where, path, round_number = self._pending
        while len(self._deaths) < _TRIES:
            try:
                self._process.connection.send((str(path), round_number))
            except OSError:
                self._replace()
            else:
                return []
        self._pending = None
        nothing = Verdict(
            {}, math.nan, solved=False, complete=False, seconds=0.0, faults=self._deaths, void=True
        )
        return [EvalOutcome(nothing, where, 0.0, path.name)]

    def _replace(self) -> None:
        how = self._process.describe_end()
        self._deaths += (f"The evaluation process {how} and was started again.",)
        self._process.end(patience=0.0)
        self._process, self._is_first = self._start(), True

    def _receive(self) -> list[EvalOutcome]:
        assert self._pending is not None
        where, path, _ = self._pending
        try:
            answer = self._process.connection.recv()
        except (EOFError, OSError):
            self._replace()
            return self._ask()
        self._pending, self._is_first = None, False
        if isinstance(answer, GymsolveError):
            raise date_fault(answer, self._config.env.id, where["env_steps"])
        verdict = replace(answer, faults=self._deaths + answer.faults)
        return [EvalOutcome(verdict, where, 0.0, path.name)]


def _announce(trainer: Trainer) -> None:
    """Remember that the weights of this moment are being evaluated."""
    counters = trainer.counters
    counters.judging, counters.judging_round = counters.env_steps, counters.eval_round


def _saved(trainer: Trainer, run: Run) -> tuple[Path, dict[str, Any]]:
    """The checkpoint that is to be evaluated, and the moment of training that it holds.

    Where the live policy is still that one, both must act alike.
    """
    place = find_place(run, str(trainer.counters.judging))
    meta = meta_in(place)
    if meta["env_steps"] == trainer.counters.env_steps:
        require_same_policy(trainer, place)
    progress = Progress(meta[trainer.config.budget_in], trainer.config.steps).fraction
    return place, {key: meta[key] for key in ("env_steps", "vec_steps", "updates")} | {"progress": progress}


def make_scheduler(trainer: Trainer, cancelled: Callable[[], bool]) -> EvalScheduler:
    """The scheduler that the settings ask for."""
    if trainer.config.eval.asynchronous:
        return ProcessScheduler(trainer.config, trainer.threshold, cancelled)
    return InlineScheduler(Evaluator(trainer.config, trainer.threshold), cancelled)


def _serve(connection: Connection, config_json: str, threshold: float | None, parent: int) -> None:
    """The evaluation process: checkpoint folders in, verdicts out, as long as there is a training process."""

    def watch(done: int, total: int) -> None:
        if os.getppid() != parent:
            raise _CancelledError

    config = TrainConfig.model_validate_json(config_json)
    evaluator = Evaluator(config, threshold)
    try:
        while True:
            path, round_number = connection.recv()
            try:
                files = load_policy_file(Path(path) / POLICY)
                policy = load_policy(*files, config)
                with Watchdog(config.env):
                    answer: Verdict | GymsolveError = evaluator.evaluate(policy, round_number, watch)
            except GymsolveError as error:
                answer = error
            connection.send(answer)
    except (EOFError, ConnectionError, _CancelledError):
        pass  # it was killed: nobody is left to tell
    finally:
        evaluator.close()
