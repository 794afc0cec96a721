"""The answer of `gymsolve eval`; `training` plays the episodes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gymsolve.answers import Answer, left_out
from gymsolve.doctor.rules.blind import worthless_beside
from gymsolve.metrics.thresholds import find_threshold, task_thresholds

if TYPE_CHECKING:
    from gymsolve.apps.loaded_policy import LoadedPolicy
    from gymsolve.settings.config import EvalConfig
    from gymsolve.training.evaluation.evaluate import EvalResult


_FIGURES = ("mean_reward", "std_reward", "success_rate", "mean_ep_length")


@dataclass(frozen=True, kw_only=True)
class AsTrained(Answer):
    """The same policy with the wrappers of training, such as sticky actions."""

    mean_reward: float | None
    std_reward: float | None = left_out()
    success_rate: float | None = left_out()
    mean_ep_length: float | None = left_out()
    repeated_share: float | None = left_out()
    episodes: int
    complete: bool


@dataclass(frozen=True, kw_only=True)
class Evaluation(Answer):
    """Results of episodes of a trained policy."""

    run: str
    checkpoint: str
    env_steps: int
    """Steps that the policy was trained for."""
    mean_reward: float | None
    std_reward: float | None
    min_reward: float | None
    max_reward: float | None
    mean_ep_length: float | None
    reward_per_step: float | None
    success_rate: float | None = left_out()
    """Share of the episodes that were a success, where the environment reports it."""
    episodes: int
    played_steps: int
    """Steps of those episodes."""
    taken_steps: int
    """Steps in all, also of episodes that did not end or that faults cut."""
    complete: bool
    """False when a cap on steps or seconds, or faults, ended it early."""
    cut_by: str | None
    """The cap of the run's settings that ended it; null where none did."""
    faults: tuple[str, ...]
    """Sentences on faults of environments; broken episodes were played again as far as possible."""
    seed: int
    seeds: Literal["fresh", "run"]
    """Fresh ones, or those of the evaluations by which the run chose its best checkpoint."""
    deterministic: bool
    solved_by: Literal["return", "success_rate"]
    threshold: float | None
    reached: bool | None
    """True if these episodes reach the threshold; null where that is undecided."""
    tasks: dict[str, float] | None = left_out()  # noqa: RUF009 - which is `field`
    """Mean return of each of several tasks."""
    repeated_share: float | None = left_out()
    """Share of discrete actions that repeat the action before."""
    no_better_than: str | None = left_out()
    """Return of a policy that sees nothing, as measured in training, where these episodes earn no more."""
    training_only: tuple[str, ...]
    """Wrappers of training that these episodes do not have, or have with other options."""
    as_trained: AsTrained | None = left_out()  # noqa: RUF009 - which is `field`


def _name_cap(settings: "EvalConfig", taken: int) -> str:
    """The cap that ended an evaluation of so many steps early."""
    if taken >= settings.max_steps:
        return f"eval.max_steps={settings.max_steps}"
    return f"eval.max_seconds={settings.max_seconds:g}"


def describe_evaluation(
    result: "EvalResult",
    loaded: "LoadedPolicy",
    trained: "EvalResult | None" = None,
    *,
    seed: int | None,
    deterministic: bool | None,
    run_seeds: bool,
) -> Evaluation:
    """The answer for the episodes that were played; `trained` ones had the wrappers of training.

    Without `deterministic`, actions were chosen as the run's own evaluations choose them.
    """
    config, spec = loaded.config, loaded.policy.spec
    threshold = find_threshold(config, spec)
    judged = result.success_rate if config.solved_by == "success_rate" else result.mean
    decided = result.complete and bool(result.episodes) and threshold is not None and judged is not None
    reached = _reaches(result, threshold, config.solved_by) if decided else None
    if result.deciding and decided:  # of a curriculum, its last stage alone
        bars = task_thresholds(config, spec)
        reached = all(_reaches(task, bars[name], config.solved_by) for name, task in result.deciding.items())
    return Evaluation(
        run=loaded.run.id,
        checkpoint=loaded.checkpoint,
        env_steps=loaded.env_steps,
        **_measured(result, *_FIGURES, "min_reward", "max_reward", "reward_per_step"),
        episodes=len(result.episodes),
        played_steps=sum(episode.length for episode in result.episodes),
        taken_steps=result.env_steps,
        complete=result.complete,
        cut_by=None if result.complete or result.lost else _name_cap(config.eval, result.env_steps),
        faults=result.faults,
        seed=config.seed if seed is None else seed,
        seeds="run" if run_seeds else "fresh",
        deterministic=config.eval.deterministic if deterministic is None else deterministic,
        solved_by=config.solved_by,
        threshold=threshold,
        reached=reached,
        tasks={name: task.mean for name, task in result.tasks.items()} or None,
        repeated_share=result.repeated,
        no_better_than=_no_better_than(result, loaded) if result.complete and result.episodes else None,
        training_only=tuple(
            wrapper.name
            for wrapper in config.env.wrappers
            if "train" in wrapper.roles and "eval" not in wrapper.roles
        ),
        as_trained=None if trained is None else _as_trained(trained),
    )


def _no_better_than(result: "EvalResult", loaded: "LoadedPolicy") -> str | None:
    largest = max(episode.raw_return for episode in result.episodes)
    return worthless_beside(loaded.run.iterate_metrics(), result.mean, largest)


def _reaches(result: "EvalResult", bar: float | None, solved_by: str) -> bool:
    judged = result.success_rate if solved_by == "success_rate" else result.mean
    return bar is not None and judged is not None and judged >= bar


def _as_trained(result: "EvalResult") -> AsTrained:
    return AsTrained(
        **_measured(result, *_FIGURES),
        repeated_share=result.repeated,
        episodes=len(result.episodes),
        complete=result.complete,
    )


def _measured(result: "EvalResult", *names: str) -> dict[str, Any]:
    """Metrics of an evaluation; None where there is none of that name."""
    metrics = result.metrics()
    return {name: metrics.get(f"eval/{name}") for name in names}
