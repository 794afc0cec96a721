"""`gymsolve train`, `resume`, `fork` and `stop`: say what will happen, train, say what came of it."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gymsolve.cli.commands.seeds import GROUP, SeedOptions, resume_seeds, train_seeds
from gymsolve.cli.options import Json, Quiet, RunRef, RunsDir, Set, Trust, overrides, trusts
from gymsolve.cli.printing.output import heading, is_terminal, print_json, print_table, say
from gymsolve.errors import UsageError
from gymsolve.service.announce import announce_error, announce_run, group_of_starter
from gymsolve.text import number

if TYPE_CHECKING:
    from gymsolve.runs.run import Run
    from gymsolve.training.planning.plan import Plan
    from gymsolve.training.session import Outcome

__all__ = ["fork", "resume", "stop", "train"]

Steps = Annotated[
    str | None,
    typer.Option("--steps", metavar="N", help="Budget of the whole run in environment steps: 200k, 1e6."),
]
Profile = Annotated[
    bool,
    typer.Option("--profile", help="Write a flame graph and the time of each phase into the run's profile/."),
]
Detach = Annotated[
    bool,
    typer.Option(
        "--detach", help="Train in the background: print the run's id once it has begun, and return."
    ),
]
Confirm = Annotated[
    bool,
    typer.Option(
        "--confirm/--yes",
        " /-y",
        envvar="GYMSOLVE_CONFIRM",
        help="Show the settings and ask before starting.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        metavar="N",
        min=2,
        max=1000,
        help="Train N seeds, --seed being the first; one verdict.",
    ),
]
Track = Annotated[
    str | None,
    typer.Option("--track", metavar="NAMES", help="Also log to csv, tensorboard, wandb, trackio: a,b,…"),
]


def train(
    env: Annotated[
        str,
        typer.Argument(
            metavar="ENV[:VARIANT]", help="A recipe (see `gymsolve recipes`) or any Gymnasium id."
        ),
    ],
    set_: Set = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same run.")] = None,
    seeds: Seeds = None,
    steps: Steps = None,
    start_from: Annotated[
        str | None,
        typer.Option("--from", metavar="RUN[@CHECKPOINT]", help="Begin with the weights of another run."),
    ] = None,
    confirm: Confirm = False,
    track: Track = None,
    profile: Profile = False,
    detach: Detach = False,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Train an agent until the environment is solved or the budget is spent."""
    settings = {"steps": steps, "seed": seed, "track": track}
    if detach:
        _refuse_question(confirm)
        more = {"seeds": seeds, "start_from": start_from, "profile": profile, "runs_dir": runs_dir}
        return _in_background("start_run", env, set_, settings | more, json=json)
    gc.disable()  # until the first step (`_begin`): imports make many objects and no garbage
    changes = overrides(set_, **settings)
    plan = _agreed_plan(env, changes, start_from, show=not (quiet or json), confirm=confirm, json=json)
    if plan is None:
        return 1
    if seeds is not None:
        options = SeedOptions(set_, steps, track, profile, runs_dir, quiet, json, start_from)
        return train_seeds(plan, env, seeds, options)
    from gymsolve.cli.last_resort import settings_known
    from gymsolve.training.session import start_run

    work = partial(
        start_run,
        plan,
        start_from=start_from,
        runs_dir=runs_dir,
        profile=profile,
        group=group_of_starter(),
    )
    with settings_known(plan.config):
        return _watch(work, runs_dir, profile=profile, quiet=quiet, json=json)


def resume(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@CHECKPOINT]",
            help="A run; its last checkpoint unless said otherwise. Or group:ID, all of its seeds.",
        ),
    ],
    set_: Set = None,
    steps: Steps = None,
    fresh_optimizer: Annotated[
        bool, typer.Option("--fresh-optimizer", help="Start with a fresh optimizer state.")
    ] = False,
    track: Track = None,
    profile: Profile = False,
    detach: Detach = False,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Continue a run where a checkpoint left it, optionally with other settings."""
    if not run.startswith(GROUP):
        trust = trusts(run, runs_dir, trust=trust, json=json)
    settings = {"steps": steps, "track": track}
    if detach:
        more = {"fresh_optimizer": fresh_optimizer, "profile": profile, "trust": trust, "runs_dir": runs_dir}
        return _in_background("resume_run", run, set_, settings | more, json=json)
    if run.startswith(GROUP):
        options = SeedOptions(set_, steps, track, profile, runs_dir, quiet, json)
        return resume_seeds(run, replace(options, fresh_optimizer=fresh_optimizer, trust=trust))
    gc.disable()  # as in `train`
    changes = overrides(set_, **settings)
    from gymsolve.training.session import resume_run

    work = partial(
        resume_run,
        run,
        overrides=changes,
        fresh_optimizer=fresh_optimizer,
        runs_dir=runs_dir,
        profile=profile,
        trust=trust,
    )
    return _watch(work, runs_dir, profile=profile, quiet=quiet, json=json)


def fork(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@CHECKPOINT]",
            help="Where to branch off: its last checkpoint unless said otherwise; RUN@0 starts anew.",
        ),
    ],
    set_: Set = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Draw everything from there on anew.")] = None,
    steps: Steps = None,
    track: Track = None,
    profile: Profile = False,
    detach: Detach = False,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Begin a new run in the exact state of another run's checkpoint, with other settings."""
    trust = trusts(run, runs_dir, trust=trust, json=json)
    settings = {"steps": steps, "seed": seed, "track": track}
    if detach:
        more = {"profile": profile, "trust": trust, "runs_dir": runs_dir}
        return _in_background("fork_run", run, set_, settings | more, json=json)
    gc.disable()  # as in `train`
    changes = overrides(set_, **settings)
    from gymsolve.training.fork import branch_run

    work = partial(branch_run, run, overrides=changes, runs_dir=runs_dir, profile=profile, trust=trust)
    return _watch(work, runs_dir, profile=profile, quiet=quiet, json=json)


def _agreed_plan(
    env: str,
    changes: dict[str, Any],
    start_from: str | None,
    *,
    show: bool,
    confirm: bool,
    json: bool,
) -> "Plan | None":
    """The plan, shown and agreed to as far as that was asked for; None if the answer is no."""
    from gymsolve.cli.live.progress import show_progress
    from gymsolve.cli.printing.plan import print_plan
    from gymsolve.training.planning.plan import plan_run

    # A mistake in a name or setting, and the summary, come before torch takes its seconds to load.
    with show_progress(f"looking at {env} with random actions", "steps", quiet=not show and not json) as tell:
        plan = plan_run(env, changes, tell)
    if show or confirm:
        print_plan(plan, start_from, error_stream=json)
    if confirm and not _agreed():
        say("Not started; nothing was written.", stream=sys.stderr)
        return None
    return plan


def _begin(run: "Run") -> None:
    """All is imported and built, and training begins."""
    gc.enable()
    announce_run(run)


def _watch(
    work: "Callable[..., Outcome]", runs_dir: Path | None, *, profile: bool, quiet: bool, json: bool
) -> int:
    """Train while a screen shows the progress, then print the result."""
    from gymsolve.cli.live.console import Watcher, choose_screen, ended_at_once, interruption
    from gymsolve.training.stopping import EXIT_CODES, EndAtOnceError, raising

    watcher: Watcher | None = None
    try:
        with raising(), choose_screen(quiet=quiet, json=json) as screen:
            watcher = Watcher(screen, _begin, json=json)
            outcome = work(observer=watcher, command=_command())
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


def _in_background(
    verb: Literal["start_run", "resume_run", "fork_run"],
    what: str,
    set_: list[str] | None,
    options: dict[str, Any],
    *,
    json: bool,
) -> int:
    """Train in a process of its own, and say which run it is."""
    from gymsolve.service import start as service

    verbs: dict[str, Callable[..., service.StartedRun]] = {
        "start_run": service.start_run,
        "resume_run": service.resume_run,
        "fork_run": service.fork_run,
    }
    started = verbs[verb](what, set_ or (), **options)
    if json:
        print_json(started.to_json())
    else:
        say(started.run)
    return 0


def _refuse_question(confirm: bool) -> None:
    if confirm:
        raise UsageError("a run in the background cannot ask.", where="--detach", hint="Use --yes.")


def _agreed() -> bool:
    if not (is_terminal() and sys.stdin.isatty()):
        raise UsageError("there is no terminal to ask on.", where="--confirm", hint="Use --yes.")
    return typer.confirm("Start training?", default=True, err=True)


def _command() -> list[str]:
    return ["gymsolve", *sys.argv[1:]]


def stop(run: RunRef, runs_dir: RunsDir = None, json: Json = False) -> None:
    """Ask a running training to stop after its current update, leaving a checkpoint."""
    from gymsolve.service import runs as service

    answer = service.stop_run(run, runs_dir)
    if json:
        print_json(answer.to_json())
    else:
        say(f"Asked {answer.run} to stop; it ends after its current update and can be resumed.")


def _read_split(run: Path) -> dict[str, Any]:
    """What `--profile` wrote, with the path of the flame graph."""
    from gymsolve.runs.files import read_json

    return read_json(run / "profile" / "split.json") | {"flame_graph": str(run / "profile" / "flame.html")}


def _print_split(split: dict[str, Any]) -> None:
    """Seconds and shares by phase, then where to look closer."""
    from gymsolve.training.profile.sampling import PHASES

    heading(f"Where {number(split['seconds'])} s went")
    rows = [
        (name, number(one["seconds"]), f"{one['share']:.1%}", PHASES[name])
        for name, one in split["phases"].items()
    ]
    print_table(("phase", "seconds", "share", ""), rows, right=("seconds", "share"))
    say(f"\nflame graph   {split['flame_graph']}")
