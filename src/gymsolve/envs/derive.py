"""Derives a recipe for an environment without one from its facts, each value with its reason.

The values are those that recur in presets known to work; they are a start, not a tuned recipe.
"""

from dataclasses import dataclass, field
from typing import Any

from gymsolve.config import EnvConfig
from gymsolve.envs.make import make_envs
from gymsolve.envs.random_policy import Census, Tell, take_census
from gymsolve.spec import EnvSpec, ObsSpec
from gymsolve.text import plural

__all__ = ["derive_recipe"]

_SPARSE = 0.02


@dataclass
class _Draft:
    """A recipe in the making: sections, and one sentence per decision."""

    env: dict[str, Any]
    algo: dict[str, Any] = field(default_factory=lambda: {"name": "ppo"})
    net: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def because(self, reason: str) -> None:
        self.reasons.append(reason)


def derive_recipe(
    env_id: str, kwargs: dict[str, Any] | None = None, tell: Tell | None = None
) -> tuple[dict[str, Any], list[str]]:
    """A mapping in the shape of `TrainConfig`, and the reasons for its values.

    `tell` hears how far the look at the environment is.
    """
    draft = _Draft(env={"id": env_id, **({"kwargs": dict(kwargs)} if kwargs else {})})
    envs = make_envs(EnvConfig.model_validate({**draft.env, "backend": "sync"}), "train", num_envs=4)
    try:
        spec = envs.spec
        census = take_census(envs, "random", tell=tell)
    finally:
        envs.close()
    if census.cut:
        draft.because(
            f"its steps are slow → the values below follow from only {census.env_steps} random steps, "
            f"in which {plural(census.episodes, 'episode')} ended"
        )
    images = [entry for entry in spec.obs.values() if entry.kind == "image"]
    if images:
        _for_images(draft, images)
    else:
        _for_vectors(draft, spec, census)
    _for_actions(draft, spec)
    _for_horizon(draft, spec, census)
    _for_rewards(draft, spec, census, bool(images))
    return {"env": draft.env, "algo": draft.algo, "net": draft.net, **draft.rest}, draft.reasons


def _for_images(draft: _Draft, images: list[ObsSpec]) -> None:
    sides = [min(image.shape[1:]) for image in images]
    draft.env["num_envs"] = 8
    draft.algo.update(num_steps=128, num_epochs=4, num_minibatches=4, learning_rate=2.5e-4, clip_coef=0.1)
    draft.net.update(hidden=[512], activation="relu")
    if min(sides) > 90:
        gray = ["grayscale"] if all(image.shape[0] == 3 for image in images) else []
        draft.env["wrappers"] = [*gray, {"resize": {"width": 84, "height": 84}}]
        draft.because(f"images of {min(sides)} pixels or more → {'gray, ' if gray else ''}84 × 84")
    if min(sides) >= 36:
        draft.net["cnn"] = "nature"
        draft.env["frame_stack"] = 4
        draft.because("image observations → nature CNN, 8 envs × 128 steps, 4 epochs")
        draft.because("one screen shows no motion → the last 4 are stacked")
    else:
        draft.net["cnn"] = "small"
        draft.because(f"images only {min(sides)} pixels wide → small CNN, 8 envs × 128 steps, 4 epochs")


def _for_vectors(draft: _Draft, spec: EnvSpec, census: Census) -> None:
    short = census.mean_length is not None and census.mean_length <= 50 and not census.truncated
    steps = 64 if short else 128
    draft.env["num_envs"] = 16
    draft.algo.update(num_steps=steps, num_epochs=10, num_minibatches=8, learning_rate=3e-4)
    draft.net.update(hidden=[64, 64], activation="tanh")
    draft.because(f"no images → MLP of [64, 64], 16 envs × {steps} steps, 10 cheap epochs")
    if any(entry.kind == "vector" for entry in spec.obs.values()):
        draft.net["normalize_obs"] = "running"
        draft.because("vector observations of unknown scale → normalize_obs running")
    categories = max((max(entry.nvec) for entry in spec.obs.values() if entry.nvec), default=0)
    if categories:
        draft.algo["learning_rate"] = 2.5e-3
        draft.because("categorical observations share no weights → learning_rate 2.5e-3")
    if categories > 1000:
        draft.net["discrete_obs"] = "embedding"
        draft.because(f"{categories} categories → embedding instead of one-hot")


def _for_actions(draft: _Draft, spec: EnvSpec) -> None:
    if spec.action.kind == "box":
        draft.algo["ent_coef"] = 0.0
        draft.because("Box actions explore through their own spread → ent_coef 0")
        return
    draft.algo["ent_coef"] = 0.01
    draft.because("categorical actions → ent_coef 0.01 keeps them from settling early")
    if spec.masked:
        draft.because("the environment gives action masks → they are used")


def _for_horizon(draft: _Draft, spec: EnvSpec, census: Census) -> None:
    limit, never_ends = spec.max_episode_steps, census.terminated == 0
    if census.mean_length is not None and census.mean_length <= 1.0 and never_ends is False:
        draft.algo.update(gamma=1.0, gae_lambda=1.0)
        draft.because("episodes of one step → nothing to discount, gamma 1")
        return
    if spec.action.kind == "box" and never_ends and limit is not None and limit <= 200:
        gamma, why = (
            0.95,
            f"a time limit of {limit} and no other end → gamma 0.95, the near future tells enough",
        )
    elif limit is not None and limit >= 1000:
        gamma, why = 0.995, f"horizon {limit} → gamma 0.995"
    else:
        gamma, why = 0.99, f"horizon {limit or 'unknown'} → gamma 0.99"
    draft.algo.update(gamma=gamma, gae_lambda=0.95)
    draft.because(why)
    if limit is None and not census.episodes:
        draft.env["max_episode_steps"] = 1000
        draft.because(
            "no time limit and no end seen → max_episode_steps 1000, or evaluation may never finish"
        )


def _for_rewards(draft: _Draft, spec: EnvSpec, census: Census, images: bool) -> None:
    largest = max(abs(census.min_reward), abs(census.max_reward))
    sparse = census.nonzero_rewards < _SPARSE
    flat = census.min_reward == census.max_reward and not census.terminated
    budget = 5_000_000 if images else 1_000_000
    if census.mean_length is not None and census.mean_length <= 1.0:
        budget = 50_000
    if sparse:
        draft.algo["ent_coef"] = 0.02
        draft.algo["num_steps"] = 2 * draft.algo["num_steps"]
        budget *= 2
        draft.because(
            f"{census.nonzero_rewards:.1%} of random steps pay anything → ent_coef 0.02, "
            "rollouts twice as long, twice the budget"
        )
    elif largest > 2.0 or flat:
        draft.algo["normalize_rewards"] = True
        draft.because(f"rewards from {census.min_reward:.3g} to {census.max_reward:.3g} → normalize_rewards")
    if spec.reward_threshold is None:
        draft.because(
            "no reward threshold is registered → set solved_at to have an end other than the budget"
        )
    draft.rest["steps"] = budget
