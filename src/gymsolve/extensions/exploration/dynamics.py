"""Bonuses from predicting what an action leads to: ICM, and the error of a forward model.

ICM (Pathak et al. 2017) learns features that tell the action between two observations (the inverse model),
and pays the error of predicting them (the forward model): changes that no action causes pay nothing.
`forward` takes fixed random features instead.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.inputs import Seen, one_hot
from gymsolve.extensions.exploration.nets import Learned, Learner, Net, NetSetup, in_pieces, layers, select
from gymsolve.extensions.exploration.novelty import Novelty
from gymsolve.settings.exploration import ExploreConfig
from gymsolve.spec import ActionSpec, Array

_INVERSE = 0.8
"""Weight of the inverse model's loss in ICM; the forward model has the rest."""


def encode_actions(actions: Array, spec: ActionSpec) -> Array:
    """Actions [B, A] as numbers: choices one-hot, boxes in half ranges, limited as for the environment."""
    if not spec.nvec:
        unit = np.tanh(actions) if spec.squash else actions
        return (unit.clip(-1.0, 1.0) if spec.bounded else unit).astype(np.float32)
    return one_hot(actions, spec.nvec)


class _Dynamics(nn.Module):
    """Features of observations, and a prediction of those after an action."""

    def __init__(self, features: Net, settings: ExploreConfig, width: int, rng: np.random.Generator) -> None:
        super().__init__()
        self.features = features
        self.ahead = layers(settings.features + width, settings.hidden, settings.features, rng)

    def wrong(self, before: Tensor, actions: Tensor, after: Tensor) -> Tensor:
        """Half the squared error [B] of the features after an action."""
        predicted = self.ahead(torch.cat([before, actions], dim=1))
        error: Tensor = 0.5 * (predicted - after).square().sum(dim=1)
        return error


class ForwardModel(Learned, Novelty):
    """Pays half the squared error of predicting fixed random features of what follows."""

    def __init__(self, setup: NetSetup, action: ActionSpec) -> None:
        settings = self._settings = setup.settings
        self._inputs, self._action, self._device = setup.inputs, action, setup.device
        self._width = sum(action.nvec) if action.nvec else action.size
        self.model = self._build(setup.net(settings.hidden, settings.features), setup.rng)
        self.learner = Learner(self.model, setup.device)
        self._newest: tuple[Seen, Tensor] | None = None  # observations [M], actions [T * N]

    def _build(self, features: Net, rng: np.random.Generator) -> _Dynamics:
        return _Dynamics(features.requires_grad_(False), self._settings, self._width, rng)

    def pay(self, seen: Transitions) -> Array:
        rows = self._inputs.of(seen)
        flat = seen.rollout.actions.reshape(-1, seen.rollout.actions.shape[-1])
        actions = torch.from_numpy(encode_actions(flat, self._action)).to(self._device)
        self._newest = rows, actions
        with torch.no_grad():
            features = in_pieces(self.model.features, rows)
            here, there = (features[torch.from_numpy(at.reshape(-1))] for at in (seen.here, seen.there))
            errors = self.model.wrong(here, actions, there).cpu().numpy()
        paid: Array = errors.reshape(seen.valid.shape)
        return paid

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        assert self._newest is not None
        rows, actions = self._newest
        steps = np.flatnonzero(seen.valid.reshape(-1))
        if self._settings.share < 1.0:
            steps = steps[rng.random(len(steps)) < self._settings.share]
        there = torch.from_numpy(seen.there.reshape(-1)).to(self._device)
        measures: dict[str, list[float]] = {}

        def loss(some: Tensor) -> Tensor:
            return self._loss(rows, some, there[some], actions[some], measures)

        passes = self._settings.num_epochs, self._settings.num_minibatches
        metrics = {"bonus/loss": self.learner.fit(steps, loss, rate, passes, rng)}
        self._newest = None
        return metrics | {name: float(np.mean(values)) for name, values in measures.items()}

    def _loss(
        self, rows: Seen, here: Tensor, there: Tensor, actions: Tensor, measures: dict[str, list[float]]
    ) -> Tensor:
        with torch.no_grad():
            before, after = (self.model.features(select(rows, at)) for at in (here, there))
        return self.model.wrong(before, actions, after).mean()


class _Curious(_Dynamics):
    """Learned features, and a guess of the action between two of them."""

    def __init__(self, features: Net, settings: ExploreConfig, width: int, rng: np.random.Generator) -> None:
        super().__init__(features, settings, width, rng)
        self.between = layers(2 * settings.features, settings.hidden, width, rng)


class InverseModel(ForwardModel):
    """ICM: like `ForwardModel`, with features that are learned by guessing actions."""

    def _build(self, features: Net, rng: np.random.Generator) -> _Dynamics:
        return _Curious(features, self._settings, self._width, rng)

    def _loss(
        self, rows: Seen, here: Tensor, there: Tensor, actions: Tensor, measures: dict[str, list[float]]
    ) -> Tensor:
        model = self.model
        assert isinstance(model, _Curious)
        before, after = (model.features(select(rows, at)) for at in (here, there))
        guess = model.between(torch.cat([before, after], dim=1))
        inverse, score = self._inverse(guess, actions)
        measures.setdefault("bonus/inverse", []).append(float(score))
        # The features learn from guessing actions alone: predicting them would make them constant.
        ahead = model.wrong(before.detach(), actions, after.detach()).mean()
        return _INVERSE * inverse + (1.0 - _INVERSE) * ahead

    def _inverse(self, guess: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of guessed actions, and their quality: share of right choices, or explained variance."""
        if not self._action.nvec:
            loss = (guess - actions).square().sum(dim=1).mean()
            spread = actions.var(dim=0, unbiased=False).sum()
            return loss, 1.0 - loss.detach() / spread.clamp(min=1e-8)
        losses, hits, start = [], [], 0
        for choices in self._action.nvec:
            part = slice(start, start + choices)
            truth = actions[:, part].argmax(dim=1)
            losses.append(functional.cross_entropy(guess[:, part], truth))
            hits.append((guess[:, part].argmax(dim=1) == truth).float().mean())
            start += choices
        return torch.stack(losses).sum(), torch.stack(hits).mean()
