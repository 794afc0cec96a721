"""From the metrics of single updates to the records that are written."""

from typing import Any

__all__ = ["Averager", "next_multiple"]


def next_multiple(env_steps: int, every: int) -> int:
    """The next multiple of `every`: cadences do not drift with the size of rollouts."""
    return (env_steps // every + 1) * every


class Averager:
    """Averages `train/…` metrics over the updates since the last record; keeps the latest of others."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.latest: dict[str, float] = {}

    def add(self, metrics: dict[str, float]) -> None:
        sums, counts, latest = self.sums, self.counts, self.latest
        for name, value in metrics.items():
            if name[:6] != "train/":
                latest[name] = value
            elif value == value:  # not NaN
                sums[name] = sums.get(name, 0.0) + value
                counts[name] = counts.get(name, 0) + 1

    def take(self) -> dict[str, float]:
        """The record so far; the next one starts empty."""
        record = {name: total / self.counts[name] for name, total in self.sums.items()} | self.latest
        self.sums, self.counts, self.latest = {}, {}, {}
        return record

    def state(self) -> dict[str, Any]:
        return {"sums": self.sums, "counts": self.counts, "latest": self.latest}

    def load(self, state: dict[str, Any]) -> None:
        self.sums, self.counts = dict(state["sums"]), dict(state["counts"])
        self.latest = dict(state["latest"])
