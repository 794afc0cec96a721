"""Statistics of finished episodes: the last hundred, as is usual in reinforcement learning."""

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gymsolve.envs.contract import Episode
from gymsolve.metrics.training_returns import CUT_SHARE
from gymsolve.parts import Part
from gymsolve.spec import Array


class EpisodeWindow(Part):
    """The most recent episodes and how many there were in all."""

    def __init__(self, size: int = 100, tasks: Iterable[str] = ()) -> None:
        """Each of several `tasks` has a window of its own besides."""
        self.tasks = {name: EpisodeWindow(size) for name in tasks}
        self.recent: deque[Episode] = deque(maxlen=size)
        self.total = 0
        self.best = -np.inf
        self.cuts: deque[tuple[int, int]] = deque()
        """Episodes that faults cut since the oldest one here began, with the total before each of them."""
        self.was_cut = False
        """Faults have ever cut one."""
        self._measured: dict[str, float] | None = None
        """Kept until another episode ends, since a record is made after every update."""

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

    def lose(self, number: int) -> None:
        """Faults have cut so many episodes; nobody knows what they would have returned."""
        if not number:
            return
        self.was_cut = True
        if self.cuts and self.cuts[-1][0] == self.total:
            number += self.cuts.pop()[1]
        self.cuts.append((self.total, number))
        self._measured = None

    @property
    def cut_share(self) -> float:
        """Share of the episodes since the oldest one here that faults cut: the others are a selection."""
        while self.cuts and self.cuts[0][0] < self.total - len(self.recent):
            self.cuts.popleft()
        lost = sum(number for _, number in self.cuts)
        return lost / (lost + len(self.recent)) if lost else 0.0

    def forget(self) -> None:
        """Drop all episodes but their count, since later ones are of another kind."""
        for window in (self, *self.tasks.values()):
            window.recent.clear()
            window.cuts.clear()
            window.best, window._measured = -np.inf, None

    @property
    def mean_return(self) -> float | None:
        """Mean raw return over the window; None before the first episode ends."""
        return self._mean(lambda episode: episode.raw_return)

    def _mean(self, measure: Callable[[Episode], float | None]) -> float | None:
        """Mean of a measure over the episodes that have it; None where none does.

        Several tasks count alike, however long their episodes last. There is no mean before each task has
        one: it would be that of tasks with short episodes.
        """
        if self.tasks:
            means = [mean for window in self.tasks.values() if (mean := window._mean(measure)) is not None]
            return float(np.mean(means)) if len(means) == len(self.tasks) else None
        values = [value for episode in self.recent if (value := measure(episode)) is not None]
        return float(np.mean(values)) if values else None

    @property
    def mean_length(self) -> float | None:
        """Mean number of steps over the window; None before the first episode ends."""
        return float(np.mean([e.length for e in self.recent])) if self.recent else None

    def metrics(self) -> dict[str, float]:
        """Metrics by name; only the number of episodes where the window is empty."""
        if not self.recent:
            return {"rollout/episodes": float(self.total)} | self._lost()
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
            del measured["rollout/ep_rew_mean"]  # it weighs tasks by their number of episodes
            measured |= self._by_task()
        averages = {
            "rollout/ep_rew_mean": self.mean_return if self.tasks else None,
            "rollout/ep_shaped_rew_mean": self._mean(lambda e: e.shaped_return) if raw != shaped else None,
            "rollout/success_rate": self._mean(lambda e: e.success),
        }
        known = {name: value for name, value in averages.items() if value is not None}
        return measured | known | self._lost()

    def _lost(self) -> dict[str, float]:
        return {CUT_SHARE: self.cut_share} if self.was_cut else {}

    def _by_task(self) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for name, window in self.tasks.items():
            if window.mean_return is not None and window.mean_length is not None:
                metrics |= {
                    f"task_return/{name}": window.mean_return,
                    f"task_length/{name}": window.mean_length,
                }
            metrics[f"task_episodes/{name}"] = float(window.total)
            if (rate := window._mean(lambda e: e.success)) is not None:
                metrics[f"task_success/{name}"] = rate
        return metrics

    def state(self) -> dict[str, Any]:
        best = self.best if self.best > -np.inf else None
        own: dict[str, Any] = {"recent": [list(e) for e in self.recent], "total": self.total, "best": best}
        if self.was_cut:
            own["cuts"] = [list(cut) for cut in self.cuts]
        tasks = {name: window.state() for name, window in self.tasks.items()}
        return own | {"tasks": tasks} if tasks else own

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self.recent = deque((Episode(*e) for e in state["recent"]), maxlen=self.recent.maxlen)
        self.total = int(state["total"])
        self.best = -np.inf if state["best"] is None else float(state["best"])
        self.was_cut = "cuts" in state
        self.cuts = deque((int(total), int(number)) for total, number in state.get("cuts", []))
        for name, saved in state.get("tasks", {}).items():
            if name in self.tasks:
                self.tasks[name].load({}, saved)
        self._measured = None
        numbers = [number for episode in self.recent for number in episode if isinstance(number, float)]
        if not all(map(math.isfinite, numbers)):
            raise ValueError("an episode whose numbers are not finite")
        self.metrics()  # a damaged episode raises here, not while training
        self._measured = None
        return []
