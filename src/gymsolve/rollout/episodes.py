"""Statistics of finished episodes: the last hundred, as is usual in reinforcement learning."""

from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from gymsolve.envs.contract import Episode
from gymsolve.parts import Part
from gymsolve.spec import Array

__all__ = ["EpisodeWindow"]


class EpisodeWindow(Part):
    """The most recent episodes and how many there were in all."""

    def __init__(self, size: int = 100, tasks: Iterable[str] = ()) -> None:
        """Of several `tasks`, each has a window of its own besides."""
        self.tasks = {name: EpisodeWindow(size) for name in tasks}
        self.recent: deque[Episode] = deque(maxlen=size)
        self.total = 0
        self.best = -np.inf
        self._measured: dict[str, float] | None = None
        """Kept until another episode ends: a record is made after every update, however short."""

    def add(self, episodes: Iterable[Episode]) -> None:
        for episode in episodes:
            if episode.jumped:
                continue  # it did not begin at a reset, so its return says nothing
            self._measured = None
            if episode.task in self.tasks:
                self.tasks[episode.task].add([episode._replace(task="")])
            self.recent.append(episode)
            self.total += 1
            self.best = max(self.best, episode.raw_return)

    @property
    def mean_return(self) -> float | None:
        """Mean raw return over the window; None before the first episode ends.

        Of several tasks, each of which an episode has ended counts alike, however long its episodes last.
        """
        if self.tasks and self.recent:
            return float(np.mean([one.mean_return for one in self.tasks.values() if one.recent]))
        return float(np.mean([e.raw_return for e in self.recent])) if self.recent else None

    @property
    def mean_length(self) -> float | None:
        """Mean number of steps over the window; None before the first episode ends."""
        return float(np.mean([e.length for e in self.recent])) if self.recent else None

    def metrics(self) -> dict[str, float]:
        """What is worth logging; nothing before the first episode ends."""
        if not self.recent:
            return {"rollout/episodes": 0.0}
        if self._measured is None:
            self._measured = self._measure()
        return dict(self._measured)

    def _measure(self) -> dict[str, float]:
        _, raw, shaped, length, truncated, success, *_ = zip(*self.recent, strict=True)
        both = np.array([raw, length], np.float64)  # [2, episodes]
        means = np.add.reduce(both, axis=1) / len(raw)
        away = both - means[:, None]
        stds = np.sqrt(np.add.reduce(away * away, axis=1) / len(raw))
        measured = {
            "rollout/episodes": float(self.total),
            "rollout/ep_rew_mean": float(means[0]),
            "rollout/ep_rew_std": float(stds[0]),
            "rollout/ep_rew_min": float(min(raw)),
            "rollout/ep_rew_max": float(max(raw)),
            "rollout/ep_rew_last": float(raw[-1]),
            "rollout/ep_rew_best": float(self.best),
            "rollout/ep_len_mean": float(means[1]),
            "rollout/ep_len_std": float(stds[1]),
            "rollout/truncated_share": sum(truncated) / len(raw),
        }
        if self.tasks and self.mean_return is not None:
            measured["rollout/ep_rew_mean"] = self.mean_return
            measured |= self._by_task()
        if raw != shaped:
            measured["rollout/ep_shaped_rew_mean"] = float(np.mean(shaped))
        successes = [one for one in success if one is not None]
        if successes:
            measured["rollout/success_rate"] = float(np.mean(successes))
        return measured

    def _by_task(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, one in self.tasks.items():
            if one.mean_return is not None and one.mean_length is not None:
                found |= {f"task_return/{name}": one.mean_return, f"task_length/{name}": one.mean_length}
            found[f"task_episodes/{name}"] = float(one.total)
            successes = [e.success for e in one.recent if e.success is not None]
            if successes:
                found[f"task_success/{name}"] = float(np.mean(successes))
        return found

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "recent": [list(e) for e in self.recent],
            "total": self.total,
            "best": self.best if self.total else None,
        }
        return found | (
            {"tasks": {name: one.state() for name, one in self.tasks.items()}} if self.tasks else {}
        )

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self.recent = deque((Episode(*e) for e in state["recent"]), maxlen=self.recent.maxlen)
        self.total = int(state["total"])
        self.best = -np.inf if state["best"] is None else float(state["best"])
        for name, saved in state.get("tasks", {}).items():
            if name in self.tasks:
                self.tasks[name].load({}, saved)
        self._measured = None
        self.metrics()  # what cannot be measured is no episode: noticed here, rather than while training
        self._measured = None
        return []
