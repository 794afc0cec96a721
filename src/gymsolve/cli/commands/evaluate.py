"""`gymsolve eval`: play whole episodes with a trained policy."""

from typing import Annotated, Any

import typer

from gymsolve.cli.options import Json, RunsDir
from gymsolve.cli.printing.output import print_json, print_pairs, say
from gymsolve.text import count, number, score

__all__ = ["evaluate"]


def evaluate(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@CHECKPOINT]",
            help="A run; its best checkpoint unless @last or @STEPS says otherwise.",
        ),
    ],
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="How many to play.")] = 100,
    steps: Annotated[
        int | None,
        typer.Option("--steps", min=1, help="Play as many episodes as begin within this many steps instead."),
    ] = None,
    stochastic: Annotated[
        bool, typer.Option("--stochastic", help="Sample actions instead of taking the likeliest.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Use this seed for the episodes instead of the run's own."),
    ] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Play whole episodes with a trained policy and report their raw returns."""
    from gymsolve.cli.live.progress import show_progress
    from gymsolve.training.judging.evaluate import result_json
    from gymsolve.training.play.loaded_policy import evaluate_run

    with show_progress("evaluating", "episodes" if steps is None else "steps") as tell:
        result, loaded = evaluate_run(
            run,
            episodes=episodes,
            steps=steps,
            deterministic=not stochastic,
            seed=seed,
            runs_dir=runs_dir,
            on_step=tell,
        )
    config, registered = loaded.config, loaded.policy.spec.reward_threshold
    told = {
        "run": loaded.run.id,
        **result_json(result, loaded.checkpoint, loaded.env_steps),
        "seed": config.seed if seed is None else seed,
        "deterministic": not stochastic,
        "threshold": registered if config.solved_at is None else config.solved_at,
    }
    if json:
        print_json(told)
    else:
        _tell(told, episodes)


def _tell(told: dict[str, Any], asked: int) -> None:
    say(f"{told['run']}@{told['checkpoint']}")
    short = "" if told["complete"] else f" (of {asked}: a cap on steps or seconds ended it)"
    rows = [("mean return", score(told["mean_reward"], told.get("std_reward"))), ("threshold", _judged(told))]
    if told["episodes"]:
        rows.append(("range", f"{number(told['min_reward'])} to {number(told['max_reward'])}"))
        rows.append(("mean length", number(told["mean_ep_length"])))
        rows.append(("per step", number(told["reward_per_step"])))
    if "success_rate" in told:
        rows.append(("success", f"{told['success_rate']:.0%}"))
    rows += [("episodes", f"{told['episodes']}{short}"), ("trained for", f"{count(told['env_steps'])} steps")]
    print_pairs(rows)


def _judged(told: dict[str, Any]) -> str:
    """The threshold, and whether these episodes reach it; a cut evaluation decides nothing."""
    threshold = told["threshold"]
    if threshold is None:
        return "none known"
    if not told["complete"] or not told["episodes"]:
        return f"{number(threshold)}, undecided"
    return f"{number(threshold)}, {'reached' if told['mean_reward'] >= threshold else 'not reached'}"
