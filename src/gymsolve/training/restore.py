"""Continues a checkpoint: puts its state into a newly built trainer."""

from collections.abc import Iterator
from contextlib import contextmanager

from gymsolve.errors import CheckpointError
from gymsolve.runs.loading import Checkpoint
from gymsolve.training.migrate import upgrade
from gymsolve.training.trainer import Trainer


def restore_trainer(trainer: Trainer, saved: Checkpoint, *, fresh_optimizer: bool) -> list[str]:
    """Put a checkpoint's state into a newly built trainer; returns sentences on what was not restored."""
    misfits = trainer.policy.load_arrays(saved.policy)
    if misfits:
        raise CheckpointError(
            f"the checkpoint does not fit the network of this run's settings: {misfits[0]}.",
            hint="A resumed run keeps its network; start a new one from these weights with `train --from`.",
        )
    notes = list(saved.notes)
    with _checking(saved, "the trainer"):
        arrays, states = upgrade(saved, _parameters(trainer))
    for owner, part in trainer.parts.items():
        if owner in trainer.learner.optimizers and fresh_optimizer:
            notes.append("the optimizer starts afresh, as asked")
            continue
        prefix = f"{owner}/"
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        with _checking(saved, owner):
            notes += part.load(own, states.get(owner, {}))
            part.load_files(saved.files_folder, saved.part_files.get(owner, ()))
    trainer.reassign_copies()  # the environments' state may not have been in the checkpoint
    if trainer.counters.env_steps != saved.meta["env_steps"]:
        raise CheckpointError("its counters are those of another step.", where=str(saved.path))
    trainer.saved_step = trainer.counters.env_steps
    return notes


def _parameters(trainer: Trainer) -> tuple[str, ...]:
    """Names of what the only optimizer steps; format 1 numbers them."""
    optimizer = trainer.learner.optimizers.get("optimizer")
    return () if optimizer is None else optimizer.names


@contextmanager
def _checking(saved: Checkpoint, owner: str) -> Iterator[None]:
    """Say where state is to be found that its owner cannot make sense of.

    Checksums tell what was damaged on the way; they do not tell what somebody has written and sealed.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CheckpointError(
            f"the state of {owner} in it makes no sense ({type(error).__name__}: {str(error)[:80]}).",
            where=str(saved.path),
            hint="Go on from another checkpoint: RUN@STEPS.",
        ) from error
