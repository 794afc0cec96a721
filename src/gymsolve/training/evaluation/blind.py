"""The return of a policy that sees nothing, at the end of a run that solved nothing.

A return says little by itself: doing nothing may earn as much. So the end of a run plays episodes of the
evaluation with the action that does nothing, or with random ones where none is known to. The result is
recorded, and `doctor/rules/blind.py` compares. It takes a small share of the steps that were trained, and
nothing is played where that share holds too few episodes. Not done for several tasks.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gymsolve.envs.describe import describe
from gymsolve.envs.labels import ActionLabels, find_keys
from gymsolve.envs.random_policy import random_actions
from gymsolve.errors import GymsolveError
from gymsolve.experience.agent import Acted, Chosen, Memoryless
from gymsolve.runs.run import Run
from gymsolve.seeding import generator
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import ActionSpec, Array, EnvSpec, Obs
from gymsolve.training.evaluation.player import ROUTINE, OnStep, Player
from gymsolve.training.observer import Observer
from gymsolve.training.publish import log_event, publish
from gymsolve.training.trainer import Trainer

_SHARE = 0.2
"""Share of the steps trained that these episodes may take, as long as they last no longer than training's."""
_FEWEST, _USUAL = 5, 20
"""Fewer episodes say nothing, and more than `eval.episodes` are played where these are fewer than usual."""


class BlindPolicy(Memoryless):
    """Takes one action all the time, or random ones."""

    def __init__(self, spec: EnvSpec, held: Array | None, rng: np.random.Generator) -> None:
        self.spec, self._held, self._rng = spec, held, rng

    def choose(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Chosen:
        count = len(next(iter(obs.values())))
        if self._held is None:
            return Chosen(random_actions(self.spec.action, count, masks, self._rng))
        return Chosen(np.repeat(self._held, count, axis=0))

    def act(
        self, obs: Obs, masks: Array | None, rng: np.random.Generator, memory: Array | None = None
    ) -> Acted:
        actions = self.choose(obs, masks).actions
        nothing = np.zeros(len(actions), np.float32)
        return Acted(actions, nothing, nothing)

    def values(self, obs: Obs, memory: Array | None = None) -> Array:
        return np.zeros(len(next(iter(obs.values()))), np.float32)

    def seen(self, obs: Obs) -> dict[str, Array]:
        return {}


class _StoppedError(Exception):
    """Somebody asked to stop meanwhile."""


def idle_action(env_id: str, action: ActionSpec, labels: ActionLabels, *, masked: bool) -> Array | None:
    """The policy's action [1, size] that does nothing; None where there is none, or none that is known."""
    if masked:  # it may be forbidden
        return None
    if action.kind == "box":
        ends = zip(action.low, action.high, strict=True) if action.bounded else ()
        zero = np.zeros((1, *action.shape), action.dtype)
        return action.from_env(zero) if all(low <= 0.0 <= high for low, high in ends) else None
    if action.kind == "discrete":
        choice = find_keys(env_id, labels).get(())
        return None if choice is None else np.array([[choice]])
    if action.kind == "multi_discrete" and labels.parts and all("" in names for names in labels.parts):
        return np.array([[names.index("") for names in labels.parts]])
    if action.kind == "multi_binary" and labels.names:
        return np.zeros((1, action.size), np.int64)
    return None


def measure_blind(
    config: TrainConfig, most_steps: int, usual_length: float, on_step: OnStep | None = None
) -> dict[str, float]:
    """Metrics of a policy that sees nothing; empty where `most_steps` hold too few episodes."""
    count = min(max(_USUAL, config.eval.episodes), int(most_steps / max(1.0, usual_length)))
    if count < _FEWEST:
        return {}
    described = describe(config.env, "eval")
    spec = described.spec
    held = idle_action(config.env.id, spec.action, described.labels, masked=spec.masked)
    # Its episodes may be longer than the policy's, but not without end.
    capped = config.eval.model_copy(update={"max_steps": min(config.eval.max_steps, 2 * most_steps)})
    player = Player(config.model_copy(update={"eval": capped}))
    policy = BlindPolicy(spec, held, generator(config.seed, "eval", 0, 2))
    try:
        result = player.play_draw(policy, count, ROUTINE, on_step=on_step)
    finally:
        player.close()
    if not result.complete or result.lost:
        return {}
    name = "random" if held is None else "idle"
    return {
        f"blind/{name}_reward": result.mean,
        f"blind/{name}_std": result.std,
        f"blind/{name}_episodes": float(len(result.episodes)),
    }


def is_blind(record: Mapping[str, Any]) -> bool:
    """True for the record of such a policy."""
    return any(name.startswith("blind/") for name in record)


def record_blind(trainer: Trainer, run: Run, observer: Observer, cancelled: Callable[[], bool]) -> None:
    """Record what a policy that sees nothing earns, beside the newest evaluation; a stop ends it early."""
    counters, config = trainer.counters, trainer.config
    if counters.solved or not counters.eval_steps or config.env.tasks or config.curriculum.stages:
        return
    length = trainer.window.mean_length or trainer.envs.spec.max_episode_steps
    if length is None:
        return

    def watch(done: int, total: int) -> None:
        if cancelled():
            raise _StoppedError
        observer.eval_step(done, total)

    try:
        with trainer.clock.timing("eval"):
            metrics = measure_blind(config, int(_SHARE * counters.env_steps), length, watch)
    except _StoppedError:
        return
    except GymsolveError as error:  # the training has ended well: this is no reason to call it a crash
        text = f"what a policy earns that sees nothing was not measured: {error}"
        log_event(run, observer, "note", counters.env_steps, text)
        return
    if metrics:
        publish(trainer, run, observer, trainer.position() | metrics)
