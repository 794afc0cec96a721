"""Trains in the foreground: a screen shows the progress, then the result is printed."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.cli.live.collector import collector_on
from gymsolve.cli.printing.output import heading, print_json, print_table, say
from gymsolve.errors import UsageError
from gymsolve.jobs.request import RunRequest
from gymsolve.jobs.startup_report import announce_error, announce_run, group_of_starter
from gymsolve.text import number

if TYPE_CHECKING:
    from gymsolve.runs.run import Run
    from gymsolve.training.outcome import Outcome


def _begin(run: "Run") -> None:
    """All is imported and built, and training begins."""
    collector_on()
    announce_run(run)


def watch(
    work: "Callable[..., Outcome]", runs_dir: Path | None, *, profile: bool, quiet: bool, json: bool
) -> int:
    """Train while a screen shows the progress, then print the result."""
    from gymsolve.cli.live.console import Watcher, choose_screen, ended_at_once, interruption
    from gymsolve.training.stop import EXIT_CODES, EndAtOnceError, raising

    watcher: Watcher | None = None
    try:
        with raising(), choose_screen(quiet=quiet, json=json) as screen:
            watcher = Watcher(screen, _begin, json=json)
            outcome = work(observer=watcher, command=["gymsolve", *sys.argv[1:]])
    except KeyboardInterrupt as error:  # the second one, or before training: there was no time for a verdict
        run = None if watcher is None else watcher.run
        code = error.exit_code if isinstance(error, EndAtOnceError) else 130
        with _perhaps_nobody_reads():
            say(ended_at_once(str(error) or "interrupted", run), stream=sys.stderr)
            if json:
                print_json(interruption(str(error) or "interrupted", run, code))
        return code
    with _perhaps_nobody_reads():
        _tell_outcome(outcome, runs_dir, profile=profile, json=json)
    return EXIT_CODES.get(outcome.reason, 0)


def watch_trial(request: RunRequest, runs_dir: Path | None) -> int:
    """Train a trial that `gymsolve fix` asks for; its run alone tells what came of it."""
    changes = request.settings()
    from gymsolve.cli.live.console import PlainScreen, Watcher
    from gymsolve.runs.refs import find_run, split_ref
    from gymsolve.training.fork import Fork, fork_run
    from gymsolve.training.stop import EXIT_CODES, raising

    name, checkpoint = split_ref(request.env_or_ref)
    origin = find_run(name, runs_dir)
    assert request.until is not None
    assert request.trial is not None
    fork = Fork(origin, checkpoint, changes, request.until, request.trial, group=group_of_starter())
    with raising():
        watcher, command = Watcher(PlainScreen(None), _begin), ["gymsolve", *sys.argv[1:]]
        _, reason = fork_run(fork, observer=watcher, command=command, trust=request.trust)
    return 0 if reason is None else EXIT_CODES.get(reason, 0)


def _tell_outcome(outcome: "Outcome", runs_dir: Path | None, *, profile: bool, json: bool) -> None:
    from gymsolve.cli.printing.verdict import print_verdict, verdict_lines

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
def _perhaps_nobody_reads() -> Iterator[None]:
    """The terminal may be gone by now, which must not change the exit code."""
    try:
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)  # the interpreter will flush once more
        os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, sys.stderr.fileno())


def _read_split(run: Path) -> dict[str, Any]:
    """What `--profile` wrote, with the path of the sampled stacks."""
    from gymsolve.runs.files import read_json

    return read_json(run / "profile" / "split.json") | {
        "speedscope": str(run / "profile" / "speedscope.json")
    }


def _print_split(split: dict[str, Any]) -> None:
    """Seconds and shares by phase, then where to look closer."""
    from gymsolve.training.profile.sampling import PHASES

    heading(f"Where {number(split['seconds'])} s went")
    rows = [
        (name, number(one["seconds"]), f"{one['share']:.1%}", PHASES[name])
        for name, one in split["phases"].items()
    ]
    print_table(("phase", "seconds", "share", ""), rows, right=("seconds", "share"))
    say(f"\nFor a flame graph, drop this file on https://www.speedscope.app: {split['speedscope']}")
