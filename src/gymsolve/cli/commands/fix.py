"""`gymsolve fix`: try the remedy of an alert beside the original settings, and say whether it helped."""

import shlex
import sys
from typing import Annotated

from typer import Argument, Option

from gymsolve.cli.options import Json, Quiet, RunRef, RunsDir, Trust, seconds_of, trusts
from gymsolve.cli.printing.output import heading, print_json, print_pairs, say
from gymsolve.doctor.fix import SEEDS, FixPlan, plan_fix
from gymsolve.errors import UsageError
from gymsolve.jobs.trials import KeptPromise, SideResult, Trial, TriedFix, application, try_fix
from gymsolve.metrics.wording import remedy_text
from gymsolve.settings.schedules import parse_amount
from gymsolve.text import count, number, plural, score
from gymsolve.training.stop import EXIT_CODES, EndAtOnceError

_NOTHING = "stopped before there was anything to compare; nothing was recorded"
_WORDS = {"helped": "The remedy helped", "hurt": "The remedy hurt", "unclear": "No clear difference"}


def fix(
    run: RunRef,
    alert: Annotated[
        str | None,
        Argument(metavar="ALERT", help="Id of an alert that fired; the first root cause by default."),
    ] = None,
    steps: Annotated[
        str | None,
        Option(
            "--steps",
            metavar="N",
            help="Steps of each trial; a tenth of the run's budget by default, or a few evaluations.",
        ),
    ] = None,
    seeds: Annotated[
        int,
        Option(
            "--seeds",
            min=1,
            help="Seeds of the trials with and without the remedy; fewer than 4 show no difference.",
        ),
    ] = SEEDS,
    max_seconds: Annotated[
        str | None, Option("--max-seconds", metavar="TIME", help="Time limit of each trial: 90, 10min, 2h.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Say what would be tried, train nothing.")] = False,
    at_once: Annotated[int | None, Option("--at-once", min=1, hidden=True)] = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Try the remedy of an alert: train with and without it from the last healthy checkpoint, and compare."""
    limit = seconds_of(max_seconds, least=1.0)
    plan = plan_fix(run, alert, steps=_amount(steps), seeds=seeds, max_seconds=limit, runs_dir=runs_dir)
    if plan.obstacle is not None or dry_run:
        if json:
            print_json(plan.answer().to_json())
        else:
            _print_plan(plan)
        return 0
    if not (quiet or json):
        _print_plan(plan)
    trust = trusts(str(plan.run.path), runs_dir, trust=trust, json=json)
    stream = sys.stderr if json else sys.stdout
    try:
        tried = try_fix(
            plan,
            on_trial=None if quiet else lambda trial: say(_trial_line(trial), stream=stream),
            trust=trust,
            at_once=at_once,
        )
    except EndAtOnceError as error:  # the second signal, which does not wait for the update under way
        say(_NOTHING, stream=sys.stderr)
        return error.exit_code
    if isinstance(tried, str):
        say(_NOTHING, stream=sys.stderr)
        return EXIT_CODES[tried]
    if json:
        print_json(tried.to_json())
    else:
        _print_result(tried, plan)
    return 0


def _amount(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(parse_amount(text))
    except OverflowError as error:
        raise UsageError(f"{text[:40]} is no number of steps.", where="--steps") from error
    except ValueError as error:
        raise UsageError(f"{error}.", where="--steps") from error


def _trial_line(trial: Trial) -> str:
    result = "crashed" if trial.status == "crashed" else f"return {number(trial.reward)}"
    return f"  {trial.side:<8}  seed {trial.seed}  {result}  {trial.run}"


def _print_plan(plan: FixPlan) -> None:
    say(plan.run.id)
    if plan.obstacle is not None or plan.alert is None:
        say(f"nothing to try: {plan.obstacle}")
        return
    begin = "step 0" if plan.checkpoint is None else f"checkpoint {plan.checkpoint}"
    trials = plural(2 * len(plan.seeds), "trial")
    rows = [
        ("alert", f"{plan.alert.id}: {plan.alert.title}, since step {count(plan.alert.onset)}"),
        ("remedy", remedy_text({"changes": [vars(change) for change in plan.changes]}).removeprefix("try ")),
        ("expect", plan.alert.effect or "–"),
        ("from", f"{begin}, {trials} of {count(plan.steps)} steps, seeds {', '.join(map(str, plan.seeds))}"),
        *(("note", note) for note in plan.notes),
    ]
    print_pairs(rows)


def _print_result(tried: TriedFix, plan: FixPlan) -> None:
    seeds = len(tried.seeds)
    heading(_WORDS[tried.verdict])
    rows = [("original", _side(tried.original, seeds)), ("changed", _side(tried.changed, seeds))]
    if tried.difference is not None:
        rows.append(("difference", _difference(tried)))
    if tried.promise is not None:
        rows.append(("expected", _kept(tried.promise, tried.effect)))
    print_pairs([*rows, ("how sure", tried.certainty)])
    if tried.verdict == "helped":
        say(f"apply it: {shlex.join(['gymsolve', *application(plan).words()])}")
    elif tried.verdict == "unclear" and tried.seeds_needed is not None and tried.seeds_needed > seeds:
        say(f"to know more: gymsolve fix {tried.run} {tried.alert} --seeds {tried.seeds_needed}")


def _difference(tried: TriedFix) -> str:
    between = "" if tried.low is None else f" (95 % interval {number(tried.low)} to {number(tried.high)})"
    return f"{number(tried.difference)} in the middle of all pairs of trials{between}"


def _side(side: SideResult, seeds: int) -> str:
    returns = f"mean return {score(side.mean_reward, side.spread)} over {plural(seeds, 'seed')}"
    crashed = f", {side.crashed} crashed" if side.crashed else ""
    return f"{returns}, the alert came in {side.fired} of {seeds}{crashed}"


def _kept(promise: KeptPromise, effect: str) -> str:
    before, after = number(promise.original), number(promise.changed)
    values = f"{promise.metric} {before} with the original settings, {after} with the changed ones"
    if promise.kept is None or not promise.of:
        return f"{effect}: {values}"
    return f"{effect}: so on {promise.kept} of {plural(promise.of, 'seed')} ({values})"
