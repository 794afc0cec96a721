"""One recorded episode as data: what was seen, done, earned and expected, step by step, in one file.

`episodes/<name>.npz` holds plain arrays and one JSON text; reading it runs no code from it. Row t of
`actions` was chosen on row t of `obs`; `obs` and `values` have one row more, for the state at the end.
"""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.errors import RunDamagedError
from gymsolve.runs.files import replace_bytes, to_json
from gymsolve.spec import Array
from gymsolve.training.engines.contract import Policy
from gymsolve.training.play.moments import Moment

__all__ = ["EpisodeRecorder", "RecordedEpisode", "load_episode"]


@dataclass(frozen=True)
class RecordedEpisode:
    """T steps of one environment."""

    obs: dict[str, Array]  # [T + 1, ...], as the policy saw them
    actions: Array  # [T, *shape], as the environment took them
    rewards: Array  # [T], as the agent saw them
    returns: Array  # [T], sum of the stock environment's rewards so far
    values: Array  # [T + 1], as the policy expected
    masks: Array | None  # [T, mask_size]
    facts: dict[str, Any]
    """`end` (terminated, truncated or cut), `length`, `return`, and whatever else the recorder was told."""

    def save(self, path: Path) -> None:
        arrays: dict[str, Any] = {f"obs/{key}": values for key, values in self.obs.items()}
        arrays |= {"actions": self.actions, "rewards": self.rewards}
        arrays |= {"returns": self.returns, "values": self.values}
        if self.masks is not None:
            arrays["masks"] = self.masks
        held = io.BytesIO()
        np.savez_compressed(held, facts=np.array(to_json(self.facts)), **arrays)
        replace_bytes(path, held.getvalue())


def load_episode(path: Path) -> RecordedEpisode:
    """An episode from its file."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        facts = json.loads(str(arrays.pop("facts")))
        seen = [name for name in arrays if name.startswith("obs/")]
        obs = {name.removeprefix("obs/"): arrays.pop(name) for name in seen}
        masks = arrays.pop("masks", None)
        return RecordedEpisode(obs=obs, masks=masks, facts=facts, **arrays)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise RunDamagedError("the file is not a recorded episode.", where=str(path)) from error


class EpisodeRecorder:
    """Collects the moments of episodes."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._moments: list[list[Moment]] = []

    def add(self, moment: Moment) -> None:
        if moment.step == 0:
            self._moments.append([])
        self._moments[-1].append(moment)

    def episodes(self, facts: dict[str, Any]) -> list[RecordedEpisode]:
        """What was collected; `facts` are stored with each."""
        return [self._episode(moments, facts) for moments in self._moments]

    def _episode(self, moments: list[Moment], facts: dict[str, Any]) -> RecordedEpisode:
        taken, last = moments[1:], moments[-1].scene
        seen = [moment.scene.obs for moment in moments]
        obs = {key: np.concatenate([one[key] for one in seen]) for key in seen[0]}
        memories = [moment.memory for moment in moments if moment.memory is not None]
        memory = np.concatenate(memories) if memories else None
        masks = [moment.scene.masks for moment in moments[:-1] if moment.scene.masks is not None]
        end = "terminated" if last.terminated else "truncated" if last.truncated else "cut"
        told = {"episode": moments[0].episode, "length": len(taken), "return": last.raw_return, "end": end}
        action = self.policy.spec.action
        return RecordedEpisode(
            obs=obs,
            actions=np.array([moment.action for moment in taken], action.dtype).reshape(-1, *action.shape),
            rewards=np.array([moment.scene.reward for moment in taken], np.float64),
            returns=np.array([moment.scene.raw_return for moment in taken], np.float64),
            values=np.asarray(self.policy.values(obs, memory), np.float64),
            masks=np.concatenate(masks) if masks else None,
            facts=facts | told,
        )
