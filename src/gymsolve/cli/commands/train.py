"""`gymsolve train`, `resume` and `stop`: say what will happen, train, say what came of it."""

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymsolve.cli.options import Json, Quiet, RunRef, RunsDir, Set, overrides
from gymsolve.cli.printing.output import heading, is_terminal, print_json, print_table, say
from gymsolve.errors import UsageError
from gymsolve.service.announce import announce_run
from gymsolve.text import number

if TYPE_CHECKING:
    from gymsolve.runs.run import Run
    from gymsolve.service.start import StartedRun
    from gymsolve.training.observer import Observer
    from gymsolve.training.session import Outcome

__all__ = ["resume", "stop", "train"]

_STOPPED = {"interrupt": 130, "stop file": 130, "terminated": 143}

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
    steps: Steps = None,
    start_from: Annotated[
        str | None,
        typer.Option("--from", metavar="RUN[@CHECKPOINT]", help="Begin with the weights of another run."),
    ] = None,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm/--yes",
            " /-y",
            envvar="GYMSOLVE_CONFIRM",
            help="Show the settings and ask before starting.",
        ),
    ] = False,
    track: Track = None,
    profile: Profile = False,
    detach: Detach = False,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Train an agent until the environment is solved or the budget is spent."""
    if detach:
        _refuse_question(confirm)
        from gymsolve.service import start as service

        return _tell_started(
            service.start_run(
                env,
                set_ or (),
                seed=seed,
                steps=steps,
                start_from=start_from,
                track=track,
                profile=profile,
                runs_dir=runs_dir,
            ),
            json=json,
        )
    gc.disable()  # until the first step (`_begin`): imports make many objects and no garbage
    changes = overrides(set_, steps=steps, seed=seed, track=track)
    from gymsolve.cli.printing.plan import print_plan
    from gymsolve.training.planning.plan import plan_run

    # A mistake in a name or setting, and the summary, come before torch takes its seconds to load.
    plan = plan_run(env, changes)
    if not (quiet or json) or confirm:
        print_plan(plan, start_from, error_stream=json)
    if confirm and not _agreed():
        say("Not started; nothing was written.", stream=sys.stderr)
        return 1
    from gymsolve.cli.last_resort import settings_known
    from gymsolve.training.session import start_run

    with settings_known(plan.config):
        return _watch(
            lambda observer: start_run(
                plan,
                start_from=start_from,
                runs_dir=runs_dir,
                observer=observer,
                command=_command(),
                profile=profile,
            ),
            runs_dir,
            profile=profile,
            quiet=quiet,
            json=json,
        )


def resume(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN[@CHECKPOINT]", help="A run; its last checkpoint unless said otherwise."),
    ],
    set_: Set = None,
    steps: Steps = None,
    fresh_optimizer: Annotated[
        bool, typer.Option("--fresh-optimizer", help="Start with a fresh optimizer state.")
    ] = False,
    track: Track = None,
    profile: Profile = False,
    detach: Detach = False,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Continue a run where a checkpoint left it, optionally with other settings."""
    if detach:
        from gymsolve.service import start as service

        return _tell_started(
            service.resume_run(
                run,
                set_ or (),
                steps=steps,
                fresh_optimizer=fresh_optimizer,
                track=track,
                profile=profile,
                runs_dir=runs_dir,
            ),
            json=json,
        )
    gc.disable()  # as in `train`
    changes = overrides(set_, steps=steps, track=track)
    from gymsolve.training.session import resume_run

    return _watch(
        lambda observer: resume_run(
            run,
            overrides=changes,
            fresh_optimizer=fresh_optimizer,
            runs_dir=runs_dir,
            observer=observer,
            command=_command(),
            profile=profile,
        ),
        runs_dir,
        profile=profile,
        quiet=quiet,
        json=json,
    )


def _begin(run: "Run") -> None:
    """All is imported and built, and training begins."""
    gc.enable()
    announce_run(run)


def _watch(
    work: "Callable[[Observer], Outcome]", runs_dir: Path | None, *, profile: bool, quiet: bool, json: bool
) -> int:
    """Train while a screen shows the progress, then print the result."""
    from gymsolve.cli.live.console import Watcher, choose_screen
    from gymsolve.cli.printing.verdict import print_verdict, verdict_lines

    try:
        with choose_screen(quiet=quiet, json=json) as screen:
            outcome = work(Watcher(screen, _begin))
    except KeyboardInterrupt:  # the second one: there was no time for a verdict
        say("interrupted; go on with: gymsolve resume @last", stream=sys.stderr)
        return 130
    lines = verdict_lines(outcome, runs_dir)
    outcome.run.log("\n".join(lines))
    split = _read_split(outcome.run.path) if profile else None
    if json:
        print_json(outcome.to_json() | ({} if split is None else {"profile": split}))
    else:
        print_verdict(outcome, lines)
        if split is not None:
            _print_split(split)
    return _STOPPED.get(outcome.reason, 0)


def _tell_started(started: "StartedRun", *, json: bool) -> int:
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
