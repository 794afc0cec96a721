"""The outcome of a training, as the Python API and the command line report it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gymsolve.doctor.alerts import Alert
from gymsolve.doctor.diagnosis import explain
from gymsolve.runs.run import Run
from gymsolve.runs.summary import Status
from gymsolve.training.stop import Reason
from gymsolve.training.trainer import Trainer


@dataclass(frozen=True)
class Outcome:
    """How a training ended."""

    run: Run
    status: Status
    reason: Reason
    solved: bool
    env_steps: int
    seconds: float
    mean_reward: float | None
    """Mean return of the best evaluation, if there was one."""
    threshold: float | None
    """Mean return that counts as solved; None where none is known, or where successes decide."""
    alerts: tuple[Alert, ...] = ()
    """Every alert that fired: causes first, the most urgent in front, then what follows from them."""
    because: Mapping[str, str] = field(default_factory=dict)
    """Alerts that follow from another one, and its id."""
    success_rate: float | None = None
    """Share of successes in the best evaluation, where that decides (`solved_by`)."""
    success_threshold: float | None = None
    nothing_to_do: str | None = None
    """Why a resume found nothing to do, and so changed nothing."""

    @property
    def success(self) -> dict[str, float | None]:
        """The facts about successes; none where the return decides."""
        if self.success_threshold is None:
            return {}
        return {"success_rate": self.success_rate, "success_threshold": self.success_threshold}

    def to_json(self) -> dict[str, Any]:
        idle = {} if self.nothing_to_do is None else {"nothing_to_do": self.nothing_to_do}
        return {
            "run": self.run.id,
            "path": str(self.run.path),
            "status": self.status,
            "reason": self.reason,
            "solved": self.solved,
            "env_steps": self.env_steps,
            "seconds": round(self.seconds, 3),
            "mean_reward": self.mean_reward,
            "threshold": self.threshold,
            **self.success,
            "alerts": [
                {"id": alert.id, "severity": alert.severity, "active": alert.active}
                | {"count": alert.count, "because": self.because.get(alert.id)}
                for alert in self.alerts
            ],
            **idle,
        }


def make_outcome(
    trainer: Trainer, run: Run, status: Status, reason: Reason, *, nothing_to_do: str | None = None
) -> Outcome:
    """The outcome of a run as it stands; `nothing_to_do` says why a resume did not train."""
    counters, diagnosis = trainer.counters, explain(trainer.alerts)
    return Outcome(
        run=run,
        status=status,
        reason=reason,
        solved=counters.solved,
        env_steps=counters.env_steps,
        seconds=counters.seconds,
        mean_reward=counters.best_return,
        threshold=trainer.return_threshold,
        success_rate=counters.best_rate,
        success_threshold=trainer.success_threshold,
        alerts=diagnosis.alerts,
        because=diagnosis.because,
        nothing_to_do=nothing_to_do,
    )
