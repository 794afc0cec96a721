"""Several seeds while they train: a row for each on a terminal, lines elsewhere."""

import time
from dataclasses import dataclass
from typing import Any, TextIO

from gymsolve.cli.live.block import Block
from gymsolve.jobs.queue import Event, TaskBegun, TaskEnded, TaskFailed, Tick
from gymsolve.metrics.training_returns import CUT_SHARE, remark, training_unit
from gymsolve.runs.groups import Group
from gymsolve.runs.records import lines_from, parse_record
from gymsolve.runs.run import Run
from gymsolve.text import count, duration, number

_DRAW_SECONDS = 0.5
_LINE_SECONDS = (10.0, 60.0)


@dataclass
class _Row:
    """The progress of one seed."""

    seed: int
    run: Run | None = None
    status: str = "waiting"
    offset: int = 0
    """Bytes of its metrics that have been read."""
    env_steps: int = 0
    vec_steps: int = 0
    evaluation: float | None = None
    best: float | None = None
    training: float | None = None
    cut_share: float | None = None
    unit: str = ""
    """`per point` where training episodes are parts of games."""

    def read_new(self) -> None:
        """Read the records since the last call; a line that is still being written comes later."""
        path = None if self.run is None else self.run.path / "metrics.jsonl"
        if path is None or not path.is_file():
            return
        for line in lines_from(path, self.offset):
            self.offset += len(line)
            self._take(parse_record(line) or {})

    def _take(self, record: dict[str, Any]) -> None:
        self.env_steps = int(record.get("env_steps") or self.env_steps)
        self.vec_steps = int(record.get("vec_steps") or self.vec_steps)
        if (training := record.get("rollout/ep_rew_mean")) is not None:
            self.training, self.cut_share = training, record.get(CUT_SHARE)
        reward = record.get("eval/mean_reward")
        if reward is not None:
            self.evaluation = reward
            self.best = reward if self.best is None else max(self.best, reward)

    def cells(self, budget: int, budget_in: str) -> str:
        text = f"seed {self.seed:<4} {self.status:<9}"
        if self.run is None:
            return text
        taken, unit = self.env_steps, "steps"
        if budget_in != "env_steps":
            taken, unit = self.vec_steps, "vector steps"
        text += f" {count(taken):>11} of {count(budget)} {unit}"
        text += f"  evaluated {number(self.evaluation):>7}  best {number(self.best):>7}"
        return text + f"  training {number(self.training):>7}{remark(self.unit, self.cut_share)}"


class SeedsView:
    """Shows the events of seeds on a stream, if there is one."""

    def __init__(self, group: Group, budget: tuple[int, str], jobs: int, stream: TextIO | None) -> None:
        self._rows = {seed: _Row(seed) for seed in group.seeds}
        self._title = f"{group.name}  {len(group.seeds)} seeds, {jobs} at a time  {group.ref}"
        self._budget, self._block = budget, Block(stream)
        self._began = time.monotonic()
        self._next = self._began + (0.0 if self._block.is_live else _LINE_SECONDS[0])
        self.has_begun = False
        """A seed has begun in this sitting."""
        for seed, run in group.runs().items():  # those of an earlier sitting
            self._rows[seed].run, self._rows[seed].status = run, run.status
        if not self._block.is_live:
            self._block.say(self._title)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def hear(self, event: Event) -> None:
        """Show an event of a seed; the keys of the queue are seeds."""
        match event:
            case TaskBegun(key, run):
                self._show_begin(int(key), run)
            case TaskEnded(key, run):
                self._show_end(int(key), run)
            case TaskFailed(key, error):
                self._rows[int(key)].status = "failed"
                self._block.give_way()
                self._block.say(f"seed {key} could not begin: {error}")
            case Tick():
                self._refresh()

    def _show_begin(self, seed: int, run: Run) -> None:
        self.has_begun = True
        self._rows[seed].run, self._rows[seed].status = run, "training"
        self._rows[seed].unit = training_unit(run.config_json()["config"]["env"])
        if not self._block.is_live:
            self._block.say(f"seed {seed} begins: {run.path}")

    def _show_end(self, seed: int, run: Run) -> None:
        row, summary = self._rows[seed], run.summary()
        row.read_new()
        row.status = summary.status
        if not self._block.is_live:
            reason = "" if summary.reason in (None, summary.status) else f" ({summary.reason})"
            best = f"best evaluation {number(row.best)}"
            self._block.say(f"seed {seed} {row.status}{reason}: {best}, {count(summary.env_steps)} steps")

    def _refresh(self) -> None:
        now = time.monotonic()
        if self._block.is_gone or now < self._next:
            return
        for row in self._rows.values():
            row.read_new()
        if self._block.is_live:
            self._next = now + _DRAW_SECONDS
            self._block.draw(self._lines)
        else:
            shortest, longest = _LINE_SECONDS
            self._next = now + min(longest, max(shortest, self.seconds / 20))
            active = [row.cells(*self._budget) for row in self._rows.values() if row.status == "training"]
            self._block.say("\n".join(active))

    def give_way(self) -> None:
        """Draw below what is there: something was written past this view."""
        self._block.give_way()

    def close(self) -> None:
        """Leave the final state on the terminal."""
        self._next = 0.0
        if self._block.is_live:
            self._refresh()

    def _lines(self, height: int) -> list[str]:
        # Where there are more seeds than lines, those that train are shown first.
        rows, room = list(self._rows.values()), max(2, height - 3)
        if len(rows) > room:
            rows = sorted(rows, key=lambda row: row.status != "training")[:room]
        return [f"{self._title}  {duration(self.seconds)}", *(row.cells(*self._budget) for row in rows)]
