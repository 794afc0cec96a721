"""Episodes that people played → a Minari dataset, to pre-train from with any tool that reads those.

Observations are those that the agent sees, after the recipe's wrappers, and rewards those that it gets: what
is learned from the dataset fits the environment of the same recipe.
"""

import importlib
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from gymsolve.errors import ConfigError, MissingExtraError, RunDamagedError, UsageError
from gymsolve.runs.demos import Demo
from gymsolve.runs.episodes import RecordedEpisode, load_episode
from gymsolve.spec import ActionSpec, Array, EnvSpec, ObsSpec, find_misfit

_NAME = re.compile(r"([\w-]+/)*[\w-]+-v\d+")


def export_demos(demos: Sequence[Demo], name: str, *, out: Path | None = None) -> dict[str, Any]:
    """Write a dataset of this name, into `out` or where Minari keeps its datasets; what it holds."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' is no name of a dataset.", where="--name", hint="Write it like cartpole/people-v0."
        )
    minari = _load_minari()
    if out is not None:
        os.environ["MINARI_DATASETS_PATH"] = str(out.absolute())
    place = importlib.import_module("minari.storage").get_dataset_path(name)
    if place.exists():
        raise UsageError(f"there is a dataset '{name}' already, at {place}.", where="--name")
    spec = _common_spec(demos)
    episodes = [load_episode(demo.path) for demo in demos]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nobody's mail address is in it
        minari.create_dataset_from_buffers(
            dataset_id=name,
            buffer=[_buffer(episode, spec) for episode in episodes],
            observation_space=_observation_space(spec),
            action_space=_action_space(spec.action),
            algorithm_name="people",
            description=f"Episodes of {spec.id} that people played, recorded by gymsolve.",
            data_format="hdf5",
            jpeg_encoding=False,
        )
    steps = sum(len(episode.rewards) for episode in episodes)
    return {"name": name, "path": str(place), "env_id": spec.id, "episodes": len(episodes), "steps": steps}


def _load_minari() -> Any:
    try:
        importlib.import_module("h5py")
        return importlib.import_module("minari")
    except ImportError as error:
        raise MissingExtraError.of("minari", "minari") from error


def _common_spec(demos: Sequence[Demo]) -> EnvSpec:
    """The spaces that all episodes share."""
    specs = []
    for demo in demos:
        try:
            specs.append(EnvSpec.from_json(demo.facts["spec"]))
        except (KeyError, ValueError) as error:
            raise RunDamagedError("the file is not an episode of a person.", where=str(demo.path)) from error
    for demo, spec in zip(demos, specs, strict=True):
        misfit = f"one is of {spec.id}" if spec.id != specs[0].id else find_misfit(specs[0], spec)
        if misfit is not None:
            raise ConfigError(
                f"episodes of one dataset are alike, and {demo.name} is not: {misfit}.",
                hint="Name those that belong together: gymsolve demos export NAME …",
            )
    return specs[0]


def _buffer(episode: RecordedEpisode, spec: EnvSpec) -> Any:
    kind = importlib.import_module("minari.data_collector.episode_buffer").EpisodeBuffer
    steps, end = len(episode.rewards), episode.facts.get("end")
    last = np.arange(steps) == steps - 1
    obs = {key: _as_environment(values, spec.obs[key]) for key, values in episode.obs.items()}
    return kind(
        seed=episode.facts.get("seed"),
        observations=obs["obs"] if list(obs) == ["obs"] else obs,
        actions=episode.actions,
        rewards=episode.rewards.tolist(),
        terminations=(last & (end == "terminated")).tolist(),
        truncations=(last & (end != "terminated")).tolist(),
        infos=_infos(episode),
    )


def _infos(episode: RecordedEpisode) -> dict[str, Any]:
    """By step, who acted and what the policy would have done; Minari wants a row for the last state, too."""
    infos: dict[str, Any] = {"raw_return": np.concatenate([[0.0], episode.returns])}
    if episode.who is not None:
        infos["by_person"] = np.concatenate([episode.who == "person", [False]])
    if episode.proposed is not None:
        infos["proposed"] = np.concatenate([episode.proposed, np.zeros_like(episode.proposed[:1])])
    return infos


def _as_environment(values: Array, spec: ObsSpec) -> Array:
    """Categories as the environment counts them."""
    return values + np.asarray(spec.start).reshape(spec.shape) if spec.start else values


def _observation_space(spec: EnvSpec) -> spaces.Space[Any]:
    entries = {key: _entry_space(entry) for key, entry in spec.obs.items()}
    return entries["obs"] if list(entries) == ["obs"] else spaces.Dict(entries)


def _entry_space(entry: ObsSpec) -> spaces.Space[Any]:
    if entry.kind == "discrete" and entry.shape == ():
        return spaces.Discrete(entry.nvec[0], start=entry.start[0] if entry.start else 0)
    if entry.kind == "discrete":
        grid: spaces.Space[Any] = spaces.MultiDiscrete(np.array(entry.nvec), start=np.array(entry.start))
        return grid
    low: Any = -np.inf if entry.dtype.startswith("float") else 0
    high: Any = np.inf if entry.dtype.startswith("float") else 255
    if entry.low and entry.kind == "image":
        low, high = entry.low[0], entry.high[0]
    elif entry.low:
        low = np.reshape(entry.low, entry.shape).astype(entry.dtype)
        high = np.reshape(entry.high, entry.shape).astype(entry.dtype)
    return spaces.Box(low, high, entry.shape, dtype=np.dtype(entry.dtype).type)


def _action_space(action: ActionSpec) -> spaces.Space[Any]:
    if action.kind == "discrete":
        return spaces.Discrete(action.nvec[0], start=action.start[0])
    if action.kind == "multi_discrete":
        shape = action.shape
        return spaces.MultiDiscrete(
            np.reshape(action.nvec, shape),
            dtype=np.dtype(action.dtype).type,
            start=np.reshape(action.start, shape),
        )
    if action.kind == "multi_binary":
        return spaces.MultiBinary(action.shape)
    low: Any = np.reshape(action.low, action.shape) if action.bounded else -np.inf
    high: Any = np.reshape(action.high, action.shape) if action.bounded else np.inf
    kind = np.dtype(action.dtype).type
    return spaces.Box(np.asarray(low, kind), np.asarray(high, kind), action.shape, dtype=kind)
