"""The bonus as an extension of training: novelty, scaled and valued, as a stream of rewards of its own.

It pays after a rollout is collected and learns after the policy has learned, so that novelty does not change
within a rollout. Only the scale changes with the payment: the spread of the discounted sum so far, this
rollout included, without centring. Raw returns, evaluation and *solved* do not contain it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gymsolve.experience.credit import stream_advantages
from gymsolve.experience.learning import explained_variance
from gymsolve.experience.rollout import Rollout, Stream
from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.critic import Critic
from gymsolve.extensions.exploration.inputs import Inputs
from gymsolve.extensions.exploration.novelty import Novelty
from gymsolve.extensions.extension import Extension
from gymsolve.extensions.scaling import RewardScaler
from gymsolve.parts import Part, arrays_below, join_arrays, rollback_all
from gymsolve.settings.config import A2CConfig, PPOConfig
from gymsolve.settings.exploration import ExploreConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array

STREAM = "explore"
"""The name of the stream of rewards."""


class Curiosity(Extension):
    """Owns the novelty, its critic, the statistics of their inputs, and the scale of the bonus."""

    def __init__(
        self,
        settings: ExploreConfig,
        algo: PPOConfig | A2CConfig,
        novelty: Novelty,
        critic: Critic,
        inputs: Inputs,
        num_envs: int,
    ) -> None:
        self.settings, self._algo = settings, algo
        self.novelty, self.critic, self._inputs = novelty, critic, inputs
        self._scaler = RewardScaler(num_envs, limit=math.inf)
        self._seen: Transitions | None = None
        self._progress: Progress | None = None
        self._mean = 0.0

    def begin(self, rows: Sequence[int]) -> None:
        self.novelty.begin(rows)

    def shape(self, rollout: Rollout, progress: Progress) -> None:
        """Pay the bonus, in a stream of its own."""
        with np.errstate(all="ignore"):
            rollout.streams = {STREAM: self.stream(rollout, self.pay(rollout, progress))}

    def pay(self, rollout: Rollout, progress: Progress) -> Array:
        """The bonus of each step [T, N], in units of the spread of its discounted sum."""
        seen = Transitions(rollout)
        self._seen, self._progress = seen, progress
        if not self._inputs.count and seen.valid.any():
            self._inputs.observe(seen.take(seen.here[seen.valid]))
        paid = np.where(seen.valid, self.novelty.pay(seen), 0.0)
        self._mean = float(paid[seen.valid].mean()) if seen.valid.any() else 0.0
        if not self.settings.scale:
            return paid.astype(np.float32)
        never = np.zeros_like(rollout.terminated)
        return self._scaler.scale(paid, never, rollout.valid, self.settings.gamma.at(progress))

    def stream(self, rollout: Rollout, paid: Array) -> Stream:
        """The bonus with its values; episodes do not end it unless the settings say so."""
        seen, progress, settings = self._seen, self._progress, self.settings
        assert seen is not None
        assert progress is not None
        values = self.critic.values(seen)
        return Stream(
            rewards=paid,
            values=values[seen.here],
            next_values=values[seen.onward if settings.across_ends else seen.there],
            gamma=settings.gamma.at(progress),
            weight=settings.coef.at(progress),
            episodic=not settings.across_ends,
        )

    def learn(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        seen, stream = self._seen, rollout.streams[STREAM]
        assert seen is not None
        advantages = stream_advantages(rollout, stream, self._algo.gae_lambda.at(progress))
        targets = (advantages + stream.values)[seen.valid]
        places, rate = seen.here[seen.valid], self._algo.learning_rate.at(progress)
        metrics = {
            "bonus/mean": self._mean,
            "bonus/paid": float(stream.rewards[seen.valid].mean()) if len(targets) else 0.0,
            "bonus/explained_variance": explained_variance(stream.values[seen.valid], targets),
            "bonus/value_loss": self.critic.learn(places, targets, rate, rng),
            "hyper/bonus_coef": stream.weight,
            **self.novelty.learn(seen, self.settings.learning_rate.at(progress), rng),
        }
        if len(targets):
            self._inputs.observe(seen.take(places))
        self._seen = None
        self._inputs.forget()
        return metrics

    # ------------------------------------------------------------------------------ state

    @property
    def _owners(self) -> dict[str, Part]:
        return {"inputs": self._inputs, "critic": self.critic, "novelty": self.novelty}

    def arrays(self) -> dict[str, Array]:
        return join_arrays({owner: part.arrays() for owner, part in self._owners.items()})

    def state(self) -> dict[str, Any]:
        owned = {owner: part.state() for owner, part in self._owners.items()}
        return {"bonus": self.settings.bonus, "scaler": self._scaler.state(), **owned}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Continue, or say that the bonus begins anew: it was another one, or there was none."""
        split = {owner: arrays_below(arrays, f"{owner}/") for owner in self._owners}
        if not state or state["bonus"] != self.settings.bonus:
            return ["the bonus for exploring starts afresh: the checkpoint has none of this kind"]
        if not self._fit(split, state):
            return ["the bonus for exploring starts afresh: the checkpoint's was made by other settings"]
        notes = self._scaler.load({}, state["scaler"])
        for owner, part in self._owners.items():
            notes += part.load(split[owner], state[owner])
        return notes

    def _fit(self, split: dict[str, dict[str, Array]], state: dict[str, Any]) -> bool:
        if not self._inputs.fits(state["inputs"]) or not self.critic.fits(split["critic"], {}):
            return False
        return self.novelty.fits(split["novelty"], state["novelty"])

    def rollback_point(self) -> Callable[[], None]:
        return rollback_all((self._scaler, *self._owners.values()))

    def reseed(self, seed: int, env_steps: int) -> None:
        for part in (self._scaler, *self._owners.values()):
            part.reseed(seed, env_steps)
