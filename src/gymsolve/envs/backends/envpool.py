"""The contract over EnvPool, for training only.

EnvPool is another implementation of the environment, so it must agree with the stock one on spaces, and
evaluation never runs on it. Its state cannot be captured. This module changes two of its habits. EnvPool
resets a step late; here each ended row is reset by name, so that every row is valid. And its own time limit
reports an episode that terminates in its last permitted step as truncated; here the limit is counted instead.

Arrays go to and from its C++ side directly (`_send`, `_recv`, `_reset`). The `step` that EnvPool offers in
Python names, nests and masks everything that the C++ side tells, most of which nobody here reads.
"""

import importlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from gymsolve.envs.backends import Fixed, bare_obstacle
from gymsolve.envs.backends.episode_stats import EpisodeStats, refuse_bad_obs, refuse_bad_rewards
from gymsolve.envs.contract import Episode, Step
from gymsolve.envs.families import find_family
from gymsolve.envs.spaces import ObsLayout, action_spec
from gymsolve.errors import ConfigError, MissingExtraError
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import ActionSpec, Array, EnvSpec, Obs

_NO_LIMIT = 2**31 - 1
_TOLD = ("obs", "reward", "done", "info:env_id")
"""Names of the arrays that are read from a pool's state."""
_NOTE = "training steps EnvPool's version of this environment, evaluation the stock one"


def envpool_obstacle(config: EnvConfig) -> str | None:
    """Why EnvPool cannot train this environment, or None."""
    family = find_family(config.id)
    if config.id not in family.envpool:
        own = "".join(f"; its family has the backend `{name}`" for name in family.backends)
        return f"EnvPool has no version of {config.id} that is known to agree with the stock one{own}"
    if obstacle := bare_obstacle(config, "train"):
        return obstacle
    return f"it does not take {', '.join(sorted(config.kwargs))}" if config.kwargs else None


class EnvPoolEnvs(Fixed):
    """`Envs` over a pool of threads that step C++ environments; `stock` describes the real one."""

    no_jumps = "cannot tell where its environments are"

    backend = "envpool"

    def __init__(self, stock: EnvSpec, num_envs: int) -> None:
        self.num_envs = num_envs
        self.spec = replace(stock, notes=(*stock.notes, _NOTE))
        self._make = _import_envpool().make_gymnasium
        self._ids = np.arange(num_envs, dtype=np.int32)  # [N]
        self._pool = self._build([0] * num_envs)
        self._layout = ObsLayout(self._spaces[0])
        self._refuse_other_spaces()
        self._stats = EpisodeStats(num_envs)
        self._limit = stock.max_episode_steps or _NO_LIMIT
        self._valid, self._none = np.ones(num_envs, dtype=bool), np.zeros(num_envs, dtype=bool)  # [N]
        self._valid.flags.writeable = self._none.flags.writeable = False
        self._steps = 0
        self._due = self._limit
        """No episode can reach the limit before this step."""

    def reset(self, seeds: list[int]) -> tuple[Obs, None]:
        # A pool takes seeds only when it is made.
        self._pool.close()
        self._pool = self._build(seeds)
        self._stats.clear()
        self._steps, self._due = 0, self._limit
        self._pool._reset(self._ids)
        return self._take(self._pool._recv()), None

    def step(self, actions: Array) -> Step:
        # An environment's number is also that of its only player.
        self._pool._send([self._ids, self._ids, np.ascontiguousarray(actions, self._action_type)])
        arrays = self._pool._recv()
        self._steps += 1
        obs, rewards, terminated = self._take(arrays), arrays[self._at["reward"]], arrays[self._at["done"]]
        refuse_bad_rewards(rewards, self.spec.id, self._steps)
        self._stats.returns += rewards
        self._stats.lengths += 1
        truncated, ended = self._none, terminated  # [N]
        if self._steps >= self._due:
            truncated = (self._stats.lengths >= self._limit) & ~terminated
            ended = terminated | truncated
        (rows,) = ended.nonzero()
        final_obs: Obs | None = None
        episodes: list[Episode] = []
        if rows.size:
            # Sent before what follows, and received after it: the pool resets meanwhile.
            self._pool._reset(rows.astype(np.int32))
            final_obs = {key: values.copy() for key, values in obs.items()}
            episodes = [self._stats.finish(row, bool(truncated[row])) for row in rows.tolist()]
            arrays = self._pool._recv()
            for key, values in self._take(arrays).items():
                obs[key][arrays[self._at["info:env_id"]]] = values
        if self._steps >= self._due:
            self._due = self._steps + self._limit - int(self._stats.lengths.max())
        return Step(obs, rewards, terminated, truncated, self._valid, final_obs, None, episodes)

    def capture(self) -> None:
        return None

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, None, list[int]]:
        return self.reset(seeds)[0], None, list(range(self.num_envs))

    def render(self) -> list[Array]:
        return []

    def close(self) -> None:
        self._pool.close()

    def _build(self, seeds: list[int]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on the precision of bounds, which are the stock ones here
            pool = self._make(
                self.spec.id,
                num_envs=self.num_envs,
                env_seed=[seed % 2**31 for seed in seeds],
                max_episode_steps=_NO_LIMIT,
            )
            self._spaces = pool.observation_space, pool.action_space  # made, and warned about, when read
        self._at = {name: pool._state_keys.index(name) for name in _TOLD}
        self._action_type = pool._spec._action_spec[-1][0]
        return pool

    def _take(self, arrays: list[Array]) -> Obs:
        """The observations among what the pool tells, whose arrays are new every time."""
        obs = self._layout.batch(arrays[self._at["obs"]], copy=False)
        refuse_bad_obs(obs, self._layout.float_keys, self.spec.id, self._steps)
        return obs

    def _refuse_other_spaces(self) -> None:
        """Same entries and shapes as the stock environment; bounds are often missing in EnvPool."""
        mine = action_spec(self._spaces[1])
        if _shapes(self._layout.specs) == _shapes(self.spec.obs) and _choices(mine) == _choices(
            self.spec.action
        ):
            return
        raise ConfigError(
            f"EnvPool's {self.spec.id} has other spaces than the stock one.", where="env.backend"
        )


def _shapes(specs: dict[str, Any]) -> dict[str, tuple[object, ...]]:
    return {key: (entry.kind, entry.shape, entry.dtype, entry.nvec) for key, entry in specs.items()}


def _choices(action: ActionSpec) -> tuple[object, ...]:
    # EnvPool's bounds are float64 where the stock ones may be float32.
    bounds = tuple(np.float32(bound) for bound in (*action.low, *action.high))
    return action.kind, action.shape, action.nvec, action.start, bounds


def _import_envpool() -> Any:
    try:
        return importlib.import_module("envpool")
    except ImportError as error:
        raise MissingExtraError.of("envpool", "envpool") from error
