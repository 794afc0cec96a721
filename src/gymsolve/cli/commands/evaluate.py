"""`gymsolve eval`: play whole episodes with a trained policy."""

from typing import Annotated, Any

from typer import Option

from gymsolve.cli.live.progress import show_progress
from gymsolve.cli.options import Json, PolicyRef, RunsDir, Trust, trusts
from gymsolve.cli.printing.output import print_json, print_pairs, say
from gymsolve.service.evaluation import Evaluation, describe_evaluation
from gymsolve.text import count, number, score

_SEEDS = {
    "fresh": "fresh ones, not those that chose the checkpoint (--run-seeds plays those)",
    "run": "the run's own: the best checkpoint was chosen on them and looks better than it is",
}
Steps = Annotated[
    int | None,
    Option(
        "--steps",
        min=1,
        help="Play whole episodes of this many steps in all instead (up to a quarter or an episode more).",
    ),
]
RunSeeds = Annotated[
    bool,
    Option(
        "--run-seeds",
        help="Play the episodes that chose the best checkpoint; it looks better on them than it is.",
    ),
]
Sampled = Annotated[
    bool | None,
    Option(
        "--stochastic/--deterministic",
        help="Sample actions, or take the likeliest; by default as the run's own evaluations do.",
    ),
]
AsTrained = Annotated[
    bool,
    Option(
        "--as-trained",
        help="Play the episodes again with wrappers that only training has, such as sticky actions.",
    ),
]


def evaluate(
    run: PolicyRef,
    episodes: Annotated[int, Option("--episodes", min=1, help="How many to play.")] = 100,
    steps: Steps = None,
    stochastic: Sampled = None,
    seed: Annotated[
        int | None, Option("--seed", min=0, help="Draw the episodes from this seed instead of the run's own.")
    ] = None,
    trust: Trust = False,
    run_seeds: RunSeeds = False,
    as_trained: AsTrained = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Play whole, fresh episodes with a trained policy and report their raw returns."""
    from gymsolve.apps.loaded_policy import evaluate_run

    trust = trusts(run, runs_dir, trust=trust, json=json)
    likeliest = None if stochastic is None else not stochastic
    how: dict[str, Any] = {"seed": seed, "deterministic": likeliest, "run_seeds": run_seeds}
    options = how | {"episodes": episodes, "steps": steps, "runs_dir": runs_dir, "trust": trust}
    results = []
    for wrapped in (False, True) if as_trained else (False,):
        with show_progress("evaluating", "episodes" if steps is None else "steps") as on_step:
            result, policy = evaluate_run(run, as_trained=wrapped, on_step=on_step, **options)
            results.append(result)
    evaluation = describe_evaluation(results[0], policy, *results[1:], **how)
    if json:
        print_json(evaluation.to_json())
    else:
        tasks, stages = max(1, len(policy.config.env.tasks)), policy.config.curriculum.names
        wanted = episodes * tasks if steps is None else None
        _print_evaluation(evaluation, wanted, stages[-1] if stages else None)


def _print_evaluation(evaluation: Evaluation, wanted: int | None, goal: str | None) -> None:
    """`wanted` is the number of episodes asked for, `goal` the last stage of a curriculum."""
    say(f"{evaluation.run}@{evaluation.checkpoint}")
    of = "" if wanted is None else f"of {wanted}: "
    short = "" if evaluation.complete else f" ({of}{_why_short(evaluation)})"
    about = "" if goal is None else f" in {goal}, the last stage, as are the figures below"
    rows = [("mean return", score(evaluation.mean_reward, evaluation.std_reward) + about)]
    rows += [(f"  {name}", number(mean)) for name, mean in (evaluation.tasks or {}).items()]
    if evaluation.success_rate is not None:
        rows.append(("success", f"{evaluation.success_rate:.0%}"))
    rows.append(("threshold", _threshold(evaluation)))
    if evaluation.no_better_than is not None:
        rows.append(("no better", f"{evaluation.no_better_than} (at the end of training)"))
    if evaluation.episodes:
        rows.append(("range", f"{number(evaluation.min_reward)} to {number(evaluation.max_reward)}"))
        rows.append(("mean length", number(evaluation.mean_ep_length)))
        rows.append(("per step", number(evaluation.reward_per_step)))
    tasks = ", of all tasks" if evaluation.tasks else ""
    rows += [
        ("episodes", f"{evaluation.episodes}{short}, {_steps(evaluation)}{tasks}"),
        ("seeds", _SEEDS[evaluation.seeds]),
        ("trained for", f"{count(evaluation.env_steps)} steps"),
    ]
    print_pairs(rows + _wrappers(evaluation))


def _wrappers(evaluation: Evaluation) -> list[tuple[str, str]]:
    """The effect of wrappers that only training has."""
    names, with_them = ", ".join(evaluation.training_only), evaluation.as_trained
    if with_them is None:
        return [("left out", f"{names} of training (--as-trained plays with it too)")] if names else []
    figures = [f"mean return {score(with_them.mean_reward, with_them.std_reward)}"]
    if with_them.success_rate is not None:
        figures.append(f"success {with_them.success_rate:.0%}")
    short = "" if with_them.complete else f" of {with_them.episodes} episodes: a cap or faults cut it"
    rows = [("as trained", f"{', '.join(figures)}{short} (with {names or 'the same wrappers'})")]
    if evaluation.repeated_share is not None and with_them.repeated_share is not None:
        again = f"{evaluation.repeated_share:.0%} of choices, {with_them.repeated_share:.0%} as trained"
        rows.append(("same again", again))
    return rows


def _steps(evaluation: Evaluation) -> str:
    """Steps of whole episodes; in a cut evaluation also those of episodes that did not end."""
    if evaluation.complete:
        return f"{count(evaluation.played_steps)} steps"
    if not evaluation.episodes:
        return f"{count(evaluation.taken_steps)} steps without an end"
    return f"{count(evaluation.played_steps)} steps of {count(evaluation.taken_steps)} taken"


def _why_short(evaluation: Evaluation) -> str:
    if evaluation.faults:
        return f"{len(evaluation.faults)} faults cut the others; {evaluation.faults[-1]}"
    return f"{evaluation.cut_by} ended it"


def _threshold(evaluation: Evaluation) -> str:
    """The threshold, and whether these episodes reach it; a cut evaluation decides nothing."""
    if evaluation.threshold is None:
        return "none known"
    needed = number(evaluation.threshold)
    if evaluation.solved_by == "success_rate":
        needed = f"{evaluation.threshold:.0%} of successes"
    verdict = {True: "reached", False: "not reached", None: "undecided"}[evaluation.reached]
    return f"{needed}, {verdict}"
