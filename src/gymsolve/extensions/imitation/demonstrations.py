"""Recorded episodes as steps to learn from: observations and actions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gymsolve.errors import ConfigError
from gymsolve.runs.episodes import RecordedEpisode, load_episode
from gymsolve.runs.refs import find_run
from gymsolve.spec import Array, EnvSpec, Obs

_WHERE = "imitate.episodes"


@dataclass(frozen=True)
class Demonstrations:
    """The steps of all episodes, one after the other."""

    obs: Obs  # [B, …]
    actions: Array  # [B, A] in the policy's own units
    masks: Array | None  # [B, mask_size]

    def __len__(self) -> int:
        return len(self.actions)


def load_demonstrations(names: Sequence[str], spec: EnvSpec) -> Demonstrations:
    """Read episodes of runs or files, and check that they fit the spaces of this environment."""
    paths = [path for name in names for path in _find(name)]
    episodes = [load_episode(path) for path in paths]
    for path, episode in zip(paths, episodes, strict=True):
        _require_fit(path, episode, spec)
    actions = np.concatenate([episode.actions for episode in episodes])
    masks = [episode.masks for episode in episodes if episode.masks is not None]
    return Demonstrations(
        obs={key: np.concatenate([episode.obs[key][:-1] for episode in episodes]) for key in spec.obs},
        actions=spec.action.from_env(actions),
        masks=np.concatenate(masks) if spec.masked else None,
    )


def _find(name: str) -> list[Path]:
    """The files of a run, or the file itself."""
    if name.endswith(".npz"):
        path = Path(name)
        if not path.is_file():
            raise ConfigError(f"there is no file {name!r}.", where=_WHERE, hint="Name a run or an .npz file.")
        return [path]
    run = find_run(name, None)
    paths = sorted(run.path.glob("episodes/*.npz"))
    if not paths:
        raise ConfigError(
            f"run {run.id} has no recorded episodes.",
            where=_WHERE,
            hint=f"Record some with: gymsolve record {run.id} --data --episodes 20",
        )
    return paths


def _require_fit(path: Path, episode: RecordedEpisode, spec: EnvSpec) -> None:
    """Refuse an episode of other spaces, naming the first difference."""
    for key, entry in spec.obs.items():
        rows = episode.obs.get(key)
        if rows is None:
            raise ConfigError(f"{path} has no observation {key!r}.", where=_WHERE)
        if rows.shape[1:] != entry.shape:
            raise ConfigError(
                f"{path} has {key!r} of shape {list(rows.shape[1:])}, this environment {list(entry.shape)}.",
                where=_WHERE,
                hint="Record episodes with the same wrappers and frame stack.",
            )
    if episode.actions.shape[1:] != spec.action.shape:
        raise ConfigError(
            f"{path} has actions of shape {list(episode.actions.shape[1:])}, this environment "
            f"{list(spec.action.shape)}.",
            where=_WHERE,
        )
    _require_categories(path, episode, spec)
    if spec.masked and episode.masks is None:
        raise ConfigError(f"{path} does not say which actions were legal.", where=_WHERE)


def _require_categories(path: Path, episode: RecordedEpisode, spec: EnvSpec) -> None:
    """Refuse categories that this environment lacks: they have no column in a network."""
    counted = {f"values of {key!r}": (episode.obs[key], entry.nvec) for key, entry in spec.obs.items()}
    if spec.action.nvec:
        counted["actions"] = spec.action.from_env(episode.actions), spec.action.nvec
    for what, (numbers, choices) in counted.items():
        if not choices:
            continue
        flat = numbers.reshape(len(numbers), -1)
        if flat.dtype.kind not in "iub" or (flat < 0).any() or (flat >= np.array(choices)).any():
            raise ConfigError(
                f"{path} has {what} that this environment has not: it was recorded in another one.",
                where=_WHERE,
            )
