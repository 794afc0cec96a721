"""Spaces of observations and actions as plain data.

Gymnasium spaces stay in `envs/`; networks, rollouts and checkpoints use these records. They are stored with
the weights, so that a policy can be rebuilt without its environment. Reading them does not import NumPy.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gymsolve.errors import ConfigError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
else:
    Array = Any

Obs = dict[str, Array]
"""A batch of observations: one array per entry, always a dict; a plain space has the key `obs`."""

TASK_ENTRY = "task"
"""The entry of an observation that holds the number of its task, where there are several."""


@dataclass(frozen=True)
class ObsSpec:
    """One entry of an observation."""

    kind: Literal["vector", "image", "discrete"]
    """`discrete` covers Discrete and MultiDiscrete; MultiBinary and any non-image Box are `vector`."""
    shape: tuple[int, ...]
    """Without the batch axis. Images are [channels, height, width]; a Discrete has shape ()."""
    dtype: str
    nvec: tuple[int, ...] = ()
    """Categories per element of a `discrete` entry."""
    low: tuple[float, ...] = ()
    """Bounds of a `vector`, flattened, or of all of an `image`; empty when any of them is infinite."""
    high: tuple[float, ...] = ()
    start: tuple[int, ...] = ()
    """First category of each element as the environment counts; arrays here always count from 0."""


@dataclass(frozen=True)
class ActionSpec:
    """The action space. Policies emit indices (categories) or numbers around [-1, 1] (box)."""

    kind: Literal["discrete", "multi_discrete", "multi_binary", "box"]
    shape: tuple[int, ...]
    """Shape of one action as the environment takes it: () for Discrete."""
    nvec: tuple[int, ...] = ()
    """Choices per part: (n,) for Discrete, (2, 2, …) for MultiBinary, empty for a box."""
    start: tuple[int, ...] = ()
    """Value of the first choice of each part, for the environment's side."""
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    dtype: str = "int64"
    bounded: bool = True
    """False for a box with an infinite bound: actions then pass through unscaled."""
    squash: bool = False
    """The policy's box actions go through tanh (and not through clipping) before scaling."""

    @property
    def size(self) -> int:
        """Width of a policy's action: parts of a categorical, dimensions of a box."""
        return len(self.nvec) if self.nvec else math.prod(self.shape)

    @property
    def mask_size(self) -> int:
        """Length of an action mask: one flag per choice of each part, parts concatenated."""
        return sum(self.nvec)

    def to_env(self, actions: Array) -> Array:
        """Policy actions [N, size] → environment actions [N, *shape].

        A box action of -1 is the lower bound and +1 the upper one. Actions outside are clipped here and only
        here, so that the rollout keeps the action whose log-probability is known.
        """
        if self.kind != "box":
            shifted = actions + self._starts.astype(actions.dtype) if any(self.start) else actions
            return shifted.reshape(len(actions), *self.shape).astype(self.dtype)
        if not self.bounded:
            return actions.reshape(len(actions), *self.shape).astype(self.dtype)
        unit = self.to_unit(actions)
        low, high = self._ends
        scaled: Array = (low + (unit.astype(float) + 1.0) * 0.5 * (high - low)).clip(low, high)
        return scaled.reshape(len(actions), *self.shape).astype(self.dtype)

    def to_unit(self, actions: Array) -> Array:
        """Box actions [N, size] of a policy → numbers between -1 (lower bound) and +1 (upper bound)."""
        unit: Array = self._squashing[0](actions) if self.squash else actions.clip(-1.0, 1.0)
        return unit

    def from_unit(self, unit: Array) -> Array:
        """The inverse of `to_unit`. The ends of a squashed box are at infinity; the largest number whose tanh
        is below 1 stands for them."""
        inside = unit.clip(-1.0 + 2.0**-24, 1.0 - 2.0**-24)
        policy_actions: Array = (self._squashing[1](inside) if self.squash else unit).astype("float32")
        return policy_actions

    def from_env(self, actions: Array) -> Array:
        """Environment actions [N, *shape] → policy actions [N, size]: the inverse of `to_env`."""
        import numpy as np

        flat = np.asarray(actions).reshape(len(actions), -1)
        if self.kind != "box":
            return flat.astype(np.int64) - self._starts if any(self.start) else flat.astype(np.int64)
        if not self.bounded:
            return flat.astype(np.float32)
        low, high = self._ends
        unit = ((flat - low) / np.where(high > low, high - low, 1.0) * 2.0 - 1.0).clip(-1.0, 1.0)
        return self.from_unit(unit)

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """Bounds of a box; kept, since they are needed in every step."""
        import numpy as np

        return np.asarray(self.low, dtype=np.float64), np.asarray(self.high, dtype=np.float64)

    @cached_property
    def _starts(self) -> Array:
        import numpy as np

        return np.asarray(self.start)

    @cached_property
    def _squashing(self) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """tanh and its inverse."""
        import numpy as np

        return np.tanh, np.arctanh


@dataclass(frozen=True)
class EnvSpec:
    """The spaces and facts of an environment that other code needs."""

    id: str
    obs: dict[str, ObsSpec]
    action: ActionSpec
    masked: bool = False
    """The environment (or the recipe) supplies action masks."""
    legal: tuple[bool, ...] = ()
    """The recipe's constant mask, combined with every other one; empty when all actions are legal."""
    reward_threshold: float | None = None
    max_episode_steps: int | None = None
    """Time limit in agent steps, after frame skipping; None when episodes are unlimited."""
    components: tuple[str, ...] = ()
    """Names of the parts that sum up to rewards; empty without the wrapper `reward_components`."""
    watched: tuple[str, ...] = ()
    """Names of the numbers that bonuses use; empty without the wrapper `watch`."""
    notes: tuple[str, ...] = ()
    """Sentences for the user, from building the environment."""
    tasks: tuple[str, ...] = ()
    """Names of the tasks, whose numbers the entry `task` of observations holds; empty where there is one."""
    task_thresholds: tuple[float | None, ...] = ()
    """The threshold that each of them is registered with."""

    def with_squash(self, squash: bool) -> "EnvSpec":
        """These spaces with box actions that go through tanh, or not; bounds are needed for it."""
        if squash and self.action.kind == "box" and not self.action.bounded:
            raise ConfigError(
                f"{self.id} takes actions without bounds, so there is nothing for tanh to scale to.",
                where="net.squash",
                hint="Leave it off, or wrap the environment so that its actions are bounded.",
            )
        return replace(self, action=replace(self.action, squash=squash))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "EnvSpec":
        """The spec from the data of `to_json`; a ValueError if it is something else."""
        try:
            obs = {key: ObsSpec(**_tuples(entry)) for key, entry in data["obs"].items()}
            rest = {key: value for key, value in data.items() if key not in ("obs", "action")}
            spec = cls(obs=obs, action=ActionSpec(**_tuples(data["action"])), **_tuples(rest))
            spaces = _is_space(spec.action) and all(map(_is_space, spec.obs.values()))
            flags = (spec.masked, spec.action.bounded, spec.action.squash, *spec.legal)
            words = (spec.id, *spec.components, *spec.watched, *spec.notes, *spec.tasks)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"spaces are not described like this: {ascii(str(error))[:80]}") from error
        bars = (spec.reward_threshold, spec.max_episode_steps, *spec.task_thresholds)
        numbers = [number for number in bars if number is not None]
        if not (spec.obs and spaces and _all_are(flags, bool) and _all_are(words, str)):
            raise ValueError("there are no such spaces")
        if not _all_are(numbers, int, float) or (spec.legal and len(spec.legal) != spec.action.mask_size):
            raise ValueError("there is no such environment")
        return spec


def find_misfit(trained: EnvSpec, here: EnvSpec) -> str | None:
    """The first difference between spaces that a policy was trained in and others; None where it fits."""
    for key in sorted({*trained.obs, *here.obs}):
        before, now = trained.obs.get(key), here.obs.get(key)
        if before is None or now is None:
            return f"the observation {key!r} is {'new' if before is None else 'gone'}"
        if (before.kind, before.shape, before.nvec) != (now.kind, now.shape, now.nvec):
            return f"the observation {key!r} was {_in_words(before)} and is {_in_words(now)}"
    if trained.tasks != here.tasks:
        return f"the tasks were {_listed(trained.tasks)} and are {_listed(here.tasks)}"
    was, now_is = trained.action, here.action
    if (was.kind, was.shape, was.nvec) != (now_is.kind, now_is.shape, now_is.nvec):
        return f"actions were {_in_words(was)} and are {_in_words(now_is)}"
    return None


def _listed(tasks: tuple[str, ...]) -> str:
    return ", ".join(tasks) or "one"


def _in_words(space: "ObsSpec | ActionSpec") -> str:
    sizes = f" with {list(space.nvec)} choices" if space.nvec else ""
    return f"{space.kind} of shape {list(space.shape)}{sizes}"


_KINDS = frozenset(("vector", "image", "discrete", "multi_discrete", "multi_binary", "box"))
_DTYPE = re.compile(r"bool|(u?int|float)(8|16|32|64)")
_LARGEST = 1 << 31
"""Elements of a space, at most."""


def _is_space(space: "ObsSpec | ActionSpec") -> bool:
    """True if the fields of a stored space have the types and sizes of a space."""
    whole = (*space.shape, *space.nvec, *space.start)
    bounds = (*space.low, *space.high)
    if space.kind not in _KINDS or not (_all_are(whole, int) and _all_are(bounds, int, float)):
        return False
    if not isinstance(space.dtype, str) or not _DTYPE.fullmatch(space.dtype):
        return False
    if len(space.low) != len(space.high) or (space.start and len(space.start) != len(space.nvec)):
        return False
    deep = space.kind != "image" or len(space.shape) == 3
    fits = min((*space.shape, *space.nvec), default=1) > 0
    return deep and fits and max(math.prod(space.shape), sum(space.nvec)) < _LARGEST


def _all_are(values: Iterable[Any], *kinds: type) -> bool:
    return all(type(value) in kinds for value in values)


def _tuples(data: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
