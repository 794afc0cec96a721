"""When evaluations happen: in the loop, or beside it in a process of their own.

Both judges give the same `Judgement`s. The one beside the loop works on a checkpoint on disk, which
cannot change under it, and its results carry the step those weights come from.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from gymsolve.config import TrainConfig
from gymsolve.envs.build import needs_own_process
from gymsolve.errors import DivergenceError, EnvFaultError, GymsolveError
from gymsolve.runs.checkpoints import POLICY, find_place, meta_in
from gymsolve.runs.loading import load_policy_file
from gymsolve.runs.run import Run
from gymsolve.schedules import Progress
from gymsolve.training.checkpoint import save
from gymsolve.training.engines.choose import load_policy
from gymsolve.training.engines.contract import Policy
from gymsolve.training.health.nonfinite import date_fault, raise_as
from gymsolve.training.judging.evaluate import Evaluator, Verdict
from gymsolve.training.observer import Observer
from gymsolve.training.trainer import Trainer

__all__ = ["Judge", "Judgement", "LiveJudge", "ProcessJudge", "make_judge"]

_GLANCE = 0.2
"""Seconds between two looks whether somebody asks to stop."""


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the moment of training it is about."""

    verdict: Verdict
    where: dict[str, Any]
    """env_steps, vec_steps, updates and progress of the weights."""
    seconds: float
    """Seconds of training time that the evaluation took."""
    checkpoint: str | None
    """Name of the checkpoint with these weights, or None while the live trainer still has them."""


class Judge(Protocol):
    """Evaluates the policy now and then."""

    def submit(self, trainer: Trainer, run: Run, observer: Observer) -> list[Judgement]:
        """Evaluate the policy as it is; returns judgements that are ready."""

    def make_up(self, trainer: Trainer, run: Run, observer: Observer) -> list[Judgement]:
        """Evaluate the checkpoint that `counters.judging` names, since an earlier sitting could not."""

    def finished(self) -> list[Judgement]:
        """Judgements that have become ready."""

    def drain(self) -> list[Judgement]:
        """Wait for what is under way, unless somebody asks to stop: then a resume makes up for it."""

    def close(self) -> None:
        """End at once; what is still under way is lost."""


class _CancelledError(Exception):
    """Somebody asked to stop during an evaluation, or is no longer there to hear of it."""


class LiveJudge:
    """Evaluates in the loop, while training waits."""

    def __init__(self, evaluator: Evaluator, cancelled: Callable[[], bool]) -> None:
        self.evaluator, self.cancelled = evaluator, cancelled

    def submit(self, trainer: Trainer, run: Run, observer: Observer) -> list[Judgement]:
        _begin(trainer)
        return self._judge(trainer, observer, trainer.policy, trainer.position(), None)

    def make_up(self, trainer: Trainer, run: Run, observer: Observer) -> list[Judgement]:
        place, where = _saved(trainer, run)
        policy = load_policy(*load_policy_file(place / POLICY), threads=trainer.config.threads)
        return self._judge(trainer, observer, policy, where, place.name)

    def _judge(
        self,
        trainer: Trainer,
        observer: Observer,
        policy: Policy,
        where: dict[str, Any],
        checkpoint: str | None,
    ) -> list[Judgement]:
        def watch(done: int, total: int) -> None:
            if self.cancelled():
                raise _CancelledError
            observer.eval_step(done, total)

        try:
            verdict = self.evaluator.judge(policy, trainer.counters.judging_round, watch)
        except _CancelledError:  # a user who stops does not wait; `counters.judging` remembers it
            return []
        except (DivergenceError, EnvFaultError) as error:
            raise_as(date_fault(error, trainer.config.env.id, where["env_steps"]), error)
        return [Judgement(verdict, where, verdict.seconds, checkpoint)]

    def finished(self) -> list[Judgement]:
        return []

    def drain(self) -> list[Judgement]:
        return []

    def close(self) -> None:
        self.evaluator.close()


class ProcessJudge:
    """Evaluates in another process; one evaluation at a time, later ones are skipped until it is done."""

    def __init__(self, config: TrainConfig, threshold: float | None, cancelled: Callable[[], bool]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve,
            args=(theirs, config.model_dump_json(), threshold, os.getpid()),
            # A daemon may have no processes of its own, and takes no core from training with them. Where each
            # environment needs one, `close` ends it, or the end of the training process.
            daemon=not needs_own_process(config.env),
        )
        self._process.start()
        theirs.close()
        self._env_id, self._cancelled = config.env.id, cancelled
        self._pending: tuple[dict[str, Any], str] | None = None

    def submit(self, trainer: Trainer, run: Run, observer: Observer) -> list[Judgement]:
        if self._pending is not None:
            run.append_event("eval_skipped", env_steps=trainer.counters.env_steps)
            return []
        _begin(trainer)  # the checkpoint itself says that it is being judged
        self._send(trainer, save(trainer, run, "eval"), trainer.position())
        return []

    def make_up(self, trainer: Trainer, run: Run, observer: Observer) -> list[Judgement]:
        self._send(trainer, *_saved(trainer, run))
        return []

    def _send(self, trainer: Trainer, place: Path, where: dict[str, Any]) -> None:
        try:
            self._connection.send((str(place), trainer.counters.judging_round))
        except ConnectionError as error:
            raise _died() from error
        self._pending = (where, place.name)

    def finished(self) -> list[Judgement]:
        return self._receive() if self._pending is not None and self._connection.poll() else []

    def drain(self) -> list[Judgement]:
        while self._pending is not None and not self._cancelled():
            if self._connection.poll(_GLANCE):
                return self._receive()
        return []

    def close(self) -> None:
        self._process.terminate()
        self._process.join()
        self._connection.close()

    def _receive(self) -> list[Judgement]:
        assert self._pending is not None
        where, name = self._pending
        self._pending = None
        try:
            answer = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise _died() from error
        if isinstance(answer, GymsolveError):
            raise date_fault(answer, self._env_id, where["env_steps"])
        return [Judgement(answer, where, 0.0, name)]


def _begin(trainer: Trainer) -> None:
    """Remember that the weights of this moment are being judged."""
    counters = trainer.counters
    counters.judging, counters.judging_round = counters.env_steps, counters.eval_round


def _saved(trainer: Trainer, run: Run) -> tuple[Path, dict[str, Any]]:
    """The checkpoint that is to be judged, and the moment of training that it holds."""
    place = find_place(run, str(trainer.counters.judging))
    meta = meta_in(place)
    progress = Progress(meta["env_steps"], trainer.config.steps).fraction
    return place, {key: meta[key] for key in ("env_steps", "vec_steps", "updates")} | {"progress": progress}


def _died() -> GymsolveError:
    return GymsolveError("the evaluation process died.", where="eval.asynchronous")


def make_judge(trainer: Trainer, cancelled: Callable[[], bool]) -> Judge:
    """The judge the settings ask for."""
    if trainer.config.eval.asynchronous:
        return ProcessJudge(trainer.config, trainer.threshold, cancelled)
    return LiveJudge(Evaluator(trainer.config, trainer.threshold), cancelled)


def _serve(connection: Connection, config_json: str, threshold: float | None, parent: int) -> None:
    """The evaluation process: checkpoint folders in, verdicts out, as long as there is a training process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the training process's business

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
                policy = load_policy(*files, threads=config.threads)
                answer: Verdict | GymsolveError = evaluator.judge(policy, round_number, watch)
            except GymsolveError as error:
                answer = error
            connection.send(answer)
    except (EOFError, ConnectionError, _CancelledError):
        pass  # it was killed: nobody is left to tell
    finally:
        evaluator.close()
