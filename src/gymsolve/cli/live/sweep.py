"""A sweep while it runs: a table of what trains on a terminal, a line for each event elsewhere."""

import time
from typing import TextIO

from gymsolve.cli.live.block import Block
from gymsolve.jobs.sweeps.ladder import Standing, best_of
from gymsolve.jobs.sweeps.results import TrialRun
from gymsolve.jobs.sweeps.search import Key, Search, TrialChanged
from gymsolve.jobs.sweeps.stored import Sweep
from gymsolve.runs.records import lines_from, parse_record
from gymsolve.runs.run import Run
from gymsolve.text import count, duration, number, plural, setting, sparkline

_DRAW_SECONDS = 0.5
_LINE_SECONDS = 30.0
_CURVE = 16


class _Curve:
    """The evaluations of a run that trains, read as they come."""

    def __init__(self, run: Run) -> None:
        self._path, self._offset = run.path / "metrics.jsonl", 0
        self.env_steps, self.values = 0, list[float]()

    def read_new(self) -> None:
        if not self._path.is_file():
            return
        for line in lines_from(self._path, self._offset):
            self._offset += len(line)
            record = parse_record(line) or {}
            self.env_steps = int(record.get("env_steps") or self.env_steps)
            value = record.get("eval/mean_reward", record.get("rollout/ep_rew_mean"))
            self.values += [value] if value is not None else []


class SweepView:
    """Shows the progress of a search on a stream, if there is one."""

    def __init__(self, search: Search, stream: TextIO | None) -> None:
        self._search, self._block = search, Block(stream)
        self._began = self._next = time.monotonic()
        self._curves: dict[str, _Curve] = {}
        self._settled = sum(run.status != "running" for run in search.runs.values())
        if not self._block.is_live:
            self._block.say(_title(search.sweep))

    def hear(self, change: TrialChanged | None) -> None:
        """Show what happened, and from time to time how far all runs are."""
        if change is not None and not self._block.is_live:
            self._block.say(self._event_line(change))
        now = time.monotonic()
        if self._block.is_live and now >= self._next:
            self._next = now + _DRAW_SECONDS
            self._block.draw(self._lines)
        elif not self._block.is_live and now >= self._next:
            self._next = now + _LINE_SECONDS
            self._block.say(self._summary())

    def close(self) -> None:
        """Leave the final state on the terminal."""
        if self._block.is_live:
            self._block.draw(self._lines)

    def _event_line(self, change: TrialChanged) -> str:
        purpose, trial, seed = change.key
        who, run = f"{_who(purpose, trial)}, seed {seed}", self._search.runs.get(change.key)
        if change.text != "begins":
            return f"{who}: {change.text if run is None else _result(run)}"
        first = run is None and (purpose, seed) == ("trial", self._search.sweep.levels[0].seed)
        values = next(each.values for each in self._search.configurations if each.number == trial)
        listed = ", ".join(f"{path}={setting(value)}" for path, value in values.items())
        return f"{who} {'goes on' if run else 'begins'}{f': {listed}' if listed and first else ''}"

    def _summary(self) -> str:
        standings = self._search.standings()
        wanted = self._search.sweep.trials
        training = plural(len(self._search.training), "run")
        head = f"{len(standings)} of {plural(wanted, 'configuration')}, {training} training"
        best = best_of(standings)
        if best is None:
            return head
        return f"{head}; best so far {_who('trial', best.number)}, {self._best(best)}{self._left()}"

    def _best(self, best: Standing) -> str:
        runs = [run for key, run in self._search.runs.items() if key[:2] == ("trial", best.number)]
        return _result(runs[0]) if runs else "–"

    def _left(self) -> str:
        """An estimate of the time that the search still takes, from the pace of this sitting."""
        seconds, sweep = time.monotonic() - self._began, self._search.sweep
        known = sum(bool(each.scores) for each in self._search.standings().values())
        ended = sum(run.status != "running" for run in self._search.runs.values())
        fresh = ended - self._settled
        if fresh < 3 or known < 3:
            return ""
        left = ended / known * (sweep.trials - known) + 2 * len(sweep.test_seeds)
        left -= sum(key[0] == "test" for key in self._search.runs)
        return f"; some {duration(seconds / fresh * max(0.0, left))} left"

    def _lines(self, height: int) -> list[str]:
        lines = [f"{_title(self._search.sweep)}  {duration(time.monotonic() - self._began)}", self._summary()]
        lines += [self._training_line(key, run) for key, run in self._search.training.items()]
        return lines[: max(2, height - 1)]

    def _training_line(self, key: Key, run: Run | None) -> str:
        head = f"  {_who(key[0], key[1])} seed {key[2]}"
        if run is None:
            return f"{head:<28} starts"
        curve = self._curves.setdefault(run.id, _Curve(run))
        curve.read_new()
        value = number(curve.values[-1]) if curve.values else "–"
        return f"{head:<28} {count(curve.env_steps):>11} steps  {value:>8}  {sparkline(curve.values, _CURVE)}"


def _title(sweep: Sweep) -> str:
    return (
        f"sweep {sweep.id}: {sweep.name}, {plural(sweep.trials, 'configuration')}, {sweep.at_once} at a time"
    )


def _who(purpose: str, trial: int) -> str:
    name = "recipe" if trial == 0 else f"trial {trial}"
    return name if purpose == "trial" else f"test of {name}"


def _result(run: TrialRun) -> str:
    proof = run.solved_by
    if proof is not None:
        return f"solved after {count(proof.env_steps)} steps, {number(proof.seconds, 3)} s"
    if run.is_broken or not run.evaluations:
        return f"{run.status} ({run.reason})"
    reached = f"{number(run.evaluations[-1].mean)} after {count(run.evaluations[-1].env_steps)} steps"
    return f"{reached} ({run.status})" if run.status in ("stopped", "crashed") else reached
