"""One seed under several checkpoints: where they first do something else, and what came of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gymsolve.apps.inspector.branching import find_difference
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.errors import EnvFaultError


def first_disagreement(one: InspectedEpisode, other: InspectedEpisode) -> int | None:
    """The first step in which the actions differ; None where they never do.

    Up to there both have seen the same, or the environment does not replay.
    """
    shared = min(len(one), len(other))
    differ = np.flatnonzero((one.column("taken")[:shared] != other.column("taken")[:shared]).any(axis=1))
    step = int(differ[0]) if len(differ) else shared
    difference = find_difference(one, other, step, step + 1, policy=False)
    if difference is not None:
        state, name = difference
        raise EnvFaultError(
            f"{one.facts['env_id']} does not replay: on the same seed and after the same actions, {name} of "
            f"state {state} differs, so that episodes of two checkpoints cannot be compared step by step.",
            hint="`gymsolve check` says what an environment does with its seed.",
        )
    return step if len(differ) else None


def compare_episodes(episodes: Sequence[InspectedEpisode]) -> list[dict[str, Any]]:
    """Each episode beside the first one, which is the first of the list."""
    reference = episodes[0]
    return [_beside(reference, one) for one in episodes]


def _beside(reference: InspectedEpisode, one: InspectedEpisode) -> dict[str, Any]:
    step = None if one is reference else first_disagreement(reference, one)
    facts = {key: one.facts.get(key) for key in ("checkpoint", "env_steps", "length", "return", "end")}
    told = {"name": one.stored.name, **facts, "disagrees_at": step}
    if step is None:
        return told
    ours, theirs = (float(episode.values[step]) for episode in (reference, one))
    return told | {
        "labels": [reference.labels[step], one.labels[step]],
        "values": [ours if np.isfinite(ours) else None, theirs if np.isfinite(theirs) else None],
        "to_come": [_to_come(reference, step), _to_come(one, step)],
    }


def _to_come(episode: InspectedEpisode, step: int) -> float:
    """Raw return from a step on."""
    sums = episode.column("raw_return")
    return float(sums[-1] - (sums[step - 1] if step else 0.0))
