"""The Python API behind `import gymsolve`: each function calls one verb."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.loaded_policy import LoadedPolicy, evaluate_run, load_policy
from gymsolve.envs.given import GivenEnv, name_class, name_env
from gymsolve.errors import ConfigError, DivergenceError, EnvFaultError, UsageError, did_you_mean
from gymsolve.jobs.queue import STOPPED
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.jobs.seeds import SeedsVerdict, judge_seeds, plan_group
from gymsolve.recipes import Overrides
from gymsolve.recipes.schema import leaf_paths
from gymsolve.recipes.validation import OTHER_NAMES
from gymsolve.runs import deletion, labelling
from gymsolve.runs.refs import find_run, fix_ref
from gymsolve.runs.run import Run
from gymsolve.settings.config import Role
from gymsolve.training.evaluation.evaluate import EvalResult
from gymsolve.training.observer import Observer
from gymsolve.training.outcome import Outcome
from gymsolve.training.planning.plan import Plan, fix_recordings, plan_run, with_seed
from gymsolve.training.session import resume_run, start_run

__all__ = [
    "InspectedEpisode",
    "LoadedPolicy",
    "Outcome",
    "Run",
    "SeedsVerdict",
    "delete_runs",
    "evaluate",
    "inspect",
    "load_policy",
    "open_run",
    "rename_run",
    "resume",
    "tag_run",
    "train",
    "train_seeds",
]


def train(  # noqa: PLR0913 - the options of `gymsolve train`
    env: GivenEnv,
    overrides: Overrides = (),
    *,
    seed: int | None = None,
    steps: int | str | None = None,
    max_seconds: float | str | None = None,
    start_from: str | None = None,
    track: Sequence[str] | None = None,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    **others: object,
) -> Outcome:
    """Train `ENV[:VARIANT]` until it is solved or its budget is spent.

    Args:
        env: a recipe such as `CartPole-v1:ppo`, any Gymnasium id, or `ENV:derived` to do without its recipe;
            also a class of environments, a function that makes one, or an environment, if other processes can
            make it too.
        overrides: settings, as `{"algo.gamma": 0.9}` or `["algo.gamma=0.9"]`.
        seed: same seed, same run.
        steps: budget in environment steps; `200k` and `1e6` work too.
        max_seconds: time limit of this call, the last evaluation included; `10min` and `2h` work too.
        start_from: `RUN[@best]` whose weights the new run begins with.
        track: trackers that also get the metrics: `csv`, `tensorboard`, `wandb`, `trackio`.
        runs_dir: where runs are kept; `runs/` by default.
        observer: called while the run trains.
        others: none; arguments of other tools are answered with ours.
    """
    began = time.perf_counter()
    _refuse(others)
    name, settings = name_env(env)
    options = {"seed": seed, "steps": steps, "max_seconds": max_seconds, "track": track}
    plan = _plan(name, _with(overrides, **settings, **options))
    return start_run(plan, start_from=start_from, runs_dir=runs_dir, observer=observer, began=began)


def train_seeds(  # noqa: PLR0913 - the arguments of `train`, and how many seeds
    env: GivenEnv,
    overrides: Overrides = (),
    *,
    seeds: int = 5,
    seed: int | None = None,
    steps: int | str | None = None,
    max_seconds: float | str | None = None,
    start_from: str | None = None,
    track: Sequence[str] | None = None,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    **others: object,
) -> SeedsVerdict:
    """Train `seeds` seeds from `seed` on, one after the other in this process; judge them together.

    A seed that fails is recorded as crashed and the next one begins; a stop ends them all. `max_seconds` is
    the time limit of each seed. The other arguments are those of `train`. The command
    `gymsolve train --seeds` trains several at once, in other processes.
    """
    _refuse(others)
    names = None if track is None else ",".join(track)
    name, own = name_env(env)
    chosen = _with(overrides, **own)
    words = spell_settings(chosen)
    request = RunRequest(
        "train",
        name,
        words,
        seeds=seeds,
        steps=steps,
        max_seconds=max_seconds,
        start_from=start_from,
        track=names,
    )
    start_from = None if start_from is None else fix_ref(start_from, runs_dir)
    options = {"seed": seed, "steps": steps, "max_seconds": max_seconds, "track": track}
    plan = fix_recordings(_plan(name, _with(chosen, **options)), runs_dir)
    group = plan_group(plan, request, runs_dir)
    began, reason = time.monotonic(), None
    begin = partial(start_run, start_from=start_from, runs_dir=runs_dir, observer=observer, group=group.id)
    for each_seed in group.seeds:
        try:
            outcome = begin(with_seed(plan, each_seed))
        except (DivergenceError, EnvFaultError):
            reason = "failed"  # its run says why
            continue
        if outcome.reason in STOPPED:
            reason = outcome.reason
            break
    return judge_seeds(group, seconds=time.monotonic() - began, reason=reason)


def resume(  # noqa: PLR0913 - the options of `gymsolve resume`
    run: str | Path | Run,
    overrides: Overrides = (),
    *,
    steps: int | str | None = None,
    max_seconds: float | str | None = None,
    fresh_optimizer: bool = False,
    track: Sequence[str] | None = None,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    trust: bool = False,
) -> Outcome:
    """Continue a run where its last checkpoint left it, optionally with other settings.

    A run from elsewhere that names code of its own needs `trust`. `max_seconds` is the time limit of this
    call; without it, that of the run's settings holds again.
    """
    began = time.perf_counter()
    ref = str(run.path) if isinstance(run, Run) else str(run)
    with _in_words_of_python():
        return resume_run(
            ref,
            overrides=_with(overrides, steps=steps, max_seconds=max_seconds, track=track),
            fresh_optimizer=fresh_optimizer,
            runs_dir=runs_dir,
            observer=observer,
            trust=trust,
            began=began,
        )


def evaluate(  # noqa: PLR0913 - the options of `gymsolve eval`
    run: str | Path | Run,
    *,
    episodes: int = 100,
    deterministic: bool | None = None,
    seed: int | None = None,
    steps: int | None = None,
    run_seeds: bool = False,
    as_trained: bool = False,
    runs_dir: Path | str | None = None,
    trust: bool = False,
) -> EvalResult:
    """Play whole episodes with a run's best policy; `RUN@last` and `RUN@120000` name others.

    With `steps`, whole episodes of that many steps together are played instead of `episodes`, and at most a
    quarter more, or one episode. They are fresh episodes: a checkpoint looks better than it is on the
    episodes that chose it, which `run_seeds` plays. `as_trained` takes the wrappers of training, such as
    sticky actions. Without `deterministic`, actions are chosen as in the run's own evaluations
    (`eval.deterministic`). A run from elsewhere that names code of its own needs `trust`.
    """
    result, _ = evaluate_run(
        run,
        episodes=episodes,
        steps=steps,
        deterministic=deterministic,
        seed=seed,
        run_seeds=run_seeds,
        as_trained=as_trained,
        runs_dir=runs_dir,
        trust=trust,
    )
    return result


def inspect(  # noqa: PLR0913 - the options of `gymsolve inspect`
    run: str | Path | Run,
    *,
    seed: int | None = None,
    deterministic: bool | None = None,
    as_trained: bool = False,
    steps: int | None = None,
    camera: bool = True,
    task: str | None = None,
    runs_dir: Path | str | None = None,
    trust: bool = False,
) -> InspectedEpisode:
    """One episode of a run's best policy, step by step; `RUN@last` and `RUN@120000` name others.

    The episode is the first that an evaluation with this seed plays (`run_seeds`). It is played once and kept
    in the run. The result has `frames`, `obs`, `seen`, `actions`, `rewards`, `values`, `probabilities`,
    `masks`, `memory` and `components` as arrays, `table()` and `to_csv()`, and `credit()` for advantages and
    returns under another discount; a notebook shows it. `steps` cuts longer episodes, 20,000 by default;
    `task` names one of several tasks, by default the first. Without `deterministic`, actions are chosen as in
    the run's own evaluations.
    """
    from gymsolve.apps.inspector.recorder import LONGEST, Question, inspect_run  # with a camera

    role: Role = "train" if as_trained else "eval"
    longest = LONGEST if steps is None else steps
    question = Question(
        seed=seed, deterministic=deterministic, role=role, steps=longest, camera=camera, task=task
    )
    return inspect_run(run, question, runs_dir=runs_dir, trust=trust)


def open_run(run: str | Path, *, runs_dir: Path | str | None = None) -> Run:
    """A run by id, unique part of it, path, `@last` or `@best:ENV`."""
    return find_run(str(run), runs_dir)


def rename_run(run: str | Path | Run, label: str, *, runs_dir: Path | str | None = None) -> None:
    """Give a run a name by which it is found; its id stays, and an empty name takes it away."""
    labelling.rename_run(_opened(run, runs_dir), label)


def tag_run(
    run: str | Path | Run,
    *tags: str,
    remove: Sequence[str] = (),
    runs_dir: Path | str | None = None,
) -> tuple[str, ...]:
    """Add tags to a run, remove others, and return those that it has now; `tag:x` finds runs by them."""
    return labelling.tag_run(_opened(run, runs_dir), tags, remove).tags


def delete_runs(*runs: str | Path | Run, runs_dir: Path | str | None = None) -> list[str]:
    """Delete runs for good, with trials of remedies that were made for them; returns the ids.

    `group:ID` and filters such as `status:crashed` name several. A run that trains is refused, and nothing is
    deleted then.
    """
    words = [str(run.path) if isinstance(run, Run) else str(run) for run in runs]
    return deletion.delete_runs(deletion.plan_deletion(words, runs_dir))


def _opened(run: str | Path | Run, runs_dir: Path | str | None) -> Run:
    return run if isinstance(run, Run) else find_run(str(run), runs_dir)


def _with(overrides: Overrides, **options: Any) -> Overrides:
    """The overrides, and the options that are not None, as settings."""
    chosen = {name: value for name, value in options.items() if value is not None}
    if isinstance(overrides, Mapping):
        return {**{path: _named(value, path) for path, value in overrides.items()}, **chosen}
    return [*overrides, *(f"{name}={value}" for name, value in chosen.items())]


def _named(value: Any, path: str) -> Any:
    """A class, alone or in a list, as the `module:Class` that stands for it."""
    if isinstance(value, list | tuple):
        return [_named(entry, path) for entry in value]
    return name_class(value, path) if isinstance(value, type) else value


def _plan(name: str, overrides: Overrides) -> Plan:
    with _in_words_of_python():
        return plan_run(name, overrides)


@contextmanager
def _in_words_of_python() -> Iterator[None]:
    """Errors speak of `overrides`, as here nobody has typed `--set`."""
    try:
        yield
    except ConfigError as error:
        error.message = error.message.replace("(from --set)", "(from overrides)")
        error.where = "overrides" if error.where == "--set" else error.where
        error.args = (error.message,)
        raise


def _refuse(others: Mapping[str, object]) -> None:
    """Answer the arguments of other tools, such as `total_timesteps`, with ours."""
    for name in others:
        hint = did_you_mean(name, _ARGUMENTS)
        path = OTHER_NAMES.get(name)
        if path in _ARGUMENTS:
            hint = f"Here it is: {path}=…"
        elif path is not None or name in leaf_paths("ppo"):
            hint = f"It is a setting: overrides={{'{path or name}': …}}."
        raise UsageError(f"there is no argument {name!r}.", where="gymsolve.train", hint=hint)


_ARGUMENTS = ("env", "overrides", "seed", "seeds", "steps", "start_from", "track", "runs_dir", "observer")
