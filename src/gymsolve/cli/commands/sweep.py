"""`gymsolve sweep`: search settings on several seeds, and test whether any beats the recipe."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from gymsolve.cli.live.collector import collector_on
from gymsolve.cli.live.progress import show_progress
from gymsolve.cli.live.sweep import SweepView
from gymsolve.cli.options import Json, Quiet, RunsDir, Set, Trust
from gymsolve.cli.printing.output import print_json, print_whole_table, say
from gymsolve.cli.printing.sweep import print_plan, print_report
from gymsolve.jobs.sweeps.planning import SweepRequest, plan_sweep
from gymsolve.jobs.sweeps.report import SweepReport
from gymsolve.jobs.sweeps.search import Search, Tell
from gymsolve.service import sweeps
from gymsolve.training.stop import EXIT_CODES, EndAtOnceError

SweepRef = Annotated[str, Argument(metavar="SWEEP", help="A sweep: its id or a unique part of it, or @last.")]
Trials = Annotated[
    int | None, Option("--trials", min=2, help="Configurations to try, the recipe among them; 30 by default.")
]
AtOnce = Annotated[
    int | None, Option("--at-once", min=1, help="Runs that train at a time; one per core by default.")
]
_STOPPING = b"\nstopping: all runs finish the update under way and save; Ctrl-C again does not wait\n"


def start(
    env: Annotated[str, Argument(metavar="ENV[:VARIANT]", help="The recipe to begin with, as for `train`.")],
    search: Annotated[
        list[str] | None,
        Option(
            "--search",
            metavar="PATH=RANGE|FILE",
            help="Search this, such as algo.learning_rate=log(1e-5,1e-2), or the ranges of a YAML file. "
            "Repeatable. By default the recipe's ranges, or derived ones.",
        ),
    ] = None,
    trials: Trials = None,
    set_: Set = None,
    steps: Annotated[
        str | None, Option("--steps", metavar="N", help="Budget of a whole trial: 200k, 1e6.")
    ] = None,
    sampler: Annotated[
        str, Option("--sampler", help="Proposes configurations: tpe, gp, cmaes, qmc or random.")
    ] = "tpe",
    objective: Annotated[
        str | None,
        Option(
            "--for", metavar="WHAT", help="Better means fewer steps or seconds to solve, or a higher return."
        ),
    ] = None,
    seeds: Annotated[int, Option("--seeds", min=1, help="Seeds on which the best configurations race.")] = 3,
    test_seeds: Annotated[
        int, Option("--test-seeds", min=1, help="Fresh seeds of the final test; fewer than 4 prove nothing.")
    ] = 5,
    rungs: Annotated[
        int | None,
        Option("--rungs", min=1, help="Parts of the budget after which the best go on; 1 stops none."),
    ] = None,
    at_once: AtOnce = None,
    seed: Annotated[int, Option("--seed", help="The first seed, also of the sampler.")] = 0,
    write: Annotated[bool, Option("--write", help="Write a winner that is proved into recipes/.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Say what would be searched; train nothing.")] = False,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Search settings, and test on fresh seeds whether any beats the recipe; `sweep ENV` for short."""
    request = SweepRequest(
        env,
        tuple(set_ or ()),
        tuple(search or ()),
        trials=30 if trials is None else trials,
        steps=steps,
        sampler=sampler,
        objective=objective,
        seeds=seeds,
        test_seeds=test_seeds,
        rungs=rungs,
        at_once=at_once,
        seed=seed,
    )
    shown = not (quiet or json)
    with show_progress(
        f"looking at {env} with random actions", "steps", quiet=not shown and not json
    ) as tell:
        planned = plan_sweep(request, runs_dir, tell)
    if dry_run:
        plan = sweeps.describe_plan(planned)
        print_json(plan.to_json()) if json else print_plan(plan)
        return 0
    if shown:
        print_plan(sweeps.describe_plan(planned))
    return _watch(
        lambda show: sweeps.begin_sweep(planned, show),
        planned.id,
        runs_dir,
        quiet=quiet,
        json=json,
        write=write,
    )


def resume(
    sweep: SweepRef,
    trials: Trials = None,
    test_seeds: Annotated[
        int | None, Option("--test-seeds", min=1, help="Fresh seeds of the final test, if more than it had.")
    ] = None,
    at_once: AtOnce = None,
    write: Annotated[bool, Option("--write", help="Write a winner that is proved into recipes/.")] = False,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Go on with a sweep that was stopped or killed, or with more configurations."""

    def work(show: sweeps.Show) -> tuple[SweepReport, Any]:
        return sweeps.resume_sweep(
            sweep, show, runs_dir, trials=trials, test_seeds=test_seeds, at_once=at_once, trust=trust
        )

    return _watch(work, sweep, runs_dir, quiet=quiet, json=json, write=write)


def list_sweeps(runs_dir: RunsDir = None, json: Json = False) -> None:
    """List sweeps, the newest first."""
    listed = sweeps.survey_sweeps(runs_dir)
    if json:
        print_json([each.to_json() for each in listed])
    elif not listed:
        say("No sweep yet. Begin one with: gymsolve sweep CartPole-v1")
    else:
        rows = [(each.sweep, each.state, each.objective, str(each.runs), str(each.wanted)) for each in listed]
        print_whole_table(
            ("sweep", "state", "for", "runs", "configurations"), rows, right=("runs", "configurations")
        )


def show(sweep: SweepRef, runs_dir: RunsDir = None, json: Json = False) -> None:
    """Show the best configurations of a sweep, the settings that matter, and what is proved."""
    report = sweeps.show_sweep(sweep, runs_dir)
    print_json(report.to_json()) if json else print_report(report)


def stop(sweep: SweepRef, runs_dir: RunsDir = None, json: Json = False) -> None:
    """Ask a sweep to stop; its runs save, and `gymsolve sweep resume` goes on."""
    stopped = sweeps.stop_sweep(sweep, runs_dir)
    if json:
        print_json(stopped.to_json())
    else:
        say(f"Asked {stopped.sweep} to stop. Go on with: gymsolve sweep resume {stopped.sweep}")


def write(sweep: SweepRef, runs_dir: RunsDir = None, json: Json = False) -> None:
    """Write the winner into recipes/ as the variant `…_tuned`, with the evidence; only if it is proved."""
    written = sweeps.write_winner(sweep, runs_dir)
    if json:
        print_json(written.to_json())
    else:
        say(f"Wrote {written.path}. Train it with: gymsolve train {written.recipe}")


def _watch(work: Any, ref: str, runs_dir: Path | None, *, quiet: bool, json: bool, write: bool) -> int:
    """Work on a sweep while a view shows it, and print the report; returns the exit code."""
    collector_on()  # this process waits; it begins no training of its own
    stream = None if quiet else sys.stderr if json else sys.stdout
    views: list[SweepView] = []

    def show(search: Search) -> Tell:
        views.append(SweepView(search, stream))
        search.on_stopping = _say_stopping
        return views[0].hear

    try:
        report, reason = work(show)
    except KeyboardInterrupt as error:  # the second one
        code = error.exit_code if isinstance(error, EndAtOnceError) else 130
        hint = f"Go on with: gymsolve sweep resume {ref}"
        with suppress(OSError):
            say(f"interrupted. {hint}", stream=sys.stderr)
            if json:
                facts = {
                    "message": str(error) or "interrupted",
                    "where": ref,
                    "hint": hint,
                    "exit_code": code,
                }
                print_json({"error": facts})
        return code
    views[0].close()
    print_json(report.to_json()) if json else print_report(report)
    proved = report.claim is not None and report.claim.verdict == "better"
    if write and proved:
        written = sweeps.write_winner(report.sweep, runs_dir)
        say(
            f"Wrote {written.path}. Train it with: gymsolve train {written.recipe}",
            stream=stream or sys.stderr,
        )
    return 0 if reason is None else EXIT_CODES.get(reason, 1)


def _say_stopping() -> None:
    with suppress(OSError):
        os.write(2, _STOPPING)
