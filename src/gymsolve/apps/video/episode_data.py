"""Records episodes as data while a policy plays them (`runs/episodes.py` is the file)."""

from typing import Any

import numpy as np

from gymsolve.apps.playback import Moment
from gymsolve.experience.learner import Policy
from gymsolve.runs.episodes import RecordedEpisode


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
