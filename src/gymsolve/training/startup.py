"""Checks between a plan and the first step: debugger, pipelines, notes for the user."""

from collections.abc import Container, Sequence
from typing import Any

from gymsolve.doctor.lint import lint
from gymsolve.envs.backends.joined import JoinedEnvs
from gymsolve.envs.describe import describe_env
from gymsolve.envs.determinism import BOUNDS_FIX, SEED_FIX, UNSEEDED, Bounds, know_determinism, place_in_class
from gymsolve.envs.make import debugger_attached
from gymsolve.errors import ConfigError
from gymsolve.fast import covers
from gymsolve.kernels import find_kernels
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import EnvSpec
from gymsolve.training.observer import Observer, tell_late
from gymsolve.training.trainer import Trainer


def for_debugger(config: TrainConfig) -> TrainConfig:
    """With a debugger attached: one environment, or one of each task, and everything in this process.

    Fewer copies make smaller rollouts, so there may have to be fewer minibatches too.
    """
    if not debugger_attached():
        return config
    env = config.env.model_copy(update={"num_envs": config.fewest_envs, "backend": "sync"})
    evaluation = config.eval.model_copy(update={"num_envs": 1, "asynchronous": False})
    smaller = config.model_copy(update={"env": env, "eval": evaluation})
    if config.algo.minibatches <= smaller.most_minibatches:
        return smaller
    algo = config.algo.model_copy(update={"num_minibatches": smaller.most_minibatches})
    return smaller.model_copy(update={"algo": algo})


def require_same_pipeline(trainer: Trainer) -> None:
    """Refuse a wrapper of one role that changes what the network sees or does."""
    evaluated, trained = describe_env(trainer.config.env, "eval"), trainer.envs.spec
    if (_shapes(evaluated), evaluated.action) != (_shapes(trained), trained.action):
        raise ConfigError(
            "evaluation would have other observations or actions than training.",
            where="env.wrappers",
            hint="A wrapper that changes them must have the same roles everywhere: remove its `roles`.",
        )


def _shapes(spec: EnvSpec) -> dict[str, tuple[object, ...]]:
    """The facts that decide the network; bounds may differ, since noise may be added in training alone."""
    return {key: (entry.kind, entry.shape, entry.dtype, entry.nvec) for key, entry in spec.obs.items()}


def doubts_about(trainer: Trainer, changes: Container[str]) -> list[str]:
    """Doubts about settings that a resume or a fork changes."""
    doubts = lint(trainer.config, trainer.envs.spec)
    return [str(doubt) for doubt in doubts if doubt.where in changes]


def notes_at_start(trainer: Trainer, observer: Observer) -> list[str]:
    """Notes for the user on this environment and these settings, before training starts.

    The observer hears why nothing happens yet, if that takes long.
    """
    notes = list(trainer.envs.spec.notes) + _unused_kernels(trainer)
    determinism = know_determinism(
        trainer.config.env, tell_late(observer, "trying what seeds do in this environment before training")
    )
    # The trial ran in this process; the backend in use must be able to capture, too.
    trainer.collector.capturable = determinism.resumes_exactly and trainer.envs.capture() is not None
    env = trainer.config.env
    notes += [f"{stray}; {BOUNDS_FIX}{place_in_class(env, 'step')}" for stray in determinism.strays]
    if ":" in env.id and not determinism.strays:  # only the author of an environment can repair it
        trainer.probe.bounds = Bounds(trainer.envs.spec)
    if not determinism.seed_reproduces:
        place = place_in_class(env, "reset")
        notes.append(f"{UNSEEDED}, so this run cannot be repeated exactly; {SEED_FIX}{place}")
    if trainer.envs.num_envs > 1 and determinism.copies_identical:
        notes.append(
            "every copy of this environment plays the same episode (it starts alike and has no randomness): "
            "only the policy's own sampling makes parallel copies differ"
        )
    if not trainer.collector.capturable:
        notes.append(
            "the state of this environment cannot be captured: a resumed run will begin new episodes "
            "instead of continuing those under way"
        )
    notes += _endless_tasks(trainer)
    algo, limit = trainer.config.algo, trainer.envs.spec.max_episode_steps
    if algo.whole_episodes and (limit is None or algo.num_steps < limit):
        longest = f"last up to {limit} steps" if limit else "have no limit"
        notes.append(
            "REINFORCE learns from steps whose episode ends within the rollout: episodes "
            f"{longest}, algo.num_steps is {algo.num_steps}, so the start of long ones is not learned from"
        )
    notes += map(str, lint(trainer.config, trainer.envs.spec))
    if trainer.threshold is None:
        notes.append("no threshold is known, so nothing will count as solved; set one with --set solved_at=…")
    return notes


def _endless_tasks(trainer: Trainer) -> list[str]:
    """Tasks that may keep an evaluation for long."""
    if not isinstance(trainer.envs, JoinedEnvs):
        return []
    cap = trainer.config.eval.max_seconds
    return [
        f"the task {name} has no time limit: a policy that reaches no end is evaluated until "
        f"eval.max_seconds ({cap:g}); set env.tasks.{name}.max_episode_steps"
        for name in trainer.envs.endless
    ]


def _unused_kernels(trainer: Trainer) -> list[str]:
    """A note on kernels that are built but cannot be used; no note where none are built."""
    kernels, config = find_kernels(), trainer.config
    if not kernels.built or kernels.obstacle is None or config.engine != "auto":
        return []
    if covers(config, trainer.envs.spec) is not None:  # torch would train it anyway
        return []
    return [f"the compiled kernels {kernels.obstacle}, so torch trains, more slowly. {kernels.fix}"]


def other_arithmetic(trainer: Trainer, events: Sequence[dict[str, Any]]) -> list[str]:
    """A note if a resumed run goes on with another engine or other kernels than it had."""
    started = [event for event in events if event["kind"] == "started" and event.get("engine")]
    if not started:
        return []
    before = _arithmetic(started[-1]["engine"], started[-1].get("kernels"))
    now = _arithmetic(trainer.engine.name, trainer.engine.kernels)
    if before == now:
        return []
    return [
        f"computed with {before} so far and with {now} from here: the same up to rounding, not bit for bit"
    ]


def _arithmetic(engine: str, kernels: str | None) -> str:
    if kernels != "c":
        return engine
    return "compiled kernels" if engine == "numpy" else f"{engine} and compiled convolutions"
