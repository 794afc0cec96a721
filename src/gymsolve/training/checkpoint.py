"""Saving a trainer into its run, and proving that a best checkpoint stands on its own."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gymsolve.config import ReinforceConfig
from gymsolve.errors import CheckpointError
from gymsolve.nn.policy import Policy
from gymsolve.rollout.table import rollout_csv
from gymsolve.runs.checkpoints import list_checkpoints, mark_best, prune, save_checkpoint, update_meta
from gymsolve.runs.loading import load_policy_file
from gymsolve.runs.run import Run
from gymsolve.schedules import Progress
from gymsolve.spec import Obs
from gymsolve.training.trainer import Trainer

if TYPE_CHECKING:
    from gymsolve.training.judging import Judgement

__all__ = ["keep_best", "load_saved_policy", "save", "saved_at"]


def save(
    trainer: Trainer,
    run: Run,
    reason: str,
    *,
    with_envs: bool = True,
    spare: Iterable[str] = (),
) -> Path:
    """Write the whole state, with the metrics of the evaluation these very weights got, if any."""
    counters = trainer.counters
    judged = counters.last_eval == counters.env_steps
    path = save_checkpoint(
        run,
        counters.env_steps,
        policy=trainer.policy.arrays(),
        policy_metadata=trainer.policy.metadata(),
        trainer_arrays=trainer.arrays(),
        trainer_state=trainer.state(with_envs=with_envs),
        meta={
            "vec_steps": counters.vec_steps,
            "updates": counters.updates,
            "reason": reason,
            "eval": trainer.evaluation if judged else None,
        },
        extras={"rollout.csv": _last_rollout(trainer).encode()} if trainer.collector.filled else None,
    )
    prune(run, trainer.config.checkpoint.keep, spare=spare)
    return path


def _last_rollout(trainer: Trainer) -> str:
    """The rollout the weights last learned from, as a table; a few thousand rows of it."""
    algo, rollout = trainer.config.algo, trainer.collector.rollout
    then = Progress(trainer.counters.env_steps - rollout.env_steps, trainer.config.steps)
    return rollout_csv(
        rollout,
        gamma=algo.gamma.at(then),
        gae_lambda=1.0 if isinstance(algo, ReinforceConfig) else algo.gae_lambda.at(then),
        most_rows=2000,
    )


def saved_at(run: Run, env_steps: int) -> bool:
    """Is there already a checkpoint of this step?"""
    return str(env_steps) in list_checkpoints(run)


def keep_best(trainer: Trainer, run: Run, judgement: "Judgement") -> None:
    """Save the judged weights with their evaluation and call them best, if they act alike when loaded."""
    metrics = judgement.verdict.metrics
    if judgement.checkpoint is None:
        path = save(trainer, run, "best")
        _require_same_actions(trainer.policy, load_saved_policy(path), trainer.collector.rollout.obs)
    else:
        path = run.path / "checkpoints" / judgement.checkpoint
        update_meta(run, path.name, reason="best", eval=metrics)
        load_saved_policy(path)
    mark_best(run, path.name)
    run.append_event("best", env_steps=judgement.where["env_steps"], checkpoint=path.name, **metrics)


def load_saved_policy(path: Path) -> Policy:
    """The policy of a checkpoint folder, rebuilt from its files alone."""
    arrays, metadata = load_policy_file(path / "policy.safetensors")
    return Policy.from_arrays(arrays, metadata)


def _require_same_actions(live: Policy, saved: Policy, seen: Obs) -> None:
    """A saved policy must act like the live one on observations of the last rollout."""
    batch = {key: array[-1] for key, array in seen.items()}
    if not np.array_equal(live.greedy(batch, None), saved.to(live.device).greedy(batch, None)):
        raise CheckpointError(
            "the saved policy does not act like the live one; this is a bug, please report it."
        )
