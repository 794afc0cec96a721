"""`gymsolve train --seeds N` and `gymsolve resume group:ID`: several seeds, one view, one verdict."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gymsolve.cli.commands.queue import resume_queue
from gymsolve.cli.live.collector import collector_on
from gymsolve.cli.live.seeds import SeedsView
from gymsolve.cli.printing.output import heading, print_json, print_pairs, print_whole_table, say
from gymsolve.doctor.lint import doubts_of
from gymsolve.errors import UsageError
from gymsolve.jobs.local import jobs_at_once
from gymsolve.jobs.queue import Event, Stopping, TaskBegun, TaskEnded, TaskFailed, work_off
from gymsolve.jobs.request import RunRequest
from gymsolve.jobs.requested_queue import open_queue
from gymsolve.jobs.seeds import (
    SeedResult,
    SeedsVerdict,
    begin_tasks,
    group_place,
    judge_seeds,
    plan_group,
    resume_tasks,
)
from gymsolve.jobs.startup_report import announce
from gymsolve.runs.groups import Group, find_group
from gymsolve.text import count, number, plural, took
from gymsolve.training.planning.plan import Plan, fix_recordings
from gymsolve.training.stop import EXIT_CODES, EndAtOnceError, StopSignal

_STOPPING = b"\nstopping: all seeds finish the update under way and save; Ctrl-C again does not wait\n"


def train_seeds(plan: Plan, request: RunRequest, runs_dir: Path | None, *, quiet: bool, json: bool) -> int:
    """Train the seeds of a request, from the plan's on, and print the verdict; returns the exit code."""
    plan = fix_recordings(plan, runs_dir)
    group = plan_group(plan, request, runs_dir)
    budget = plan.config.steps, plan.config.budget_in
    training = _Training(group, budget, plan.config.threads, runs_dir, quiet, json, request.at_once)
    return training.work_off(begin_tasks(group))


def resume_seeds(request: RunRequest, runs_dir: Path | None, *, quiet: bool, json: bool) -> int:
    """Continue the seeds of a group that have not ended, or a queue; returns the exit code."""
    queue = open_queue(request.env_or_ref, runs_dir)
    if queue is not None:
        return resume_queue(queue, request, runs_dir, quiet=quiet, json=json)
    group = find_group(request.env_or_ref, runs_dir)
    change = replace(request, at_once=None)
    tasks = resume_tasks(group, change, group_place(group, runs_dir))
    if not tasks:
        gone = " or were deleted" if group.deleted_seeds() else ""
        hint = "Give a larger budget with --steps to train on."
        raise UsageError(f"all seeds of {group.ref} have ended{gone}.", hint=hint)
    begun = list(group.runs().values())
    if not begun:
        raise UsageError(f"no seed of {group.ref} has begun.", hint="Train it anew.")
    config = begun[0].config_json()["config"]
    budget = int(config["steps"]), str(config.get("budget_in", "env_steps"))
    training = _Training(group, budget, int(config["threads"]), runs_dir, quiet, json, request.at_once)
    return training.work_off(tasks)


@dataclass(frozen=True)
class _Training:
    """The seeds of a group while they train, and where their progress is shown."""

    group: Group
    budget: tuple[int, str]
    threads: int
    runs_dir: Path | None
    quiet: bool
    json: bool
    at_once: int | None = None
    """None is as many as there are cores for."""

    def work_off(self, tasks: dict[str, RunRequest]) -> int:
        """Train the seeds and print the verdict; returns the exit code."""
        collector_on()  # this process waits; it begins no training of its own
        jobs = jobs_at_once(self.threads, len(tasks))
        jobs = jobs if self.at_once is None else min(jobs, self.at_once)
        stream = None if self.quiet else sys.stderr if self.json else sys.stdout
        view, stop = SeedsView(self.group, self.budget, jobs, stream), StopSignal()
        place = group_place(self.group, self.runs_dir)
        hear = partial(self._hear, view, stop)
        try:
            reason = work_off(tasks, place, at_once=jobs, on_event=hear, group=self.group.id, stop=stop)
        except KeyboardInterrupt as error:  # the second one
            return _tell_interruption(self.group, error, json=self.json)
        view.close()
        verdict = judge_seeds(self.group, seconds=view.seconds, reason=reason)
        if self.json:
            print_json(verdict.to_json())
        else:
            _print_verdict(verdict, jobs, self.runs_dir)
        return 0 if reason is None else EXIT_CODES.get(reason, 1)

    def _hear(self, view: SeedsView, stop: StopSignal, event: Event) -> None:
        if isinstance(event, TaskFailed) and not view.has_begun:
            raise event.error  # it would stop every other seed, too
        view.hear(event)
        if isinstance(event, TaskBegun):
            # Only the first call has an effect.
            announce(self.group.ref, self.group.path, self.group.log, doubts_of(event.run))
        elif isinstance(event, TaskEnded) and event.run.summary().reason == "stop file":
            stop.request("stop file")  # `gymsolve stop` is for all seeds
        elif isinstance(event, Stopping):
            with suppress(OSError):  # not through the view: the signal may come in the middle of a print
                os.write(2, _STOPPING)
            view.give_way()


def _tell_interruption(group: Group, error: KeyboardInterrupt, *, json: bool) -> int:
    """Tell that a second interrupt ended all seeds before they saved; returns the exit code."""
    code = error.exit_code if isinstance(error, EndAtOnceError) else 130
    hint = f"Go on with: gymsolve resume {group.ref}"
    with suppress(OSError):  # the terminal may be gone, which must not change the exit code
        say(f"stopped at once. {hint}", stream=sys.stderr)
        if json:
            message = str(error) or "stopped by Ctrl-C"
            facts = {"message": message, "where": str(group.path), "hint": hint, "exit_code": code}
            print_json({"error": facts})
    return code


def _print_verdict(verdict: SeedsVerdict, jobs: int, runs_dir: Path | None) -> None:
    heading(f"{_title(verdict)}  {verdict.name}")
    headers = ("seed", "status", "steps", "best", "last", "solved after", "run")
    print_whole_table(
        headers,
        [_row(result) for result in verdict.runs],
        right=headers[2:6],
        expendable=("steps", "solved after", "last"),
    )
    rows = [
        ("returns", f"{_returns(verdict)} ({_needed(verdict)})"),
        ("steps to solve", _steps_to_solve(verdict)),
    ]
    if verdict.seconds:
        rows.append(("time", f"{took(verdict.seconds)}, {jobs} at a time"))
    where = "" if runs_dir is None else f" --runs-dir {runs_dir}"
    rows.append(("next", f"gymsolve runs compare group:{verdict.group}{where}"))
    if any(result.can_go_on for result in verdict.runs):
        rows.append(("", f"gymsolve resume group:{verdict.group}{where}"))
    print_pairs(rows)


def _title(verdict: SeedsVerdict) -> str:
    seeds = len(verdict.seeds)
    ended = sum(result.has_ended for result in verdict.runs)
    rest = "" if ended == seeds else f"; {ended} of {seeds} ran to their end"
    if verdict.threshold is None and verdict.success_needed is None:
        return f"Done: {plural(seeds, 'seed')}{rest}"
    if verdict.solved == seeds:
        return f"SOLVED on all {seeds} seeds"
    return f"Solved on {verdict.solved} of {seeds} seeds{rest}"


def _row(result: SeedResult) -> tuple[str, ...]:
    after = "–" if result.solved_after is None else count(result.solved_after)
    rewards = number(result.best_reward), number(result.final_reward)
    return str(result.seed), result.status, count(result.env_steps), *rewards, after, result.run or "–"


def _returns(verdict: SeedsVerdict) -> str:
    if verdict.iqm is None:
        return "no seed was evaluated"
    finals = [result.final_reward for result in verdict.runs if result.final_reward is not None]
    between = f" (from {number(min(finals))} to {number(max(finals))})" if len(finals) > 1 else ""
    median = "" if verdict.low is None else f", median {number(verdict.low)} to {number(verdict.high)} (95 %)"
    means = f"interquartile mean {number(verdict.iqm)}{between}{median}, mean {number(verdict.mean)}"
    return f"last evaluations of {plural(verdict.judged, 'seed')}: {means}"


def _needed(verdict: SeedsVerdict) -> str:
    if verdict.success_needed is not None:
        return f"{verdict.success_needed:.0%} successes needed"
    return "no threshold is known" if verdict.threshold is None else f"threshold {number(verdict.threshold)}"


def _steps_to_solve(verdict: SeedsVerdict) -> str:
    spread = verdict.steps_to_solve
    if spread is None:
        return "–"
    low, middle, high = (count(spread[name]) for name in ("min", "median", "max"))
    return f"median {middle}, from {low} to {high} ({plural(verdict.solved, 'seed')})"
