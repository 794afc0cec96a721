"""Derives a recipe for an environment without one from its facts, each value with its reason.

The values are those that recur in presets known to work; they are a start, not a tuned recipe. What the user
has set already (`env.*`, `steps`) is a fact like any other: the environment is looked at as it will be
trained, and rollouts fit the budget. Nothing here contradicts `doctor/lint.py`, which a test demands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gymsolve.envs.build import find_spec
from gymsolve.envs.contract_faults import keep_folder
from gymsolve.envs.families import find_family
from gymsolve.envs.make import make_envs
from gymsolve.envs.random_policy import Census, Tell, take_census
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import EnvSpec, ObsSpec
from gymsolve.text import count, plural

_SPARSE = 0.02
_CODES = 8
"""A grid of codes: whole numbers, the largest seen below this part of what the space allows."""
_UPDATES, _LEAST_UPDATES = 48, 12
"""Updates that a budget should give as long as a rollout still holds a reward that tells something, and
those that it has to give."""
_SHORTEST, _FEWEST = 32, 8
"""Steps per environment, and environments, below which rollouts are not made smaller."""
_MINIBATCH = 64
_LONG, _DENSE = 1000, 0.5
"""A time limit from which on episodes are long, and the share of steps with a telling reward from which on
nearly every step pays."""
_STRETCH, _SMALLEST, _LARGEST = 1024, 256, 4096
"""The longest stretch of one copy in a rollout of such an environment, and the sizes of these rollouts."""


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
    env_id: str,
    given: Mapping[str, Any] | None = None,
    budget: int | None = None,
    tell: Tell | None = None,
    *,
    stretches: bool = True,
) -> tuple[dict[str, Any], list[str]]:
    """A mapping in the shape of `TrainConfig`, and the reasons for its values.

    `given` holds settings of `env` that the user has chosen, `budget` the number of steps where it is set.
    `tell` hears how far the look at the environment is. Without `stretches`, the length of rollouts is not
    derived, for it is the user's or that of another algorithm: few copies are then no use.
    """
    given = given or {}
    known = find_family(env_id)
    family = known.recipe
    if family is not None and known.recipe_fits(given.get("kwargs", {})):
        find_spec(env_id)  # an id that does not exist is refused before anything is said about it
        reason = f"one of the {family} family → that family's wrappers, network and rollouts"
        fitting = (
            {} if budget is None else {"eval": {"every": 0}}
        )  # the family's own fits the family's budget
        return {"family": family, "env": {"id": env_id}, "algo": {"name": "ppo"}, **fitting}, [reason]
    draft = _Draft(env={"id": env_id, **given})
    spec, census = _look(draft.env, tell)
    if census.cut:
        draft.because(
            f"its steps are slow → the values below follow from only {census.env_steps} random steps, "
            f"in which {plural(census.episodes, 'episode')} ended"
        )
    images = {key: entry for key, entry in spec.obs.items() if entry.kind == "image"}
    if images:
        _for_images(draft, images, census)
    else:
        _for_vectors(draft, spec, census)
    _for_entries(draft, spec, census)
    _for_actions(draft, spec)
    _for_horizon(draft, spec, census)
    _for_rewards(draft, spec, census, bool(images), chosen=budget is not None)
    if stretches and _is_long_and_dense(spec, census) and not images:
        _for_long_episodes(draft, spec, budget or draft.rest["steps"], keep_envs="num_envs" in given)
    elif budget is not None:
        _for_budget(draft, budget, census, keep_envs="num_envs" in given)
    draft.reasons += [note for note in spec.notes if note not in draft.reasons]
    return {"env": draft.env, "algo": draft.algo, "net": draft.net, **draft.rest}, draft.reasons


def _look(env: dict[str, Any], tell: Tell | None) -> tuple[EnvSpec, Census]:
    with keep_folder():
        envs = make_envs(EnvConfig.model_validate({**env, "backend": "sync"}), "train", num_envs=4)
        try:
            return envs.spec, take_census(envs, "random", tell=tell)
        finally:
            envs.close()


def _for_images(draft: _Draft, images: dict[str, ObsSpec], census: Census) -> None:
    side = min(min(image.shape[1:]) for image in images.values())
    draft.env.setdefault("num_envs", 8)
    draft.algo.update(num_steps=128, num_epochs=4, num_minibatches=4, learning_rate=2.5e-4, clip_coef=0.1)
    draft.net.update(hidden=[512], activation="relu", cnn="nature" if side >= 36 else "small")
    codes = _codes(images, census)
    if "wrappers" not in draft.env:
        _wrap_images(draft, images, side, codes)
    small = side < 36
    if small:
        draft.because(f"images only {side} pixels wide → small CNN, 8 envs × 128 steps, 4 epochs")
    else:
        draft.because("image observations → nature CNN, 8 envs × 128 steps, 4 epochs")
    if codes is None and not small and "frame_stack" not in draft.env:
        draft.env["frame_stack"] = 4
        draft.because("one screen shows no motion → the last 4 are stacked")


def _wrap_images(draft: _Draft, images: dict[str, ObsSpec], side: int, codes: int | None) -> None:
    if codes is not None:
        draft.env["wrappers"] = [{"image_range": {"high": codes}}]
        draft.because(
            f"images of small whole numbers are grids of codes → scaled by {codes}, not by their space"
        )
    elif side > 90:
        gray = ["grayscale"] if all(image.shape[0] == 3 for image in images.values()) else []
        draft.env["wrappers"] = [*gray, {"resize": {"width": 84, "height": 84}}]
        draft.because(f"images of {side} pixels or more → {'gray, ' if gray else ''}84 × 84")


def _codes(images: dict[str, ObsSpec], census: Census) -> int | None:
    """The number to scale by if every image is a grid of codes; None if any is a picture.

    Pictures use the range of their space; codes number a few kinds of things, from 0. The bound is one less
    than a power of two, so that a code which random actions never saw hardly leaves it.
    """
    seen = [census.image_values[key] for key in images if key in census.image_values]
    bounds = [image.high[0] for image in images.values() if image.high and not image.low[0]]
    if len(seen) < len(images) or len(bounds) < len(images):
        return None
    if any(not whole or high > bound / _CODES for (high, whole), bound in zip(seen, bounds, strict=True)):
        return None
    return int(2 ** int(max(high for high, _ in seen)).bit_length() - 1) or 1


def _for_vectors(draft: _Draft, spec: EnvSpec, census: Census) -> None:
    short = census.mean_length is not None and census.mean_length <= 50 and not census.truncated
    steps = 64 if short else 128
    draft.env.setdefault("num_envs", 16)
    draft.algo.update(num_steps=steps, num_epochs=10, num_minibatches=8, learning_rate=3e-4)
    draft.net.update(hidden=[64, 64], activation="tanh")
    draft.because(
        f"no images → MLP of [64, 64], {draft.env['num_envs']} envs × {steps} steps, 10 cheap epochs"
    )
    if all(entry.kind == "discrete" or key in census.one_hot for key, entry in spec.obs.items()):
        draft.algo["learning_rate"] = 2.5e-3
        draft.because("categorical observations share no weights → learning_rate 2.5e-3")


def _for_entries(draft: _Draft, spec: EnvSpec, census: Census) -> None:
    """Settings that some entries of the observation need, whatever is beside them."""
    vectors = [entry for entry in spec.obs.values() if entry.kind == "vector"]
    if vectors and all(key in census.one_hot for key, entry in spec.obs.items() if entry.kind == "vector"):
        draft.because("one-hot vectors are categories → not normalised, which makes rare ones huge")
    elif vectors:
        draft.net["normalize_obs"] = "running"
        draft.because(f"vector observations {_scale(vectors)} → normalize_obs running")
    categories = max((max(entry.nvec) for entry in spec.obs.values() if entry.nvec), default=0)
    if categories > 1000:
        draft.net["discrete_obs"] = "embedding"
        draft.because(f"{categories} categories → embedding instead of one-hot")


def _scale(vectors: list[ObsSpec]) -> str:
    """The scale of numbers as far as their bounds say it: flags are 0 or 1, positions may be anything."""
    ends = [end for entry in vectors for end in (*entry.low, *entry.high)]
    if all(entry.low for entry in vectors) and max(map(abs, ends)) <= 1.0:
        return f"from {min(ends):g} to {max(ends):g}, of which they may use little"
    return "of unknown scale"


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
        gamma = 0.995 if limit <= 4000 else 0.999  # beyond, ends would be out of sight
        why = f"horizon {limit} → gamma {gamma}"
    else:
        gamma, why = 0.99, f"horizon {limit or 'unknown'} → gamma 0.99"
    draft.algo.update(gamma=gamma, gae_lambda=0.95)
    draft.because(why)
    if limit is None and not census.episodes:
        draft.env["max_episode_steps"] = 1000
        draft.because(
            "no time limit and no end seen → max_episode_steps 1000, or evaluation may never finish"
        )


def _for_rewards(draft: _Draft, spec: EnvSpec, census: Census, images: bool, *, chosen: bool) -> None:
    """`chosen`: the user says how long it trains."""
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
            f"rollouts twice as long{'' if chosen else ', twice the budget'}"
        )
    elif largest > 2.0 or flat:
        draft.algo["normalize_rewards"] = True
        draft.because(f"rewards from {census.min_reward:.3g} to {census.max_reward:.3g} → normalize_rewards")
    if spec.reward_threshold is None:
        draft.because(
            "no reward threshold is registered → set solved_at to have an end other than the budget"
        )
    draft.rest["steps"] = budget


def _is_long_and_dense(spec: EnvSpec, census: Census) -> bool:
    """Random episodes last for long, up to the time limit or half of it, and steps pay.

    Where they end early by a fall, many copies with short stretches learn sooner (measured on Hopper).
    """
    limit, length = spec.max_episode_steps, census.mean_length
    lasting = limit is not None and (length is None or 2 * length >= limit)
    return lasting and (limit or 0) >= _LONG and census.telling_rewards >= _DENSE


def _for_long_episodes(draft: _Draft, spec: EnvSpec, budget: int, *, keep_envs: bool) -> None:
    """Few copies, each of which goes on for long: a gait or a stroke pays hundreds of steps after it began.

    Many copies with short stretches would leave that to guesses of a value function that knows nothing yet.
    """
    size = min(_LARGEST, max(_SMALLEST, _power_of_two(budget / _UPDATES)))
    envs = draft.env["num_envs"] if keep_envs else max(1, size // _STRETCH)
    steps = min(_STRETCH, max(_SHORTEST, _power_of_two(size / envs)))
    fitting = max(1, envs * steps // _MINIBATCH)
    draft.env["num_envs"] = envs
    draft.algo.update(num_steps=steps, num_minibatches=fitting)
    draft.because(
        f"episodes of up to {count(spec.max_episode_steps or 0)} steps in which most steps pay → rollouts of "
        f"{envs} × {count(steps)}, which show what comes of an action, {fitting} minibatches each"
    )


def _power_of_two(number: float) -> int:
    """The largest one that is not above a number from 1 on."""
    return 1 << (max(1, int(number)).bit_length() - 1)


def _for_budget(draft: _Draft, budget: int, census: Census, *, keep_envs: bool) -> None:
    """Smaller rollouts where the budget would give only a few updates; as many passes over each step."""
    envs, steps = draft.env["num_envs"], draft.algo["num_steps"]
    before = envs * steps

    def too_large() -> bool:
        size = envs * steps
        wanted = _UPDATES if census.telling_rewards * size >= 2 else _LEAST_UPDATES
        return bool(size * wanted > budget)

    while too_large() and steps > _SHORTEST:
        steps //= 2
    while too_large() and envs > _FEWEST and not keep_envs:
        envs //= 2
    if envs * steps == before:
        return
    draft.env["num_envs"], draft.algo["num_steps"] = envs, steps
    fitting = draft.algo["num_minibatches"]
    while fitting > 1 and envs * steps < fitting * _MINIBATCH:
        fitting //= 2
    draft.algo["num_minibatches"] = fitting
    draft.because(
        f"a budget of {count(budget)} steps → rollouts of {envs} × {steps}, {fitting} minibatches each, "
        f"for {count(budget / (envs * steps))} updates instead of {count(budget / before)}"
    )
