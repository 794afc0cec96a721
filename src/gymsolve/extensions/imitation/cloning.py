"""Behaviour cloning: raises the likelihood of recorded actions.

Beside an algorithm it is an auxiliary loss in each of its minibatches. Alone (`imitate.rollouts: false`) it
replaces the update, with as many gradient steps as the algorithm would take.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.losses import mean_metrics
from gymsolve.algos.policy_gradient import PolicyGradient
from gymsolve.errors import ConfigError
from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.extension import Extension, Setup, Site
from gymsolve.extensions.imitation.demonstrations import Demonstrations, load_demonstrations
from gymsolve.nn.minibatch import Evaluated, Minibatch
from gymsolve.nn.policy import Policy
from gymsolve.seeding import generator, restore_generator, save_generator
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.imitation import ImitateConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array, EnvSpec

NAME = "imitate"


class Cloning(Extension, Auxiliary):
    """Draws recorded steps and takes −log π of their actions as loss."""

    name = NAME

    def __init__(self, settings: ImitateConfig, steps: Demonstrations, config: TrainConfig) -> None:
        self._settings, self._steps, self._algo = settings, steps, config.algo
        self._rng = generator(config.seed, "bonus", 4)
        self._coef = 0.0
        self._learner: PolicyGradient | None = None

    def attach(self, learner: PolicyGradient) -> None:
        """Use this learner's policy and optimizer; without rollouts it normalises by the recorded steps."""
        self._learner = learner
        if not self._settings.rollouts:
            learner.policy.observe(self._steps.obs)

    @property
    def replaces_update(self) -> bool:
        return not self._settings.rollouts

    def shape(self, rollout: Rollout, progress: Progress) -> None:
        self._coef = self._settings.coef.at(progress)

    def parameters(self) -> Iterable[tuple[str, nn.Parameter]]:
        return ()

    def loss(
        self, policy: Policy, minibatch: Minibatch, evaluated: Evaluated
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The weighted cloning loss of some recorded steps."""
        loss, measures = self._clone(policy)
        return self._coef * loss, measures

    def learn(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Gradient steps on recorded steps alone, where rollouts are not used."""
        if self._settings.rollouts:
            return {}
        learner, algo = self._learner, self._algo
        assert learner is not None
        steps = []
        learner.policy.gradient_mode(True)
        for _ in range(algo.passes(progress) * algo.minibatches):
            loss, measures = self._clone(learner.policy)
            norm = learner.optimizer.step(
                loss,
                learning_rate=algo.learning_rate.at(progress),
                max_grad_norm=algo.max_grad_norm.at(progress),
            )
            steps.append(measures | {"train/loss": loss.detach(), "train/grad_norm": norm})
        learner.policy.gradient_mode(False)
        return mean_metrics(steps)

    def _clone(self, policy: Policy) -> tuple[Tensor, dict[str, Tensor]]:
        """−log π of a batch of recorded actions, and the share of them that are the likeliest ones."""
        recorded = self._steps
        rows = self._rng.integers(len(recorded), size=self._settings.batch_size)
        obs = policy.tensors({key: array[rows] for key, array in recorded.obs.items()})
        actions = torch.from_numpy(recorded.actions[rows]).to(policy.device)
        masks = None if recorded.masks is None else torch.from_numpy(recorded.masks[rows]).to(policy.device)
        evaluated = policy.evaluate(Minibatch(obs, actions, masks, actions.new_zeros(0), rows))
        loss = -evaluated.log_probs.mean()
        measures = {"imitate/loss": loss.detach()}
        if policy.spec.action.kind != "box":
            likeliest = policy.head.mode(evaluated.params)
            measures["imitate/agreement"] = (likeliest == actions).all(dim=1).float().mean()
        return loss, measures

    # ------------------------------------------------------------------------------ state

    def state(self) -> dict[str, Any]:
        return {"rng": save_generator(self._rng)}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        if not state:
            return ["the checkpoint was saved without imitation: it begins here"]
        self._rng = restore_generator(state["rng"])
        return []

    def rollback_point(self) -> Callable[[], None]:
        state = save_generator(self._rng)

        def put_back() -> None:
            self._rng = restore_generator(state)

        return put_back

    def reseed(self, seed: int, env_steps: int) -> None:
        self._rng = generator(seed, "bonus", 4, env_steps)


class ImitationSetup(Setup):
    """The setup for the section `imitate`."""

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        self._cloning: Cloning | None = None

    def auxiliaries(self, spec: EnvSpec) -> list[Cloning]:
        settings = self.config.imitate
        assert settings is not None
        if self.config.net.memory is not None:
            raise ConfigError(
                "a policy with net.memory learns from sequences, and recorded steps are drawn one by one.",
                where=NAME,
                hint="Leave out net.memory, for example with env.frame_stack instead.",
            )
        steps = load_demonstrations(settings.episodes, spec)
        self._cloning = Cloning(settings, steps, self.config)
        return [self._cloning] if settings.rollouts else []

    def build(self, site: Site) -> Cloning:
        cloning, learner = self._cloning, site.learner
        assert cloning is not None
        if not isinstance(learner, PolicyGradient):
            raise ConfigError(
                f"{self.config.algo.name} learns values of actions, and recorded actions have none.",
                where=NAME,
                hint="Use algo.name=ppo or algo.name=a2c.",
            )
        cloning.attach(learner)
        return cloning
