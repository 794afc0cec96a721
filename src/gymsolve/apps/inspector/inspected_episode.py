"""An inspected episode as arrays: observations, values, actions, rewards.

Advantages and returns come from the functions that training uses (`experience/credit.py`,
`experience/returns.py`), on the episode as a rollout of one environment; the table is that of a checkpoint's
`rollout.csv` with more columns. No network runs here: it works without torch, and as quickly with another
discount.
"""

import io
import math
import zlib
from collections.abc import Sequence
from functools import cached_property
from typing import overload

import numpy as np

from gymsolve.apps.inspector.episode_credit import CreditSettings, episode_credit
from gymsolve.apps.inspector.inspected_html import episode_html
from gymsolve.errors import RunDamagedError
from gymsolve.experience.credit import TASK, Credit
from gymsolve.experience.returns import gae, monte_carlo
from gymsolve.experience.rollout import Rollout
from gymsolve.experience.table import columns_csv, rollout_columns
from gymsolve.extensions.scaling import scale_rewards
from gymsolve.runs.inspections import Inspection, RowField
from gymsolve.spec import Array, EnvSpec, Obs

_NUMBERS = (
    "value",
    "log_prob",
    "entropy",
    "reward",
    "raw_return",
    "terminated",
    "truncated",
    "lives",
    "label",
)


def rows_dtype(fields: Sequence[RowField]) -> np.dtype[np.void]:
    """The type of a row with these fields."""
    return np.dtype([(field.name, f"<{field.kind}", field.shape) for field in fields])


class Pictures(Sequence[Array]):
    """The camera's pictures, uint8 [H, W, 3] by state; decoded on access."""

    def __init__(self, stored: Inspection) -> None:
        self._stored = stored

    def __len__(self) -> int:
        return min(self._stored.frames, self._stored.states)

    @overload
    def __getitem__(self, state: int) -> Array: ...
    @overload
    def __getitem__(self, state: slice) -> list[Array]: ...

    def __getitem__(self, state: int | slice) -> Array | list[Array]:
        if isinstance(state, slice):
            return [self[place] for place in range(*state.indices(len(self)))]
        place = state + len(self) if state < 0 else state
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} pictures; none is number {state}")
        from PIL import Image

        encoded = self.encoded(place)
        if not encoded:
            raise IndexError(f"no picture of state {place} was kept")
        return np.asarray(Image.open(io.BytesIO(encoded), formats=("JPEG",)).convert("RGB"))

    def encoded(self, state: int) -> bytes:
        """The JPEG itself; empty where none was kept."""
        return self._stored.read_frame(state)


class InspectedEpisode:
    """T steps of one environment under one policy; arrays have T rows, those of states T + 1.

    `facts` says whose they are and how the episode ended. While it is still being played, there is less.
    """

    def __init__(self, stored: Inspection) -> None:
        self.stored, self.facts = stored, stored.facts
        place = str(stored.path / "inspection.json")
        try:
            self.spec = EnvSpec.from_json(stored.facts["spec"])
            self.settings = CreditSettings.from_json(stored.facts["credit"])
        except ValueError as error:
            reason = str(error).rstrip(".")
            raise RunDamagedError(f"the file describes no episode: {reason}.", where=place) from error
        self._dtype = rows_dtype(stored.fields)
        self._require(place)

    def _require(self, place: str) -> None:
        """Require the fields that are used here, in the shapes that the spaces give."""
        action = self.spec.action
        needed: dict[str, tuple[int, ...]] = dict.fromkeys(_NUMBERS, ())
        needed |= {"action": (action.size,), "taken": (action.size,)}
        needed["params"] = (action.mask_size or action.size,)
        for key, entry in self.spec.obs.items():
            if entry.kind != "image":
                needed[f"obs/{key}"] = entry.shape
        for name, shape in needed.items():
            if name not in (self._dtype.names or ()) or self._dtype[name].shape != shape:
                raise RunDamagedError(f"its rows have no {name!r} of shape {list(shape)}.", where=place)

    # --------------------------------------------------------------------------------- arrays

    @cached_property
    def rows(self) -> Array:
        """All rows [T + 1] as a structured array; the last one is the state at the end."""
        return np.frombuffer(self.stored.read_rows(0, self.stored.states), self._dtype)

    def __len__(self) -> int:
        """Steps."""
        return max(0, len(self.rows) - 1)

    @property
    def likelihoods(self) -> Array:
        """The probability, or the density, of each action; infinite where the file says so."""
        with np.errstate(over="ignore"):
            return np.exp(self.column("log_prob").astype(np.float64))

    def column(self, name: str) -> Array:
        """One field of every step [T, …]."""
        column: Array = self.rows[name][: len(self)]
        return column

    @property
    def obs(self) -> dict[str, Array]:
        """Observations [T + 1, …] as the environment gave them; pictures with `observation`."""
        return self._of_states("obs/")

    @property
    def seen(self) -> dict[str, Array]:
        """Observations [T + 1, size] as the network took them, normalised; no categories, no pictures."""
        return self._of_states("seen/")

    @property
    def values(self) -> Array:
        """The critic's values [T + 1], in units of the rewards that it learned from."""
        values: Array = self.rows["value"]
        return values

    @property
    def actions(self) -> Array:
        """Actions as the environment took them [T, *shape]."""
        action = self.spec.action
        taken = self.column("taken")
        return taken.reshape(len(self), *action.shape).astype(action.dtype)

    @property
    def labels(self) -> list[str]:
        """Names of the actions."""
        return [text.decode(errors="replace") for text in self.column("label").tolist()]

    @property
    def rewards(self) -> Array:
        """Rewards as the agent saw them [T], before scaling."""
        return self.column("reward")

    @property
    def probabilities(self) -> Array | None:
        """Probabilities of every choice [T, choices], parts side by side; None for a box."""
        return self.column("params") if self.spec.action.nvec else None

    @property
    def means(self) -> Array | None:
        """Means [T, A] of a box's actions in the policy's own units; None for choices."""
        return None if self.spec.action.nvec else self.column("params")

    @property
    def masks(self) -> Array | None:
        """Legal choices [T, choices]; None where all are."""
        return self.column("mask").astype(bool) if "mask" in (self._dtype.names or ()) else None

    @property
    def components(self) -> dict[str, Array]:
        """Rewards of each named part [T]."""
        return {name: self.column("components")[:, i] for i, name in enumerate(self.spec.components)}

    @property
    def memory(self) -> Array | None:
        """The memory of a recurrent policy in each state [T + 1, M]; None without memory."""
        memory: Array | None = self.rows["memory"] if "memory" in (self._dtype.names or ()) else None
        return memory

    @property
    def frames(self) -> Pictures:
        return Pictures(self.stored)

    def observation(self, state: int) -> Obs:
        """The policy's observation in a state, as a batch of one, with pictures."""
        return {
            key: self.picture(key, state)[None]
            if entry.kind == "image"
            else self.rows[f"obs/{key}"][state].astype(entry.dtype).reshape(1, *entry.shape)
            for key, entry in self.spec.obs.items()
        }

    def picture(self, key: str, state: int) -> Array:
        """A picture [C, H, W] as the policy saw it in a state, lossless."""
        entry = self.spec.obs[key]
        parts = self.stored.read_planes(self.rows[f"planes/{key}"][state].tolist())
        size = math.prod(entry.shape) * np.dtype(entry.dtype).itemsize
        try:
            raw = b"".join(zlib.decompressobj().decompress(part, size) for part in parts)
            return np.frombuffer(raw, entry.dtype).reshape(entry.shape)
        except (zlib.error, ValueError) as error:
            where = str(self.stored.path / "planes.bin")
            raise RunDamagedError(f"the picture of state {state} cannot be read.", where=where) from error

    def _of_states(self, prefix: str) -> dict[str, Array]:
        names = [name for name in self._dtype.names or () if name.startswith(prefix)]
        return {name.removeprefix(prefix): self.rows[name] for name in names}

    # --------------------------------------------------------------------------------- credit

    def rollout(self, settings: CreditSettings | None = None) -> Rollout:
        """The episode as training holds it: T steps of one environment, rewards scaled."""
        chosen = settings or self.settings
        count, values = len(self), self.values[:, None]
        limit = math.inf if chosen.reward_limit is None else chosen.reward_limit
        masks, parts = self.masks, self.column("components") if self.spec.components else None
        return Rollout(
            obs={key: array[:count, None] for key, array in self.obs.items()},
            actions=self.column("action")[:, None],
            log_probs=self.column("log_prob")[:, None],
            values=values[:-1],
            next_values=values[1:],
            rewards=scale_rewards(self.rewards, chosen.reward_scale, limit)[:, None],
            terminated=self.column("terminated").astype(bool)[:, None],
            truncated=self.column("truncated").astype(bool)[:, None],
            valid=np.ones((count, 1), bool),
            masks=None if masks is None else masks[:, None],
            components=None if parts is None else parts[:, None],
        )

    def credit(
        self,
        *,
        gamma: float | None = None,
        gae_lambda: float | None = None,
        reward_scale: float | None = None,
    ) -> dict[str, Array]:
        """Columns [T] that follow from discount, lambda and the scale of rewards; the run's own unless given.

        `advantage` and `return` are what the run's algorithm would learn from. `return_to_go` is the
        discounted sum of rewards up to the end, with the value of the last state where a time limit cut it;
        `advantage_value` and `advantage_mean` compare that sum with the value and with its mean.
        """
        rollout, more, credit = self._credit(self.settings.with_changes(gamma, gae_lambda, reward_scale))
        columns = {"reward": rollout.rewards, "advantage": credit.advantages, "return": credit.targets[TASK]}
        return {name: array[:, 0] for name, array in (columns | more).items()}

    @np.errstate(all="ignore")  # a file may hold any numbers
    def _credit(self, settings: CreditSettings) -> tuple[Rollout, dict[str, Array], Credit]:
        """The episode as a rollout, columns that follow from its rewards and values, and its credit."""
        rollout, gamma, empty = self.rollout(settings), settings.gamma, np.zeros((0, 1), np.float32)
        if not len(self):
            names = ("td_error", "return_to_go", "advantage_value", "advantage_mean")
            return rollout, dict.fromkeys(names, empty), Credit(empty, empty, {TASK: empty})
        ends = rollout.terminated, rollout.truncated
        values = rollout.values, rollout.next_values
        to_go = monte_carlo(rollout.rewards, rollout.next_values, *ends, gamma=gamma)
        columns = {
            "td_error": gae(rollout.rewards, *values, *ends, gamma=gamma, gae_lambda=0.0),
            "return_to_go": to_go,
            "advantage_value": to_go - rollout.values,
            "advantage_mean": to_go - to_go.mean(),
        }
        return rollout, columns, episode_credit(rollout, settings)

    def table(self, **changes: float | None) -> dict[str, Array]:
        """A column per name: those of a checkpoint's `rollout.csv`, then further ones of an inspection.

        `changes` are those of `credit`.
        """
        rollout, more, credit = self._credit(self.settings.with_changes(**changes))
        if not len(self):
            return {}
        fields = {"entropy": "entropy", "reward_seen": "reward", "raw_return": "raw_return", "lives": "lives"}
        fields |= {
            name: name for name in ("memory_norm", "memory_change") if name in (self._dtype.names or ())
        }
        more |= {name: self.column(field)[:, None] for name, field in fields.items()}
        more |= {f"reward/{name}": paid[:, None] for name, paid in self.components.items()}
        more["label"] = np.array(self.labels)[:, None]
        return rollout_columns(rollout, credit, more=more)

    def to_csv(self, **changes: float | None) -> str:
        """The table as CSV text."""
        return columns_csv(self.table(**changes))

    def __repr__(self) -> str:
        facts = self.facts
        ended = facts.get("end", "still playing")
        return (
            f"<InspectedEpisode {facts['env_id']} run {facts['run']} checkpoint {facts['checkpoint']} "
            f"seed {facts['seed']}: {len(self)} steps, return {facts.get('return')}, {ended}>"
        )

    def _repr_html_(self) -> str:
        return episode_html(self)
