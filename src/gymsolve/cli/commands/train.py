"""`gymsolve train`, `resume` and `fork`: print the plan, train, print the verdict."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from gymsolve.cli.live.collector import collector_off
from gymsolve.cli.live.progress import show_progress
from gymsolve.cli.options import Json, Quiet, RunsDir, Set, Trust, trusts
from gymsolve.cli.printing.output import is_terminal, print_json, say
from gymsolve.cli.printing.plan import print_plan
from gymsolve.errors import UsageError
from gymsolve.jobs.request import RunRequest
from gymsolve.jobs.start import start
from gymsolve.runs.groups import GROUP
from gymsolve.training.planning.plan import Plan, plan_run

Steps = Annotated[
    str | None,
    Option("--steps", metavar="N", help="Budget of the whole run in environment steps: 200k, 1e6."),
]
MaxSeconds = Annotated[
    str | None,
    Option(
        "--max-seconds",
        metavar="TIME",
        help="End after this time, the last evaluation included: 90, 10min, 2h. Several seeds have it each.",
    ),
]
Profile = Annotated[
    bool, Option("--profile", help="Write a flame graph and the time of each phase into the run's profile/.")
]
Detach = Annotated[
    bool,
    Option("--detach", help="Train in the background: print the run's id once it has begun, and return."),
]
Confirm = Annotated[
    bool,
    Option(
        "--confirm/--yes",
        " /-y",
        envvar="GYMSOLVE_CONFIRM",
        help="Show the settings and ask before starting.",
    ),
]
Seeds = Annotated[
    int | None,
    Option(
        "--seeds",
        metavar="N",
        min=2,
        max=1000,
        help="Train N seeds, from --seed on, and judge them together.",
    ),
]
Track = Annotated[
    str | None, Option("--track", metavar="NAMES", help="Also log to csv, tensorboard, wandb, trackio: a,b,…")
]
Until = Annotated[int | None, Option("--until", hidden=True)]
TrialOf = Annotated[str | None, Option("--trial", hidden=True)]


def train(
    env: Annotated[
        str,
        Argument(
            metavar="ENV[:VARIANT]",
            help="A recipe (see `gymsolve recipes`) or any Gymnasium id; ENV:derived uses no recipe.",
        ),
    ],
    set_: Set = None,
    seed: Annotated[int | None, Option("--seed", help="The same seed gives the same run.")] = None,
    seeds: Seeds = None,
    at_once: Annotated[int | None, Option("--at-once", min=1, hidden=True)] = None,
    steps: Steps = None,
    max_seconds: MaxSeconds = None,
    start_from: Annotated[
        str | None,
        Option("--from", metavar="RUN[@CHECKPOINT]", help="Begin with the weights of another run."),
    ] = None,
    confirm: Confirm = False,
    track: Track = None,
    profile: Profile = False,
    detach: Detach = False,
    until: Until = None,
    trial: TrialOf = None,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Train an agent until the environment is solved or the budget is spent."""
    request = RunRequest(
        "train",
        env,
        tuple(set_ or ()),
        seed=seed,
        seeds=seeds,
        at_once=at_once,
        steps=steps,
        max_seconds=max_seconds,
        start_from=start_from,
        track=track,
        profile=profile,
        until=until,
        trial=trial,
    )
    if detach:
        _refuse_question(confirm)
        return _in_background(request, runs_dir, json=json)
    with collector_off():
        plan = _agreed_plan(request, show=not (quiet or json), confirm=confirm, json=json)
        if plan is None:
            return 1
        if seeds is not None:
            from gymsolve.cli.commands.seeds import train_seeds

            return train_seeds(plan, request, runs_dir, quiet=quiet, json=json)
        from gymsolve.cli.live.foreground import train_plan

        return train_plan(plan, request, runs_dir, quiet=quiet, json=json)


def resume(
    run: Annotated[
        str,
        Argument(
            metavar="RUN[@CHECKPOINT]",
            help="A run, from its last checkpoint by default; or group:ID, all of its seeds or requests.",
        ),
    ],
    set_: Set = None,
    steps: Steps = None,
    max_seconds: MaxSeconds = None,
    at_once: Annotated[int | None, Option("--at-once", min=1, hidden=True)] = None,
    fresh_optimizer: Annotated[
        bool, Option("--fresh-optimizer", help="Start with a fresh optimizer state.")
    ] = False,
    track: Track = None,
    profile: Profile = False,
    detach: Detach = False,
    trust: Trust = False,
    until: Until = None,
    trial: TrialOf = None,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Continue a run where a checkpoint left it, optionally with other settings."""
    request = RunRequest(
        "resume",
        run,
        tuple(set_ or ()),
        steps=steps,
        max_seconds=max_seconds,
        track=track,
        profile=profile,
        fresh_optimizer=fresh_optimizer,
        trust=trust,
        at_once=at_once,
        until=until,
        trial=trial,
    )
    if run.startswith(GROUP) and not detach:
        from gymsolve.cli.commands.seeds import resume_seeds

        return resume_seeds(request, runs_dir, quiet=quiet, json=json)
    return _go_on(request, runs_dir, detach=detach, quiet=quiet, json=json)


def fork(
    run: Annotated[
        str,
        Argument(
            metavar="RUN[@CHECKPOINT]",
            help="The run to branch off from, at its last checkpoint by default; RUN@0 is its beginning.",
        ),
    ],
    set_: Set = None,
    seed: Annotated[int | None, Option("--seed", help="Another seed from the checkpoint on.")] = None,
    steps: Steps = None,
    max_seconds: MaxSeconds = None,
    track: Track = None,
    profile: Profile = False,
    detach: Detach = False,
    trust: Trust = False,
    until: Until = None,
    trial: TrialOf = None,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Begin a new run in the exact state of another run's checkpoint, with other settings."""
    request = RunRequest(
        "fork",
        run,
        tuple(set_ or ()),
        seed=seed,
        steps=steps,
        max_seconds=max_seconds,
        track=track,
        profile=profile,
        trust=trust,
        until=until,
        trial=trial,
    )
    return _go_on(request, runs_dir, detach=detach, quiet=quiet, json=json)


def _go_on(request: RunRequest, runs_dir: Path | None, *, detach: bool, quiet: bool, json: bool) -> int:
    """Resume or fork, here or in the background."""
    ref = request.env_or_ref
    if not ref.startswith(GROUP):
        request = replace(request, trust=trusts(ref, runs_dir, trust=request.trust, json=json))
    if detach:
        return _in_background(request, runs_dir, json=json)
    with collector_off():
        changes = request.settings()
        from gymsolve.cli.live.foreground import continue_run, train_trial

        if request.trial is not None and request.verb == "fork":
            return train_trial(request, changes, runs_dir)
        return continue_run(request, changes, runs_dir, quiet=quiet, json=json)


def _agreed_plan(request: RunRequest, *, show: bool, confirm: bool, json: bool) -> Plan | None:
    """The plan, printed and confirmed where that was asked for; None if the answer is no."""
    changes, env = request.settings(), request.env_or_ref
    # A mistake in a name or setting, and the summary, come before torch takes its seconds to load.
    with show_progress(f"looking at {env} with random actions", "steps", quiet=not show and not json) as tell:
        plan = plan_run(env, changes, tell)
    if show or confirm:
        print_plan(plan, request.start_from, request.seeds, error_stream=json)
    if confirm and not _agreed():
        say("Not started; nothing was written.", stream=sys.stderr)
        return None
    return plan


def _in_background(request: RunRequest, runs_dir: Path | None, *, json: bool) -> int:
    """Train in another process, and print the id of the run."""
    started = start(request, runs_dir=runs_dir)
    if json:
        print_json(started.to_json())
    else:
        say(started.run)
        for doubt in started.doubts or ():
            say(doubt, stream=sys.stderr)
    return 0


def _refuse_question(confirm: bool) -> None:
    if confirm:
        raise UsageError("a run in the background cannot ask.", where="--detach", hint="Use --yes.")


def _agreed() -> bool:
    if not (is_terminal() and sys.stdin.isatty()):
        raise UsageError("there is no terminal to ask on.", where="--confirm", hint="Use --yes.")
    return typer.confirm("Start training?", default=True, err=True)
