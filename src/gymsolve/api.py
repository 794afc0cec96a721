"""The Python API: what `import gymsolve` offers. Thin: each function calls one verb of `training`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gymsolve.recipes import Overrides
from gymsolve.runs.refs import find_run
from gymsolve.runs.run import Run
from gymsolve.training.judging.evaluate import EvalResult
from gymsolve.training.observer import Observer
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.play.loaded_policy import LoadedPolicy, evaluate_run, load_policy
from gymsolve.training.session import Outcome, resume_run, start_run

__all__ = ["LoadedPolicy", "Outcome", "Run", "evaluate", "load_policy", "open_run", "resume", "train"]


def train(
    env: str,
    overrides: Overrides = (),
    *,
    seed: int | None = None,
    steps: int | str | None = None,
    start_from: str | None = None,
    track: Sequence[str] | None = None,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
) -> Outcome:
    """Train `ENV[:VARIANT]` until it is solved or its budget is spent.

    Args:
        env: a recipe such as `CartPole-v1:ppo`, or any Gymnasium id.
        overrides: settings, as `{"algo.gamma": 0.9}` or `["algo.gamma=0.9"]`.
        seed: same seed, same run.
        steps: budget in environment steps; `200k` and `1e6` work too.
        start_from: `RUN[@best]` whose weights the new run begins with.
        track: where metrics go too: `csv`, `tensorboard`, `wandb`, `trackio`.
        runs_dir: where runs are kept; `runs/` by default.
        observer: told what happens while it happens.
    """
    plan = plan_run(env, _with(overrides, seed=seed, steps=steps, track=track))
    return start_run(plan, start_from=start_from, runs_dir=runs_dir, observer=observer)


def resume(
    run: str | Path | Run,
    overrides: Overrides = (),
    *,
    steps: int | str | None = None,
    fresh_optimizer: bool = False,
    track: Sequence[str] | None = None,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    trust: bool = False,
) -> Outcome:
    """Continue a run where its last checkpoint left it, optionally with other settings.

    A run from elsewhere that names code of its own needs `trust`.
    """
    ref = str(run.path) if isinstance(run, Run) else str(run)
    return resume_run(
        ref,
        overrides=_with(overrides, steps=steps, track=track),
        fresh_optimizer=fresh_optimizer,
        runs_dir=runs_dir,
        observer=observer,
        trust=trust,
    )


def evaluate(
    run: str | Path | Run,
    *,
    episodes: int = 100,
    deterministic: bool = True,
    seed: int | None = None,
    steps: int | None = None,
    run_seeds: bool = False,
    runs_dir: Path | str | None = None,
    trust: bool = False,
) -> EvalResult:
    """Play whole episodes with a run's best policy; `RUN@last` and `RUN@120000` name others.

    With `steps`, whole episodes that take that many steps together are played instead of `episodes`, and at
    most a quarter more, or one episode. They are fresh ones: a checkpoint looks better than it is on those
    that chose it. `run_seeds` plays those. A run from elsewhere that names code of its own needs `trust`.
    """
    result, _ = evaluate_run(
        run,
        episodes=episodes,
        steps=steps,
        deterministic=deterministic,
        seed=seed,
        run_seeds=run_seeds,
        runs_dir=runs_dir,
        trust=trust,
    )
    return result


def open_run(run: str | Path, *, runs_dir: Path | str | None = None) -> Run:
    """A run by id, unique part of it, path, `@last` or `@best:ENV`."""
    return find_run(str(run), runs_dir)


def _with(overrides: Overrides, **given: Any) -> Overrides:
    chosen = {name: value for name, value in given.items() if value is not None}
    if isinstance(overrides, Mapping):
        return {**overrides, **chosen}
    return [*overrides, *(f"{name}={value}" for name, value in chosen.items())]
