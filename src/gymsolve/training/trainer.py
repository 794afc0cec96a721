"""Everything a training process holds, and how it is built, saved and brought back.

`Trainer` is data: the loop in `loop.py` moves it. Its policy and its parts own all that must survive a
restart; a trainer that was restored from a checkpoint continues as if nothing had happened.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.doctor.rules.rule import Context
from gymsolve.envs.backends.joined import JoinedEnvs
from gymsolve.envs.contract import Envs
from gymsolve.envs.determinism import Bounds
from gymsolve.envs.make import make_envs, make_joined
from gymsolve.errors import CheckpointError
from gymsolve.experience.collect import Collector
from gymsolve.experience.episodes import EpisodeWindow
from gymsolve.extensions.archive.build import build_explorer
from gymsolve.extensions.archive.go_explore import GoExplore
from gymsolve.extensions.curriculum.curriculum import Curriculum, build_curriculum
from gymsolve.extensions.exploration.bonus import Bonus
from gymsolve.extensions.exploration.needs import require_sense, training_env
from gymsolve.extensions.scaling import RewardScaler
from gymsolve.metrics.thresholds import find_threshold, task_thresholds
from gymsolve.parts import Part
from gymsolve.runs.loading import Checkpoint
from gymsolve.seeding import RandomStreams
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array, EnvSpec
from gymsolve.training.engines.choose import choose_engine
from gymsolve.training.engines.contract import Algorithm, Engine, Lessons, Policy
from gymsolve.training.health.probe import Probe
from gymsolve.training.migrate import FORMAT, upgrade
from gymsolve.training.planning.memory_need import require_memory, require_sane
from gymsolve.training.records import Averager, Clock


@dataclass
class Counters(Part):
    """How far the run is."""

    env_steps: int = 0
    """Steps of all environments, summed."""
    vec_steps: int = 0
    """Calls of `step`."""
    updates: int = 0
    seconds: float = 0.0
    """Spent training, over all sittings."""
    next_eval: int = 0
    """In the unit of the budget, as the next checkpoint is; records and measures go by environment steps."""
    next_checkpoint: int = 0
    next_record: int = 0
    next_measure: int = 0
    eval_round: int = 0
    last_eval: int | None = None
    """Step of the newest evaluation that is done."""
    judging: int | None = None
    """Step whose weights are being judged; a resume makes up for an evaluation that was cut short."""
    judging_round: int = 0
    """The round of that evaluation: it decides the fresh seeds."""
    best_step: int | None = None
    """Step of the best checkpoint: the truth, of which the file `best` is a copy for others to read."""
    best_return: float | None = None
    best_rate: float | None = None
    """Its share of successes, where that is what is judged."""
    best_solved: bool = False
    """The best checkpoint is one that proved the environment solved."""
    best_reached: int = 0
    """Tasks that reached their threshold in its evaluation, where there are several."""
    best_stage: int = 0
    """The stage it was judged on, of a curriculum; stages are compared before what was achieved in them."""
    best_in_stage: float | None = None
    """What it achieved there."""
    solved: bool = False
    faults: int = 0
    """Processes of the environments that died or hung, and were started again."""
    cut_episodes: int = 0
    """Episodes that went with them."""
    eval_faults: int = 0
    """The same of processes in evaluations, whose episodes are played again."""

    def state(self) -> dict[str, Any]:
        return asdict(self)

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        given = {one.name: state[one.name] for one in fields(self) if one.name in state}
        for name, value in given.items():
            if not _fits_counter(value, vars(self)[name]):
                raise ValueError(f"{name} is {ascii(value)[:40]}")
        vars(self).update(given)
        return []


def _fits_counter(value: Any, like: Any) -> bool:
    if isinstance(like, bool):
        return isinstance(value, bool)
    if like is None:  # a return, or a step that may not have come yet
        return value is None or type(value) in (int, float)
    return type(value) in (int, type(like)) and bool(0 <= value < math.inf)


@dataclass
class Trainer:
    """One run's live objects. What must survive a restart is in `policy` and in `parts`, and nowhere else."""

    config: TrainConfig
    envs: Envs
    collector: Collector
    engine: Engine
    policy: Policy
    algorithm: Algorithm
    threshold: float | None
    """Mean raw return, or share of successes (`solved_by`), that counts as solved."""
    streams: RandomStreams
    scaler: RewardScaler | None
    alerts: AlertTracker
    """Follows the records; it saves no state, since the records are on disk."""
    probe: Probe
    """Observations to look into the policy with; taken from the first rollout."""
    window: EpisodeWindow = field(default_factory=EpisodeWindow)
    counters: Counters = field(default_factory=Counters)
    averager: Averager = field(default_factory=Averager)
    bonuses: dict[str, Bonus] = field(default_factory=dict)
    """Rewards besides the task's own, by name."""
    curriculum: Curriculum | None = None
    """Which stage the run is in; None without stages."""
    explorer: GoExplore | None = None
    """The archive of places that episodes begin at; None where all begin at a reset."""
    imitation: Lessons | None = None
    """Learns from the best trajectories of the archive."""
    clock: Clock = field(default_factory=Clock)
    evaluation: dict[str, float] | None = None
    """Metrics of the newest evaluation; `counters.last_eval` says which step it judged."""
    saved_step: int | None = None
    """Step of the newest checkpoint that this process wrote or started from."""
    unsaved_verdict: bool = False
    """An evaluation has ended since the newest checkpoint was written."""
    until: int | None = None
    """Step at which this sitting ends, although the budget and the schedules go on."""
    bounds: Bounds | None = None
    """Finds the first observation outside of its space; None where nobody needs to be told."""
    undo: Callable[[], None] | None = None
    """Puts weights and statistics back to before the iteration under way; None between iterations."""

    @property
    def parts(self) -> dict[str, Part]:
        """The owners of all state beside the policy's own, by the name they have in checkpoints."""
        found: dict[str, Part] = {
            "counters": self.counters,
            "optimizer": self.algorithm.optimizer,
            "algorithm": self.algorithm,
            "engine": self.engine,
            "random": self.streams,
            "window": self.window,
            "averager": self.averager,
            "probe": self.probe,
        }
        if self.scaler is not None:
            found["scaler"] = self.scaler
        if self.curriculum is not None:
            found["curriculum"] = self.curriculum
        further = self.bonuses | {one.name: one for one in self.algorithm.auxiliaries}
        assert not found.keys() & further.keys(), "a bonus or auxiliary has the name of another part"
        found |= further
        if self.explorer is not None:
            found["archive"] = self.explorer
        return found | {"collector": self.collector}

    @property
    def return_threshold(self) -> float | None:
        """Mean raw return that counts as solved; None where the share of successes decides."""
        return self.threshold if self.config.solved_by == "return" else None

    @property
    def success_threshold(self) -> float | None:
        """Share of successes that counts as solved; None where the return decides."""
        return self.threshold if self.config.solved_by == "success_rate" else None

    @property
    def taken(self) -> int:
        """Steps so far in the unit of the budget."""
        counters = self.counters
        return counters.vec_steps if self.config.budget_in == "vec_steps" else counters.env_steps

    @property
    def progress(self) -> Progress:
        return Progress(self.taken, self.config.steps)

    def position(self) -> dict[str, Any]:
        """Where the run is, as every record says it."""
        return {
            "env_steps": self.counters.env_steps,
            "vec_steps": self.counters.vec_steps,
            "updates": self.counters.updates,
            "progress": self.progress.fraction,
        }

    def arrays(self) -> dict[str, Array]:
        """The arrays of all parts, next to the policy's own."""
        return {
            f"{owner}/{name}": array
            for owner, part in self.parts.items()
            for name, array in part.arrays().items()
        }

    def state(self) -> dict[str, Any]:
        """The rest, JSON-ready."""
        states = {owner: part.state() for owner, part in self.parts.items()}
        return {"format": FORMAT, "parts": {owner: state for owner, state in states.items() if state}}

    def rollback_point(self) -> Callable[[], None]:
        """A function that puts the policy and all parts back to where they are now."""
        held = [self.policy.rollback_point(), *(part.rollback_point() for part in self.parts.values())]

        def put_back() -> None:
            for undo in held:
                undo()

        return put_back

    def reassign(self, copies: dict[str, int]) -> None:
        """Between two rollouts, give each of several tasks that many copies."""
        self.begin(self.collector.reassign(copies))

    def begin(self, rows: list[int]) -> None:
        """These environments began other episodes, and those under way had no end: no sum goes on."""
        if self.scaler is not None:
            self.scaler.begin(rows)
        for bonus in self.bonuses.values():
            bonus.begin(rows)

    def reseed(self) -> None:
        """Keep weights and statistics, and draw everything random anew from the seed in the settings."""
        for part in self.parts.values():
            part.reseed(self.config.seed, self.counters.env_steps)


def build_trainer(config: TrainConfig) -> Trainer:
    """A trainer at step 0."""
    require_sane(config)
    with ExitStack() as cleanup:
        curriculum = build_curriculum(config)
        envs = _make_envs(config, curriculum)
        cleanup.callback(envs.close)
        require_memory(config, envs.spec)
        require_sense(config, envs.spec)
        engine = choose_engine(config, envs.spec)
        policy, algorithm = engine.build(config, envs.spec)
        if engine.measured:  # stored as a number: another number of threads sums in another order
            config = config.model_copy(update={"threads": engine.threads})
        collector = Collector(envs, policy, config.algo.num_steps, config.seed, config.env.frame_stack)
        bonuses = _build_bonuses(config, envs, engine)
        collector.keeps_ends = bool(bonuses)
        explorer = None
        if config.explore.archive is not None:
            explorer = build_explorer(config, collector, _success_bars(config, envs.spec, curriculum))
        imitation = _build_imitation(config, explorer, policy, algorithm)
        cleanup.pop_all()
    trainer = Trainer(
        config=config,
        envs=envs,
        collector=collector,
        engine=engine,
        policy=policy,
        algorithm=algorithm,
        threshold=find_threshold(config, envs.spec),
        streams=RandomStreams(config.seed, ("policy", "minibatch", "bonus")),
        scaler=RewardScaler(envs.num_envs, tasks=len(envs.spec.tasks))
        if config.algo.normalize_rewards
        else None,
        alerts=AlertTracker(Context.of(config, envs.spec)),
        probe=Probe(policy.spec),
        bonuses=bonuses,
        window=EpisodeWindow(tasks=envs.spec.tasks),
        curriculum=curriculum,
        explorer=explorer,
        imitation=imitation,
    )
    if curriculum is not None and curriculum.copies != _copies_of(envs):
        trainer.reassign(curriculum.copies)
    trainer.counters.next_eval = max(config.eval_every, config.eval.warmup)
    trainer.counters.next_checkpoint = config.checkpoint_every
    return trainer


def _make_envs(config: TrainConfig, curriculum: Curriculum | None) -> Envs:
    """The environments that train; of a curriculum, those of its first stage alone."""
    settings, jumps = training_env(config), config.explore.archive is not None
    if curriculum is None or curriculum.stage:
        return make_envs(settings, "train", jumps=jumps)
    return make_joined(settings, "train", task=curriculum.stages[0], jumps=jumps)


def _success_bars(
    config: TrainConfig, spec: EnvSpec, curriculum: Curriculum | None
) -> dict[str, float | None]:
    """The return that counts as a success, by task: what leads on from a stage, or what counts as solved."""
    tasks = config.env.tasks
    solved = task_thresholds(config, spec) if tasks else {"": find_threshold(config, spec)}
    bars = dict(solved) if config.solved_by == "return" else dict.fromkeys(solved)
    if curriculum is not None and not curriculum.by_success:
        rungs = [rung for rung in curriculum.ladder.rungs if rung.promote_at is not None]
        bars |= {rung.name: rung.promote_at for rung in rungs}
    return bars


def _copies_of(envs: Envs) -> dict[str, int]:
    """How many copies each task has now."""
    assert isinstance(envs, JoinedEnvs)
    return {name: len(rows) for name, rows in envs.rows.items()}


def _build_bonuses(config: TrainConfig, envs: Envs, engine: Engine) -> dict[str, Bonus]:
    """The bonus for exploring, if the settings ask for one."""
    if config.explore.bonus == "none":
        return {}
    from gymsolve.extensions.exploration.build import build_bonus  # needs torch, whatever the engine

    bonus = build_bonus(config, envs.spec, envs.num_envs, on_gpu=engine.on_gpu, threads=engine.threads)
    return {"explore": bonus}


def _build_imitation(
    config: TrainConfig, explorer: GoExplore | None, policy: Policy, algorithm: Algorithm
) -> Lessons | None:
    """What learns from the archive, if anything does."""
    if explorer is None or explorer.settings.learn_from == "nothing":
        return None
    from gymsolve.extensions.archive.imitation import build_imitation  # needs torch

    return build_imitation(explorer, config.algo, policy, algorithm.optimizer)


def restore_trainer(trainer: Trainer, saved: Checkpoint, *, fresh_optimizer: bool) -> list[str]:
    """Put a checkpoint's state into a newly built trainer; returns sentences on what was not restored."""
    misfits = trainer.policy.load_arrays(saved.policy)
    if misfits:
        raise CheckpointError(
            f"the checkpoint does not fit the network of this run's settings: {misfits[0]}.",
            hint="A resumed run keeps its network; start a new one from these weights with `train --from`.",
        )
    notes = list(saved.notes)
    with _checking(saved, "the trainer"):
        arrays, states = upgrade(saved, trainer.algorithm.optimizer.names)
    for owner, part in trainer.parts.items():
        if owner == "optimizer" and fresh_optimizer:
            notes.append("the optimizer starts afresh, as asked")
            continue
        prefix = f"{owner}/"
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        with _checking(saved, owner):
            notes += part.load(own, states.get(owner, {}))
    if trainer.curriculum is not None and trainer.curriculum.copies != _copies_of(trainer.envs):
        trainer.reassign(trainer.curriculum.copies)  # the environments' state was not in the checkpoint
    if trainer.counters.env_steps != saved.meta["env_steps"]:
        raise CheckpointError("its counters are those of another step.", where=str(saved.path))
    trainer.saved_step = trainer.counters.env_steps
    return notes


@contextmanager
def _checking(saved: Checkpoint, owner: str) -> Iterator[None]:
    """Say where state is to be found that its owner cannot make sense of.

    Checksums tell what was damaged on the way; they do not tell what somebody has written and sealed.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CheckpointError(
            f"the state of {owner} in it makes no sense ({type(error).__name__}: {str(error)[:80]}).",
            where=str(saved.path),
            hint="Go on from another checkpoint: RUN@STEPS.",
        ) from error
