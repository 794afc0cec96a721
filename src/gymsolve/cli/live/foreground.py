"""Trains in the foreground: a screen shows the progress, then the result is printed. Heavy to import."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from gymsolve.cli.command_start import command_began
from gymsolve.cli.crash_report import settings_known
from gymsolve.cli.live.collector import collector_on
from gymsolve.cli.live.console import PlainScreen, Watcher, choose_screen, ended_at_once, interruption
from gymsolve.cli.printing.only_json import unwritten
from gymsolve.cli.printing.output import heading, print_json, print_table, say
from gymsolve.cli.printing.verdict import print_verdict, verdict_lines
from gymsolve.doctor.lint import doubts_of
from gymsolve.errors import UsageError
from gymsolve.jobs.request import RunRequest
from gymsolve.jobs.startup_report import announce_error, announce_run, group_of_starter
from gymsolve.runs.files import read_json
from gymsolve.runs.refs import find_run, split_ref
from gymsolve.runs.run import Run
from gymsolve.text import number
from gymsolve.training.fork import Fork, branch_run, fork_run
from gymsolve.training.outcome import Outcome
from gymsolve.training.planning.plan import Plan
from gymsolve.training.profile.sampling import PHASES
from gymsolve.training.session import TrialSitting, resume_run, start_run
from gymsolve.training.stop import EXIT_CODES, EndAtOnceError, raising

Changes = dict[str, Any]
_NOBODY_READS = (errno.EPIPE, errno.EIO)
"""How the system says that a reader has left, or a terminal is gone."""


def train_plan(plan: Plan, request: RunRequest, runs_dir: Path | None, *, quiet: bool, json: bool) -> int:
    """Train a new run; returns the exit code, as all functions here do."""
    group = group_of_starter()
    trial = None if request.trial is None else TrialSitting(request.until, group or request.trial)
    begin = partial(start_run, plan, start_from=request.start_from, group=group, trial=trial)
    work = partial(begin, runs_dir=runs_dir, profile=request.profile, began=command_began())
    with settings_known(plan.config):
        return _watch(work, runs_dir, profile=request.profile, quiet=quiet, json=json)


def continue_run(
    request: RunRequest, changes: Changes, runs_dir: Path | None, *, quiet: bool, json: bool
) -> int:
    """Resume a run, or fork it."""
    begin: Callable[..., Outcome] = partial(branch_run, group=group_of_starter())
    if request.verb == "resume":
        trial = None if request.trial is None else TrialSitting(request.until, request.trial)
        begin = partial(resume_run, fresh_optimizer=request.fresh_optimizer, trial=trial)
    options = {"runs_dir": runs_dir, "profile": request.profile, "trust": request.trust}
    work = partial(begin, request.env_or_ref, overrides=changes, began=command_began(), **options)
    return _watch(work, runs_dir, profile=request.profile, quiet=quiet, json=json)


def train_trial(request: RunRequest, changes: Changes, runs_dir: Path | None) -> int:
    """Train a trial that `gymsolve fix` asks for; nothing is printed, its run holds the result."""
    name, checkpoint = split_ref(request.env_or_ref)
    origin = find_run(name, runs_dir)
    assert request.until is not None
    assert request.trial is not None
    fork = Fork(origin, checkpoint, changes, request.until, request.trial, group=group_of_starter())
    with raising():
        watcher, command = Watcher(PlainScreen(None), _begin), ["gymsolve", *sys.argv[1:]]
        began, trust = command_began(), request.trust
        _, reason = fork_run(fork, observer=watcher, command=command, trust=trust, began=began)
    return 0 if reason is None else EXIT_CODES.get(reason, 0)


def _begin(run: Run) -> None:
    """Collect garbage again and report the run to its starter: training begins."""
    collector_on()
    announce_run(run, doubts_of(run))


def _watch(
    work: Callable[..., Outcome], runs_dir: Path | None, *, profile: bool, quiet: bool, json: bool
) -> int:
    """Train while a screen shows the progress, then print the result."""
    watcher: Watcher | None = None
    try:
        with raising(), choose_screen(quiet=quiet, json=json) as screen:
            watcher = Watcher(screen, _begin, json=json)
            outcome = work(observer=watcher, command=["gymsolve", *sys.argv[1:]])
    except KeyboardInterrupt as error:  # the second one, or before training: there was no time for a verdict
        run, text = None if watcher is None else watcher.run, str(error) or "stopped by Ctrl-C"
        code = error.exit_code if isinstance(error, EndAtOnceError) else 130
        with _perhaps_nobody_reads(run):
            say(ended_at_once(text, run), stream=sys.stderr)
            if json:
                print_json(interruption(text, run, code))
        return code
    with _perhaps_nobody_reads(outcome.run):
        _print_outcome(outcome, runs_dir, profile=profile, json=json)
    return EXIT_CODES.get(outcome.reason, 0)


def _print_outcome(outcome: Outcome, runs_dir: Path | None, *, profile: bool, json: bool) -> None:
    lines = verdict_lines(outcome, runs_dir)
    split = None
    if outcome.nothing_to_do is None:
        outcome.run.log("\n".join(lines))
        split = _read_split(outcome.run.path) if profile else None
    else:
        announce_error(UsageError(f"there is nothing to do: {outcome.nothing_to_do}."))
    if json:
        print_json(outcome.to_json() | ({} if split is None else {"profile": split}))
        return
    if outcome.nothing_to_do is not None:
        say(f"Nothing to do, and nothing was changed: {outcome.nothing_to_do}.")
    print_verdict(outcome, lines)
    if split is not None:
        _print_split(split)


@contextmanager
def _perhaps_nobody_reads(run: Run | None) -> Iterator[None]:
    """Ignore a reader or a terminal that is gone: the exit code stays the same. A full disk is an error."""
    try:
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        if error.errno not in _NOBODY_READS:
            hint = None if run is None else f"The run is complete; it is told by: gymsolve runs show {run.id}"
            raise unwritten(error, hint) from error
        nowhere = os.open(os.devnull, os.O_WRONLY)  # the interpreter will flush once more
        os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, sys.stderr.fileno())


def _read_split(run: Path) -> dict[str, Any]:
    """The seconds by phase that `--profile` wrote, with the path of the sampled stacks."""
    folder = run / "profile"
    return read_json(folder / "split.json") | {"speedscope": str(folder / "speedscope.json")}


def _print_split(split: dict[str, Any]) -> None:
    heading(f"Where {number(split['seconds'])} s went")
    rows = [
        (name, number(phase["seconds"]), f"{phase['share']:.1%}", PHASES[name])
        for name, phase in split["phases"].items()
    ]
    print_table(("phase", "seconds", "share", ""), rows, right=("seconds", "share"))
    say(f"\nFor a flame graph, drop this file on https://www.speedscope.app: {split['speedscope']}")
