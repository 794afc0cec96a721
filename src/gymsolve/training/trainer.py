"""Everything a training process holds, and how it is built, saved and brought back.

`Trainer` is data: the loop in `loop.py` moves it. What `state` and `arrays` return is the whole of it;
a trainer restored from them continues as if nothing had happened.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gymsolve.config import TrainConfig
from gymsolve.envs.contract import Envs
from gymsolve.envs.make import make_envs
from gymsolve.errors import CheckpointError
from gymsolve.metrics.alerts import AlertTracker
from gymsolve.metrics.rules.rule import Context
from gymsolve.rollout.collect import Collector
from gymsolve.rollout.episodes import EpisodeWindow
from gymsolve.rollout.moments import RewardScaler
from gymsolve.runs.loading import Checkpoint
from gymsolve.schedules import Progress
from gymsolve.seeding import generator, integer_seeds, restore_generator, save_generator
from gymsolve.spec import Array
from gymsolve.training.engines.choose import Algorithm, Engine, Policy, choose_engine
from gymsolve.training.health.probe import Probe
from gymsolve.training.records import Averager, Clock

__all__ = ["Counters", "Trainer", "build_trainer", "restore_trainer"]


@dataclass
class Counters:
    """How far the run is."""

    env_steps: int = 0
    """Steps of all environments, summed."""
    vec_steps: int = 0
    """Calls of `step`."""
    updates: int = 0
    seconds: float = 0.0
    """Spent training, over all sittings."""
    next_eval: int = 0
    next_checkpoint: int = 0
    next_record: int = 0
    next_measure: int = 0
    eval_round: int = 0
    last_eval: int | None = None
    """Step of the newest evaluation that is done."""
    best_return: float | None = None
    best_solved: bool = False
    """The best checkpoint is one that proved the environment solved."""
    solved: bool = False


@dataclass
class Trainer:
    """One run's live objects."""

    config: TrainConfig
    envs: Envs
    collector: Collector
    engine: Engine
    policy: Policy
    algorithm: Algorithm
    threshold: float | None
    """Mean raw return that counts as solved."""
    policy_rng: np.random.Generator
    minibatch_rng: np.random.Generator
    scaler: RewardScaler | None
    alerts: AlertTracker
    """Follows the records; needs no state of its own, since those are on disk."""
    window: EpisodeWindow = field(default_factory=EpisodeWindow)
    counters: Counters = field(default_factory=Counters)
    averager: Averager = field(default_factory=Averager)
    clock: Clock = field(default_factory=Clock)
    probe: Probe | None = None
    """Observations to look into the policy with; taken from the first rollout."""
    evaluation: dict[str, float] | None = None
    """Metrics of the newest evaluation; `counters.last_eval` says which step it judged."""
    saved_step: int | None = None
    """Step of the newest checkpoint this very process wrote or started from."""
    until: int | None = None
    """Step at which this sitting ends although the budget, and schedules with it, go on."""
    undo: Callable[[], None] | None = None
    """Puts weights and statistics back to before the iteration under way; None between two of them."""
    capturable: bool = True
    """False when the environments' state cannot be captured: resuming then begins new episodes."""

    @property
    def progress(self) -> Progress:
        return Progress(self.counters.env_steps, self.config.steps)

    def position(self) -> dict[str, Any]:
        """Where the run is, as every record says it."""
        return {
            "env_steps": self.counters.env_steps,
            "vec_steps": self.counters.vec_steps,
            "updates": self.counters.updates,
            "progress": self.progress.fraction,
        }

    def arrays(self) -> dict[str, Array]:
        """The trainer's arrays, next to the policy's own."""
        moments = {f"optimizer/{name}": a for name, a in self.algorithm.optimizer.arrays().items()}
        probe = {} if self.probe is None else self.probe.arrays()
        return moments | self.engine.random_state() | probe

    def state(self, *, with_envs: bool = True) -> dict[str, Any]:
        """The rest, JSON-ready."""
        return {
            "counters": asdict(self.counters),
            "algorithm": self.algorithm.state(),
            "window": self.window.state(),
            "averager": self.averager.state(),
            "scaler": None if self.scaler is None else self.scaler.state(),
            "policy_rng": save_generator(self.policy_rng),
            "minibatch_rng": save_generator(self.minibatch_rng),
            "capturable": self.capturable,
            "envs": self.envs.capture() if with_envs and self.capturable else None,
        }


def build_trainer(config: TrainConfig) -> Trainer:
    """A trainer at step 0."""
    with ExitStack() as cleanup:
        envs = make_envs(config.env, "train")
        cleanup.callback(envs.close)
        engine = choose_engine(config, envs.spec)
        policy, algorithm = engine.build(config, envs.spec)
        if engine.measured:  # kept as a number: with other threads sums have another order
            config = config.model_copy(update={"threads": engine.threads})
        seeds = integer_seeds(config.seed, "env", envs.num_envs)
        collector = Collector(envs, config.algo.num_steps, seeds, config.env.frame_stack)
        cleanup.pop_all()
    trainer = Trainer(
        config=config,
        envs=envs,
        collector=collector,
        engine=engine,
        policy=policy,
        algorithm=algorithm,
        threshold=envs.spec.reward_threshold if config.solved_at is None else config.solved_at,
        policy_rng=generator(config.seed, "policy"),
        minibatch_rng=generator(config.seed, "minibatch"),
        scaler=RewardScaler(envs.num_envs) if config.algo.normalize_rewards else None,
        alerts=AlertTracker(Context.of(config, envs.spec)),
    )
    trainer.counters.next_eval = max(config.eval_every, config.eval.warmup)
    trainer.counters.next_checkpoint = config.checkpoint_every
    return trainer


def restore_trainer(trainer: Trainer, saved: Checkpoint, *, fresh_optimizer: bool) -> list[str]:
    """Put a checkpoint's state into a newly built trainer; what could not be restored, in sentences."""
    misfits = trainer.policy.load_arrays(saved.policy)
    if misfits:
        raise CheckpointError(
            f"the checkpoint does not fit the network of this run's settings: {misfits[0]}.",
            hint="A resumed run keeps its network; start a new one from these weights with `train --from`.",
        )
    notes = list(saved.notes)
    state = saved.trainer_state
    trainer.counters = Counters(**state["counters"])
    trainer.saved_step, trainer.capturable = trainer.counters.env_steps, state["capturable"]
    trainer.window.load(state["window"])
    trainer.averager.load(state["averager"])
    trainer.policy_rng = restore_generator(state["policy_rng"])
    trainer.minibatch_rng = restore_generator(state["minibatch_rng"])
    trainer.engine.load_random_state(saved.trainer)
    trainer.probe = Probe.from_arrays(saved.trainer, trainer.policy.spec)
    if fresh_optimizer:
        notes.append("the optimizer starts afresh, as asked")
    else:
        moments = {
            name.removeprefix("optimizer/"): array
            for name, array in saved.trainer.items()
            if name.startswith("optimizer/")
        }
        trainer.algorithm.optimizer.load_arrays(moments)
    if state["algorithm"]:
        trainer.algorithm.load(state["algorithm"])
    notes += _restore_envs(trainer, state)
    return notes


def _restore_envs(trainer: Trainer, state: dict[str, Any]) -> list[str]:
    """Continue the episodes under way, or say which start anew."""
    notes = []
    num_envs = trainer.envs.num_envs
    if trainer.scaler is not None:
        if state["scaler"] is not None and len(state["scaler"]["running"]) == num_envs:
            trainer.scaler.load(state["scaler"])
        else:
            notes.append("the statistics of reward scaling start afresh")
    # New seeds: an environment that cannot go on must not repeat the episodes of the start.
    seeds = integer_seeds(trainer.config.seed, "env", num_envs, trainer.counters.env_steps)
    if state["envs"] is None:
        trainer.collector.obs, trainer.collector.masks = trainer.envs.reset(seeds)
        return [*notes, "the environments' state was not in the checkpoint: all episodes start anew"]
    obs, masks, restarted = trainer.envs.restore(state["envs"], seeds)
    trainer.collector.obs, trainer.collector.masks = obs, masks
    if restarted:
        which = "all" if len(restarted) == num_envs else ", ".join(map(str, restarted))
        notes.append(f"the state of environments ({which}) could not be restored: their episodes start anew")
    return notes
