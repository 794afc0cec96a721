"""Turns the moments of played episodes into data (`runs/episodes.py` is the file)."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from gymsolve.apps.playback import Moment
from gymsolve.experience.learner import Policy
from gymsolve.runs.episodes import RecordedEpisode


def recorded_episodes(
    policy: Policy, moments: list[Moment], facts: dict[str, Any]
) -> Iterator[RecordedEpisode]:
    """Whole episodes from their moments; `facts` are stored with each."""
    for _, episode in groupby(moments, lambda moment: moment.episode):
        yield _recorded(policy, list(episode), facts)


def _recorded(policy: Policy, moments: list[Moment], facts: dict[str, Any]) -> RecordedEpisode:
    taken, last = moments[1:], moments[-1]
    obs = {key: np.concatenate([moment.scene.obs[key] for moment in moments]) for key in last.scene.obs}
    memories = [moment.memory for moment in moments if moment.memory is not None]
    memory = np.concatenate(memories) if memories else None
    masks = [moment.scene.masks for moment in moments[:-1] if moment.scene.masks is not None]
    result = {"episode": last.episode, "length": len(taken), "return": last.scene.raw_return, "end": last.end}
    action = policy.spec.action
    return RecordedEpisode(
        obs=obs,
        actions=np.array([moment.action for moment in taken], action.dtype).reshape(-1, *action.shape),
        rewards=np.array([moment.scene.reward for moment in taken], np.float64),
        returns=np.array([moment.scene.raw_return for moment in taken], np.float64),
        values=np.asarray(policy.values(obs, memory), np.float64),
        masks=np.concatenate(masks) if masks else None,
        facts=facts | result,
    )
