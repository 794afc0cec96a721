"""One environment in both versions: spaces, transitions from one state, starts, returns, lengths, ends.

Two samples are compared by Kolmogorov and Smirnov's test; a difference counts below `CHANCE`, which leaves
room for the two hundred tests of a whole run.
"""

import importlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from benchmarks.agreement.states import PLACERS
from gymsolve.envs.backends.envpool import EnvPoolEnvs
from gymsolve.envs.contract import Envs
from gymsolve.envs.describe import describe
from gymsolve.envs.make import make_envs
from gymsolve.errors import ConfigError
from gymsolve.settings.config import EnvConfig

__all__ = ["Comparison", "compare"]

CHANCE = 1e-4
LIMIT = 150
"""Time limit of both, so that some episodes end by it and none takes long."""
COPIES = 16
NEAR, STEPS = 2, 10
"""Steps from one state in both versions: those that are judged, and all. Robots that touch the ground amplify
rounding errors; what becomes of them is judged by whole episodes."""
CLOSE = 5e-4
"""How far the two may be apart, relative to the size of what is compared. Forces on a humanoid that lies on
the ground are 2e-4 apart, since the solver stops there; its state and its reward are much closer."""

Policy = Callable[[Envs, np.ndarray, np.random.Generator], np.ndarray]


@dataclass
class Comparison:
    """What was found; None where a comparison does not apply."""

    id: str
    spaces: bool = True
    drift: float | None = None
    """Largest difference of observations and rewards over NEAR steps from one state."""
    later: float | None = None
    """The same over STEPS steps, which is not judged."""
    ends_differ: int | None = None
    """Steps in which one version ended the episode and the other did not, while they were close."""
    info: str | None = None
    """Parts of the reward in `info`: the same, or what differs."""
    starts: float | None = None
    """Chance of first observations as different as these if both versions begin alike."""
    returns: dict[str, float] = field(default_factory=dict)
    """The same for returns, by policy; lengths likewise."""
    lengths: dict[str, float] = field(default_factory=dict)
    episodes: int = 0
    obstacle: str | None = None
    """Why they are not equivalent; None if they are."""


def compare(env_id: str, episodes: int) -> Comparison:
    """Both versions of an environment, side by side."""
    found = Comparison(env_id)
    if env_id not in importlib.import_module("envpool").list_all_envs():
        found.spaces, found.obstacle = False, "EnvPool has none of that name"
        return found
    config = EnvConfig(id=env_id, num_envs=COPIES, max_episode_steps=LIMIT, backend="sync")
    try:
        _pool(config).close()
    except ConfigError as error:
        found.spaces, found.obstacle = False, error.message.removesuffix(".")
        return found
    if env_id in PLACERS:
        _compare_transitions(found)
    _compare_games(found, config, episodes)
    found.obstacle = _judge(found)
    return found


def _pool(config: EnvConfig) -> Envs:
    """EnvPool's version, whether or not the backend serves it."""
    return EnvPoolEnvs(describe(config, "train").spec, COPIES)


def _judge(found: Comparison) -> str | None:
    if found.drift is not None and found.drift > CLOSE:
        return f"from one state they are {found.drift:.1g} apart after {NEAR} steps"
    if found.ends_differ:
        return f"{found.ends_differ} ends differ"
    if found.starts is not None and found.starts < CHANCE:
        return f"they begin differently (p = {found.starts:.1g})"
    for what, values in (("returns", found.returns), ("lengths", found.lengths)):
        for policy, chance in values.items():
            if chance < CHANCE:
                return f"{what} differ with {policy} actions (p = {chance:.1g})"
    return None


# ------------------------------------------------------------------------------------- transitions


def _compare_transitions(found: Comparison) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on the precision of bounds
        pool = importlib.import_module("envpool").make_gymnasium(found.id, num_envs=COPIES, seed=1)
        obs, info = pool.reset()
    worlds = [gym.make(found.id) for _ in range(COPIES)]
    rng = np.random.default_rng(0)
    found.drift, found.later, found.ends_differ = 0.0, 0.0, 0
    differing: set[str] = set()
    for row, world in enumerate(worlds):
        world.reset(seed=0)
        shown = {key: value[row] for key, value in info.items() if isinstance(value, np.ndarray)}
        PLACERS[found.id](world.unwrapped, obs[row], shown)
    over = np.zeros(COPIES, dtype=bool)
    for number in range(STEPS):
        actions = np.stack([_draw(worlds[0].action_space, rng) for _ in range(COPIES)])
        obs, rewards, terminated, _, info = pool.step(actions)
        for row in np.flatnonzero(~over):
            seen, reward, ended, _, told = worlds[row].step(actions[row])
            size = max(1.0, float(np.abs(seen).max()), abs(float(reward)))
            apart = max(float(np.abs(obs[row] - seen).max()), abs(float(rewards[row]) - float(reward))) / size
            found.later = max(found.later, apart)
            over[row] = ended or terminated[row]
            if number < NEAR:
                found.drift = max(found.drift, apart)
                differing |= _differing(told, info, row)
            if apart < CLOSE:
                found.ends_differ += bool(terminated[row]) != bool(ended)
    found.info = ", ".join(sorted(differing)) or ("the same" if told else None)


def _draw(space: Any, rng: np.random.Generator) -> Any:
    if isinstance(space, gym.spaces.Box):
        return rng.uniform(space.low, space.high).astype(np.float32)
    return int(rng.integers(space.n))


def _differing(told: dict[str, Any], info: dict[str, Any], row: int) -> set[str]:
    """Numbers of the stock environment's `info` that EnvPool does not have, or has otherwise."""
    found = set()
    for key, value in told.items():
        if np.ndim(value):
            continue
        if key not in info:
            found.add(f"no {key}")
        elif not np.isclose(float(info[key][row]), float(value), rtol=1e-3, atol=1e-4):
            found.add(f"other {key}")
    return found


# ------------------------------------------------------------------------------------ whole games


def _random(envs: Envs, obs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    action = envs.spec.action
    if action.kind == "box":
        return action.to_env(rng.uniform(-1, 1, (envs.num_envs, action.size)))
    return action.to_env(rng.integers(action.nvec, size=(envs.num_envs, len(action.nvec))))


def _steady(envs: Envs, obs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An action that follows from the observation: it leads elsewhere than noise."""
    action = envs.spec.action
    flat = np.reshape(obs, (envs.num_envs, -1)).astype(np.float64)
    weights = np.random.default_rng(5).normal(size=(flat.shape[1], max(action.size, sum(action.nvec))))
    wished = np.clip(flat, -5, 5) @ weights
    if action.kind == "box":
        return action.to_env(np.tanh(wished[:, : action.size]))
    return action.to_env(wished[:, : action.nvec[0]].argmax(axis=1)[:, None])


POLICIES: dict[str, Policy] = {"random": _random, "steady": _steady}


def _compare_games(found: Comparison, config: EnvConfig, episodes: int) -> None:
    found.episodes = episodes
    starts = []
    for policy, act in POLICIES.items():
        samples = []
        for envs in (_pool(config), make_envs(config, "train")):
            samples.append(_play(envs, act, episodes))
            envs.close()
        (mine, theirs) = samples
        found.returns[policy] = _chance(mine[0], theirs[0])
        found.lengths[policy] = _chance(mine[1], theirs[1])
        starts.append((mine[2], theirs[2]))
    mine_first, their_first = (np.concatenate([pair[side] for pair in starts]) for side in (0, 1))
    found.starts = _chance_of_starts(mine_first, their_first)


def _play(envs: Envs, act: Policy, episodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns, lengths and first observations of whole episodes, the same number from every copy."""
    share = -(-episodes // envs.num_envs)
    rng = np.random.default_rng(len(envs.backend))
    obs = envs.reset(list(range(100, 100 + envs.num_envs)))[0]["obs"]
    starts = [obs.copy()]
    returns: list[list[float]] = [[] for _ in range(envs.num_envs)]
    lengths: list[list[int]] = [[] for _ in range(envs.num_envs)]
    while min(map(len, returns)) < share:
        step = envs.step(act(envs, obs, rng))
        obs = step.obs["obs"]
        for episode in step.episodes:
            returns[episode.env].append(episode.raw_return)
            lengths[episode.env].append(episode.length)
            starts.append(obs[episode.env : episode.env + 1].copy())
    firsts = np.concatenate(starts).astype(np.float64)
    cut = [np.array([one[:share] for one in kept]).ravel() for kept in (returns, lengths)]
    return cut[0], cut[1], firsts.reshape(len(firsts), -1)


def _chance_of_starts(mine: np.ndarray, theirs: np.ndarray) -> float:
    """The rarest of all elements, times their number."""
    chances = [_chance(mine[:, k], theirs[:, k]) for k in range(mine.shape[1])]
    return min(1.0, min(chances) * len(chances))


def _chance(one: np.ndarray, other: np.ndarray) -> float:
    """How often two samples of one distribution are as far apart as these (Kolmogorov, Smirnov)."""
    values = np.sort(np.concatenate([one, other]))
    below = [np.searchsorted(np.sort(part), values, side="right") / len(part) for part in (one, other)]
    apart = float(np.abs(below[0] - below[1]).max())
    size = math.sqrt(len(one) * len(other) / (len(one) + len(other)))
    reach = (size + 0.12 + 0.11 / size) * apart
    if reach < 0.3:
        return 1.0  # the series converges slowly there, and its sum is 1 to eight digits
    terms = (2 * (-1) ** (k - 1) * math.exp(-2 * k * k * reach * reach) for k in range(1, 101))
    return min(1.0, max(0.0, sum(terms)))
