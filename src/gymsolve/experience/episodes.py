"""Statistics of finished episodes: the last hundred, as is usual in reinforcement learning."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gymsolve.envs.contract import Episode
from gymsolve.parts import Part
from gymsolve.spec import Array


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

    def forget(self) -> None:
        """Begin anew, because episodes are others from now on; how many there were is still known."""
        for one in (self, *self.tasks.values()):
            one.recent.clear()
            one.best, one._measured = -np.inf, None

    @property
    def mean_return(self) -> float | None:
        """Mean raw return over the window; None before the first episode ends."""
        return self._mean(lambda episode: episode.raw_return)

    def _mean(self, told: Callable[[Episode], float | None]) -> float | None:
        """Mean of what the episodes tell; None where none of them does.

        Several tasks count alike, however long their episodes last, and there is no mean before each has one:
        it would be that of the quick ones, and fall when the others join.
        """
        if self.tasks:
            means = [mean for one in self.tasks.values() if (mean := one._mean(told)) is not None]
            return float(np.mean(means)) if len(means) == len(self.tasks) else None
        values = [value for episode in self.recent if (value := told(episode)) is not None]
        return float(np.mean(values)) if values else None

    @property
    def mean_length(self) -> float | None:
        """Mean number of steps over the window; None before the first episode ends."""
        return float(np.mean([e.length for e in self.recent])) if self.recent else None

    def metrics(self) -> dict[str, float]:
        """What is worth logging; how many there were alone, where none has ended yet or all are forgotten."""
        if not self.recent:
            return {"rollout/episodes": float(self.total)}
        if self._measured is None:
            self._measured = self._measure()
        return dict(self._measured)

    def _measure(self) -> dict[str, float]:
        _, raw, shaped, length, truncated, *_ = zip(*self.recent, strict=True)
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
        if self.tasks:
            del measured["rollout/ep_rew_mean"]  # of all episodes, however many of them a task has
            measured |= self._by_task()
        averages = {
            "rollout/ep_rew_mean": self.mean_return if self.tasks else None,
            "rollout/ep_shaped_rew_mean": self._mean(lambda e: e.shaped_return) if raw != shaped else None,
            "rollout/success_rate": self._mean(lambda e: e.success),
        }
        return measured | {name: value for name, value in averages.items() if value is not None}

    def _by_task(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, one in self.tasks.items():
            if one.mean_return is not None and one.mean_length is not None:
                found |= {f"task_return/{name}": one.mean_return, f"task_length/{name}": one.mean_length}
            found[f"task_episodes/{name}"] = float(one.total)
            if (rate := one._mean(lambda e: e.success)) is not None:
                found[f"task_success/{name}"] = rate
        return found

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "recent": [list(e) for e in self.recent],
            "total": self.total,
            "best": self.best if self.best > -np.inf else None,
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
