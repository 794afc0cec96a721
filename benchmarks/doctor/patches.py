"""Mistakes in the code of a trainer, made in the process of one training and gone with it."""

from collections.abc import Callable
from typing import Any

from gymsolve.experience.collect import Collector
from gymsolve.fast.policy import FastPolicy
from gymsolve.training.engines.numpy_engine import NumpyEngine
from gymsolve.training.evaluation.evaluate import Evaluator

__all__ = ["PATCHES"]


def _copy(policy: Any) -> FastPolicy:
    return FastPolicy.from_arrays(policy.arrays(), policy.metadata())


def keep_old_log_probs() -> None:
    """Log-probabilities come from the policy before the last update."""
    collect = Collector.collect
    before: list[FastPolicy] = []

    def stale(self: Collector, *rest: Any) -> Any:
        rollout = collect(self, *rest)
        if before:
            rows = rollout.valid.size
            obs = {key: array.reshape(rows, *array.shape[2:]) for key, array in rollout.obs.items()}
            actions = rollout.actions.reshape(rows, -1)
            work = before[0].learning.evaluate(before[0].samples(obs, actions, None))
            rollout.log_probs[...] = work.log_probs.reshape(rollout.log_probs.shape)
        before[:] = [_copy(self.agent.policy)]
        return rollout

    Collector.collect = stale  # type: ignore[method-assign]


def lose_statistics() -> None:
    """Evaluation begins with a normaliser that has seen nothing."""
    play = Evaluator.play

    def forgetful(self: Evaluator, policy: Any, *rest: Any, **more: Any) -> Any:
        arrays = policy.arrays()
        for name, array in arrays.items():
            if name.endswith((".mean", ".count")):
                array[...] = 0.0
            if name.endswith(".var"):
                array[...] = 1.0
        return play(self, FastPolicy.from_arrays(arrays, policy.metadata()), *rest, **more)

    Evaluator.play = forgetful  # type: ignore[method-assign]


def _after_build(change: Callable[[dict[str, Any]], None]) -> None:
    build = NumpyEngine.build

    def spoilt(self: NumpyEngine, *rest: Any) -> Any:
        policy, algorithm = build(self, *rest)
        arrays = policy.arrays()
        change(arrays)
        policy.load_arrays(arrays)
        return policy, algorithm

    NumpyEngine.build = spoilt  # type: ignore[method-assign]


def kill_units() -> None:
    """Every unit of the first layer starts far on the dead side."""

    def change(arrays: dict[str, Any]) -> None:
        for tower in ("actor", "critic"):
            arrays[f"{tower}.0.bias"][...] = -1000.0

    _after_build(change)


def prefer_one_action() -> None:
    """The first action (or the upper bound) is all the policy ever takes."""
    _after_build(lambda arrays: arrays["_head.linear.bias"].__setitem__(0, 30.0))


def cut_memory() -> None:
    """Recurrent cells begin every step as if it were the first."""
    from gymsolve.nn.memory import Cell

    step, unroll = Cell.step, Cell.unroll

    def fresh(self: Cell, x: Any, state: Any) -> Any:
        return step(self, x, state * 0.0)

    def one_by_one(self: Cell, x: Any, state: Any) -> Any:
        rows = x.shape[0] * x.shape[1]
        alone = unroll(self, x.reshape(1, rows, -1), state.new_zeros(rows, state.shape[1]))
        return alone.view(*x.shape[:2], -1)

    Cell.step, Cell.unroll = fresh, one_by_one  # type: ignore[method-assign]


def drop_first_task() -> None:
    """From 40 % of the budget on, all copies play the second of two tasks."""
    from gymsolve.training import loop

    collect = loop.collect

    def lopsided(trainer: Any, observer: Any) -> Any:
        first, second = trainer.envs.spec.tasks
        if trainer.progress.fraction >= 0.4 and trainer.envs.rows[first]:
            trainer.collector.reassign({first: 0, second: trainer.envs.num_envs})
        return collect(trainer, observer)

    loop.collect = lopsided


PATCHES: dict[str, Callable[[], None]] = {
    "cut_memory": cut_memory,
    "drop_first_task": drop_first_task,
    "keep_old_log_probs": keep_old_log_probs,
    "lose_statistics": lose_statistics,
    "kill_units": kill_units,
    "prefer_one_action": prefer_one_action,
}
