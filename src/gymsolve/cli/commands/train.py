"""`gymsolve train`, `resume`, `fork` and `stop`: say what will happen, train, say what came of it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gymsolve.cli.commands.seeds import GROUP, SeedOptions, resume_seeds, train_seeds
from gymsolve.cli.live.collector import collector_off
from gymsolve.cli.live.foreground import watch
from gymsolve.cli.options import Json, Quiet, RunRef, RunsDir, Set, Trust, overrides, trusts
from gymsolve.cli.printing.output import is_terminal, print_json, say
from gymsolve.errors import UsageError
from gymsolve.jobs.startup_report import group_of_starter

if TYPE_CHECKING:
    from gymsolve.training.planning.plan import Plan
    from gymsolve.training.session import Outcome

Steps = Annotated[
    str | None,
    typer.Option("--steps", metavar="N", help="Budget of the whole run in environment steps: 200k, 1e6."),
]
Profile = Annotated[
    bool,
    typer.Option(
        "--profile", help="Write sampled stacks and the time of each phase into the run's profile/."
    ),
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
    options = SeedOptions(set_, steps, track, profile, runs_dir, quiet, json, start_from)
    with collector_off():
        changes = overrides(set_, **settings)
        plan = _agreed_plan(env, changes, start_from, show=not (quiet or json), confirm=confirm, json=json)
        if plan is None:
            return 1
        return _train_one(plan, options) if seeds is None else train_seeds(plan, env, seeds, options)


def _train_one(plan: "Plan", options: SeedOptions) -> int:
    """Train one seed in this process."""
    from gymsolve.cli.crash_report import settings_known
    from gymsolve.training.session import start_run

    work = partial(
        start_run,
        plan,
        start_from=options.start_from,
        runs_dir=options.runs_dir,
        profile=options.profile,
        group=group_of_starter(),
    )
    with settings_known(plan.config):
        return watch(work, options.runs_dir, profile=options.profile, quiet=options.quiet, json=options.json)


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
    settings = {"steps": steps, "track": track}
    if run.startswith(GROUP) and not detach:
        options = SeedOptions(set_, steps, track, profile, runs_dir, quiet, json)
        return resume_seeds(run, replace(options, fresh_optimizer=fresh_optimizer, trust=trust))
    again = Again(run, set_, settings, {"fresh_optimizer": fresh_optimizer}, detach, quiet, json)
    common = {"profile": profile, "trust": trust, "runs_dir": runs_dir}
    return _go_on("resume_run", again, common)


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
    settings = {"steps": steps, "seed": seed, "track": track}
    common = {"profile": profile, "trust": trust, "runs_dir": runs_dir}
    return _go_on("fork_run", Again(run, set_, settings, {}, detach, quiet, json), common)


@dataclass(frozen=True)
class Again:
    """A training that goes on from a checkpoint: of which run, with which settings, how it is shown."""

    run: str
    set_: list[str] | None
    settings: dict[str, Any]
    """Those that have options of their own."""
    own: dict[str, Any]
    """What only this verb takes."""
    detach: bool
    quiet: bool
    json: bool


def _go_on(verb: Literal["resume_run", "fork_run"], again: Again, common: dict[str, Any]) -> int:
    """Resume or fork, here or in the background; `common` is what both verbs take."""
    runs_dir, json = common["runs_dir"], again.json
    if not again.run.startswith(GROUP):
        common |= {"trust": trusts(again.run, runs_dir, trust=common["trust"], json=json)}
    if again.detach:
        options = again.settings | again.own | common
        return _in_background(verb, again.run, again.set_, options, json=json)
    with collector_off():
        changes = overrides(again.set_, **again.settings)
        from gymsolve.training.fork import branch_run
        from gymsolve.training.session import resume_run

        begin: Callable[..., Outcome] = resume_run if verb == "resume_run" else branch_run
        work = partial(begin, again.run, overrides=changes, **again.own, **common)
        return watch(work, runs_dir, profile=common["profile"], quiet=again.quiet, json=json)


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


def _in_background(
    verb: Literal["start_run", "resume_run", "fork_run"],
    what: str,
    set_: list[str] | None,
    options: dict[str, Any],
    *,
    json: bool,
) -> int:
    """Train in a process of its own, and say which run it is."""
    from gymsolve.jobs import start as service

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


def stop(run: RunRef, runs_dir: RunsDir = None, json: Json = False) -> None:
    """Ask a running training to stop after its current update, leaving a checkpoint."""
    from gymsolve.view import runs as service

    answer = service.stop_run(run, runs_dir)
    if json:
        print_json(answer.to_json())
    else:
        say(f"Asked {answer.run} to stop; it ends after its current update and can be resumed.")
