"""Compares episodes of several checkpoints on one seed: the first other action, and its result."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gymsolve.apps.inspector.branching import does_not_replay, find_difference
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode


def first_disagreement(reference: InspectedEpisode, other: InspectedEpisode) -> int | None:
    """The first step in which the actions differ; None where they never do.

    All states before are equal; otherwise the environment does not replay, which is an error.
    """
    shared = min(len(reference), len(other))
    ours, theirs = (episode.column("taken")[:shared] for episode in (reference, other))
    differ = np.flatnonzero((ours != theirs).any(axis=1))
    step = int(differ[0]) if len(differ) else shared
    difference = find_difference(reference, other, step, step + 1, policy=False)
    if difference is not None:
        state, name = difference
        reason = "episodes of two checkpoints cannot be compared step by step"
        raise does_not_replay(other, f"{name} of state {state} differs, so that {reason}")
    return step if len(differ) else None


def compare_episodes(episodes: Sequence[InspectedEpisode]) -> list[dict[str, Any]]:
    """Each episode compared with the first, which is the first of the list."""
    return [_compare(episodes[0], episode) for episode in episodes]


def _compare(reference: InspectedEpisode, episode: InspectedEpisode) -> dict[str, Any]:
    step = None if episode is reference else first_disagreement(reference, episode)
    facts = {key: episode.facts.get(key) for key in ("checkpoint", "env_steps", "length", "return", "end")}
    result = {"name": episode.stored.name, **facts, "disagrees_at": step}
    if step is None:
        return result
    both = (reference, episode)
    values = [float(played.values[step]) for played in both]
    return result | {
        "labels": [played.labels[step] for played in both],
        "values": [value if np.isfinite(value) else None for value in values],
        "to_come": [_to_come(played, step) for played in both],
    }


def _to_come(episode: InspectedEpisode, step: int) -> float:
    """Raw return from a step on."""
    sums = episode.column("raw_return")
    return float(sums[-1] - (sums[step - 1] if step else 0.0))
