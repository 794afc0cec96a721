"""`gymsolve fix`: try the remedy of an alert beside the original settings, and say whether it helped."""

import sys
from typing import Annotated

from typer import Argument, Option

from gymsolve.cli.options import Json, Quiet, RunRef, RunsDir, Trust, trusts
from gymsolve.cli.printing.output import heading, print_json, print_pairs, say
from gymsolve.cli.printing.verdict import steps_of_budget
from gymsolve.doctor.fix import FixPlan, plan_fix
from gymsolve.errors import UsageError
from gymsolve.jobs.trials import KeptPromise, SideResult, Trial, TriedFix, try_fix
from gymsolve.metrics.wording import remedy_text
from gymsolve.runs.run import Run
from gymsolve.settings.schedules import parse_amount
from gymsolve.text import count, number, plural, score, size
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
        int, Option("--seeds", min=1, help="Trials with and without the remedy, each with another seed.")
    ] = 2,
    max_seconds: Annotated[
        float | None, Option("--max-seconds", min=1, help="Longest training of each trial.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Say what would be tried, train nothing.")] = False,
    at_once: Annotated[int | None, Option("--at-once", min=1, hidden=True)] = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Try the remedy of an alert: train with and without it from the last healthy checkpoint, and compare."""
    plan = plan_fix(run, alert, steps=_amount(steps), seeds=seeds, max_seconds=max_seconds, runs_dir=runs_dir)
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
        _print_result(tried, plan.run)
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


def _print_result(tried: TriedFix, run: Run) -> None:
    seeds = len(tried.seeds)
    heading(_WORDS[tried.verdict])
    rows = [("original", _side(tried.original, seeds)), ("changed", _side(tried.changed, seeds))]
    if tried.promise is not None:
        rows.append(("expected", _kept(tried.promise, tried.effect)))
    print_pairs([*rows, ("how sure", _certainty(tried))])
    if tried.verdict == "helped":
        spent = steps_of_budget(run, int(tried.checkpoint or 0) + tried.steps)
        more = "" if spent < run.info()["steps"] else f" --steps {size(2 * spent)}"
        changed = [trial for trial in tried.trials if trial.side == "changed"]
        best = max(changed, key=lambda trial: trial.rank)
        say(f"go on with it: gymsolve resume {best.run}{more}")


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


def _certainty(tried: TriedFix) -> str:
    seeds = len(tried.seeds)
    if tried.chance is None and seeds == 1:
        return "one seed cannot tell; try --seeds 4"
    if tried.chance is None:
        return "the seeds overlap or differ too little"
    return (
        f"every seed of one side beats every seed of the other; with {plural(seeds, 'seed')} "
        f"chance alone does that 1 time in {number(1 / tried.chance)}"
    )
