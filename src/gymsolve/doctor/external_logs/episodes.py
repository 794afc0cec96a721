"""Turns single episodes, as Monitor files and CleanRL log them, into records over a window of a hundred."""

import math
import statistics
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

_WINDOW = 100
_MOST_RECORDS = 1000


class LoggedEpisode(NamedTuple):
    """One finished episode."""

    env_steps: int
    """Steps of all environments when it ended."""
    total: float
    length: float | None
    seconds: float | None = None


def episode_records(episodes: Sequence[LoggedEpisode]) -> list[dict[str, Any]]:
    """Statistics of the window at most a thousand times, under the names that our own runs use."""
    every = max(1, math.ceil(len(episodes) / _MOST_RECORDS))
    recent: deque[LoggedEpisode] = deque(maxlen=_WINDOW)
    best = -math.inf
    records = []
    for number, episode in enumerate(episodes, start=1):
        recent.append(episode)
        best = max(best, episode.total)
        if number % every == 0 or number == len(episodes):
            records.append(_record(recent, number, best))
    return records


def _record(recent: deque[LoggedEpisode], number: int, best: float) -> dict[str, Any]:
    newest, returns = recent[-1], [episode.total for episode in recent]
    lengths = [episode.length for episode in recent if episode.length is not None]
    record: dict[str, Any] = {
        "env_steps": newest.env_steps,
        "rollout/episodes": float(number),
        **_moments("rollout/ep_rew", returns),
        "rollout/ep_rew_min": min(returns),
        "rollout/ep_rew_max": max(returns),
        "rollout/ep_rew_last": newest.total,
        "rollout/ep_rew_best": best,
    }
    if lengths:
        record |= _moments("rollout/ep_len", lengths)
    if newest.seconds is not None:
        record["time/elapsed"] = newest.seconds
    return record


def _moments(name: str, values: list[float]) -> dict[str, float]:
    """Mean and spread; NaN where a logged value is not finite, which `statistics` cannot take."""
    sound = all(map(math.isfinite, values))
    mean = statistics.fmean(values) if sound else math.nan
    std = math.sqrt(statistics.fmean([(value - mean) ** 2 for value in values])) if sound else math.nan
    return {f"{name}_mean": mean, f"{name}_std": std}
