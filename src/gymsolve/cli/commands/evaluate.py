"""`gymsolve eval`: play whole episodes with a trained policy."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymsolve.cli.options import Json, PolicyRef, RunsDir, Trust, trusts
from gymsolve.cli.printing.output import print_json, print_pairs, say
from gymsolve.text import count, number, score

if TYPE_CHECKING:
    from gymsolve.service.evaluation import Evaluation

_SEEDS = {
    "fresh": "fresh ones, not those that chose the checkpoint (--run-seeds plays those)",
    "run": "the run's own: the best checkpoint was chosen on them and looks better than it is",
}
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        min=1,
        help="Play whole episodes of this many steps together instead (a quarter or an episode more).",
    ),
]
RunSeeds = Annotated[
    bool,
    typer.Option(
        "--run-seeds",
        help="Play the episodes that chose the best checkpoint; it looks better on them than it is.",
    ),
]
Sampled = Annotated[
    bool | None,
    typer.Option(
        "--stochastic/--deterministic",
        help="Sample actions, or take the likeliest; by default as the run's own evaluations do.",
    ),
]
AsTrained = Annotated[
    bool,
    typer.Option(
        "--as-trained",
        help="Play the episodes again with wrappers that only training has, such as sticky actions.",
    ),
]


def evaluate(
    run: PolicyRef,
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="How many to play.")] = 100,
    steps: Steps = None,
    stochastic: Sampled = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Draw the episodes from this seed instead of the run's own."),
    ] = None,
    trust: Trust = False,
    run_seeds: RunSeeds = False,
    as_trained: AsTrained = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Play whole, fresh episodes with a trained policy and report their raw returns."""
    from gymsolve.apps.loaded_policy import evaluate_run
    from gymsolve.cli.live.progress import show_progress
    from gymsolve.service.evaluation import describe_evaluation

    trust = trusts(run, runs_dir, trust=trust, json=json)
    likeliest = None if stochastic is None else not stochastic
    how: dict[str, Any] = {"seed": seed, "deterministic": likeliest, "run_seeds": run_seeds}
    asked = how | {"episodes": episodes, "steps": steps, "runs_dir": runs_dir, "trust": trust}
    played = []
    for wrapped in (False, True) if as_trained else (False,):
        with show_progress("evaluating", "episodes" if steps is None else "steps") as tell:
            played.append(evaluate_run(run, as_trained=wrapped, on_step=tell, **asked))
    (result, loaded), again = played[0], [one for one, _ in played[1:]]
    told = describe_evaluation(result, loaded, *again, **how)
    if json:
        print_json(told.to_json())
    else:
        tasks, stages = max(1, len(loaded.config.env.tasks)), loaded.config.curriculum.names
        _tell(told, episodes * tasks if steps is None else None, stages[-1] if stages else None)


def _tell(told: "Evaluation", asked: int | None, goal: str | None) -> None:
    """`goal` is the stage of a curriculum that it is all about."""
    say(f"{told.run}@{told.checkpoint}")
    of = "" if asked is None else f"of {asked}: "
    short = "" if told.complete else f" ({of}{_why_short(told)})"
    about = "" if goal is None else f" in {goal}, the last stage, as are the figures below"
    rows = [("mean return", score(told.mean_reward, told.std_reward) + about)]
    rows += [(f"  {name}", number(mean)) for name, mean in (told.tasks or {}).items()]
    if told.success_rate is not None:
        rows.append(("success", f"{told.success_rate:.0%}"))
    rows.append(("threshold", _judged(told)))
    if told.episodes:
        rows.append(("range", f"{number(told.min_reward)} to {number(told.max_reward)}"))
        rows.append(("mean length", number(told.mean_ep_length)))
        rows.append(("per step", number(told.reward_per_step)))
    rows += [
        ("episodes", f"{told.episodes}{short}, {_steps(told)}" + (", of all tasks" if told.tasks else "")),
        ("seeds", _SEEDS[told.seeds]),
        ("trained for", f"{count(told.env_steps)} steps"),
    ]
    print_pairs(rows + _wrappers(told))


def _wrappers(told: "Evaluation") -> list[tuple[str, str]]:
    """What wrappers of training alone change."""
    names, with_them = ", ".join(told.training_only), told.as_trained
    if with_them is None:
        return [("left out", f"{names} of training (--as-trained plays with it too)")] if names else []
    figures = [f"mean return {score(with_them.mean_reward, with_them.std_reward)}"]
    if with_them.success_rate is not None:
        figures.append(f"success {with_them.success_rate:.0%}")
    short = "" if with_them.complete else f" of {with_them.episodes} episodes: a cap or faults cut it"
    rows = [("as trained", f"{', '.join(figures)}{short} (with {names or 'the same wrappers'})")]
    if told.repeated_share is not None and with_them.repeated_share is not None:
        again = f"{told.repeated_share:.0%} of choices, {with_them.repeated_share:.0%} as trained"
        rows.append(("same again", again))
    return rows


def _steps(told: "Evaluation") -> str:
    """Steps of the episodes; where they are not all that was asked for, also those that led to no end."""
    if told.complete:
        return f"{count(told.played_steps)} steps"
    if not told.episodes:
        return f"{count(told.taken_steps)} steps without an end"
    return f"{count(told.played_steps)} steps of {count(told.taken_steps)} taken"


def _why_short(told: "Evaluation") -> str:
    if told.faults:
        return f"{len(told.faults)} faults cut the others; {told.faults[-1]}"
    return f"{told.cut_by} ended it"


def _judged(told: "Evaluation") -> str:
    """The threshold, and whether these episodes reach it; a cut evaluation decides nothing."""
    if told.threshold is None:
        return "none known"
    needed = number(told.threshold)
    if told.solved_by == "success_rate":
        needed = f"{told.threshold:.0%} of successes"
    verdict = {True: "reached", False: "not reached", None: "undecided"}[told.reached]
    return f"{needed}, {verdict}"
