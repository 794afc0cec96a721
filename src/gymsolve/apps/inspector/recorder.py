"""A run's policy plays one episode, and every step is stored: observation, values, action and reward.

The episode is that of an evaluation on the same seed, unless the wrappers of training are asked for. It is
played once and stored in the run (`runs/inspections.py`); `inspected_episode.py` reads it. The rows grow
while the episode is played, so that it can be watched.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gymsolve.apps.inspector.episode_credit import CreditSettings
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.inspector.rows import EpisodeRows, row_fields
from gymsolve.apps.inspector.snapshots import Places
from gymsolve.apps.loaded_policy import require_fit
from gymsolve.apps.playback import Moment, play
from gymsolve.apps.video.recording import identify
from gymsolve.envs.families import find_family
from gymsolve.envs.labels import ActionLabels
from gymsolve.envs.open_render_env import obs_names, open_role_env
from gymsolve.envs.render_env import RenderEnv
from gymsolve.errors import EnvFaultError, UsageError
from gymsolve.extensions.scaling import RewardScaler
from gymsolve.runs.files import to_json
from gymsolve.runs.inspections import Inspection, InspectionWriter, find_inspection
from gymsolve.runs.loading import Checkpoint
from gymsolve.runs.refs import open_checkpoint
from gymsolve.runs.run import Run
from gymsolve.runs.trust import buildable_settings
from gymsolve.seeding import generator, integer_seeds
from gymsolve.settings.config import (
    A2CConfig,
    PPOConfig,
    PQNConfig,
    ReinforceConfig,
    ReplayConfig,
    Role,
    TrainConfig,
)
from gymsolve.settings.schedules import Progress
from gymsolve.spec import ActionSpec, Array
from gymsolve.training.engines.choose import load_policy
from gymsolve.training.health.nonfinite import require_finite_actions
from gymsolve.training.watchdog import Watchdog

LONGEST = 20_000
"""An episode is cut after so many steps unless more are asked for."""
_MOST_STEPS = 1_000_000
_CHUNK = 16
"""Rows that the policy evaluates in one batch; a fixed number, because the batch size changes rounding."""

Watching = Callable[[InspectionWriter, int], bool]
"""Gets the number of states so far; returns False to end the episode."""


@dataclass(frozen=True)
class Question:
    """The episode to inspect."""

    seed: int | None = None
    """The seed of the episode, as in `eval --run-seeds --seed`; None takes the run's own."""
    deterministic: bool | None = None
    """Take the likeliest actions, or sample them; None does as the run's own evaluations."""
    role: Role = "eval"
    steps: int = LONGEST
    camera: bool = True
    task: str | None = None
    """The task, of several; None takes the first."""
    forced: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    """Actions by step, in the policy's units, to take instead of the policy's own."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Further facts to store, such as the episode that this one branches off."""

    def __post_init__(self) -> None:
        if not 0 < self.steps <= _MOST_STEPS:
            raise UsageError(f"an episode is inspected for 1 to {_MOST_STEPS:,} steps.", where="steps")
        if self.seed is not None and not 0 <= self.seed < 1 << 63:
            raise UsageError("a seed is a whole number from 0 on.", where="seed")
        if self.role not in ("eval", "train"):
            raise UsageError("wrappers are those of eval or of train.", where="role")


class Prefix(Protocol):
    """Steps of another episode that this one begins with."""

    episode: InspectedEpisode
    states: int
    """The number of its states; at least one."""

    def holds(self, moment: Moment) -> bool:
        """The moment is among them; an `EnvFaultError` where it differs from the stored one."""


class EpisodeRecorder:
    """One checkpoint of a run, and environments to play it in."""

    def __init__(
        self,
        ref: str | Path | Run,
        *,
        runs_dir: Path | str | None = None,
        trust: bool = False,
        on_wait: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`on_wait` gets a sentence about a call into the environment that takes long."""
        self.on_wait = on_wait
        self.run, self.saved = open_checkpoint(ref, runs_dir)
        self.config, _ = buildable_settings(self.run, trust=trust)
        self.policy = load_policy(self.saved.policy, self.saved.policy_metadata, self.config)
        require_fit(self.policy, self.config.env, self.run)
        self._render_envs: dict[tuple[Role, bool, str | None], tuple[RenderEnv, bool]] = {}
        self._notes: list[str] = []
        self._places = Places()

    def __enter__(self) -> "EpisodeRecorder":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        for render_env, _ in self._render_envs.values():
            render_env.close()
        self._render_envs = {}

    def is_likeliest(self, question: Question) -> bool:
        """The likeliest actions are taken; none is sampled."""
        asked = question.deterministic
        return self.config.eval.deterministic if asked is None else asked

    def key(self, question: Question) -> str:
        """The key of an inspection: checkpoint, seed, way of choosing actions, and a digest of all else."""
        about = {
            "policy": identify(self.saved)["policy_sha256"],
            "env": self.config.env.model_dump(mode="json"),
            "steps": question.steps,
            "camera": question.camera,
            **({} if question.task is None else {"task": question.task}),
            "forced": {str(step): list(action) for step, action in sorted(question.forced.items())},
            "about": dict(question.about),
        }
        digest = hashlib.sha256(to_json(about).encode()).hexdigest()[:10]
        seed = self.config.seed if question.seed is None else question.seed
        how = "likeliest" if self.is_likeliest(question) else "sampled"
        role = "-trained" if question.role == "train" else ""
        return f"{self.saved.name}-seed{seed}-{how}{role}-{digest}"

    def stored(self, question: Question) -> Inspection | None:
        """The inspection, if it was made before."""
        return find_inspection(self.run, self.key(question))

    def inspect(self, question: Question, watching: Watching = lambda writer, states: True) -> Inspection:
        """The stored inspection, or a new one."""
        return self.stored(question) or self.play(question, watching)

    def play(
        self,
        question: Question,
        watching: Watching = lambda writer, states: True,
        prefix: "Prefix | None" = None,
    ) -> Inspection:
        """Play the episode and store it, or its beginning where `watching` ends it.

        The states of a `prefix` are reached again and compared, but neither drawn nor evaluated again.
        """
        with Watchdog(self.config.env, on_wait=self.on_wait):
            self._notes = []
            render_env, filmed = self.open_env(question.role, camera=question.camera, task=question.task)
            policy, memory = self.policy, self.policy.first_memory(1)
            stack = self.config.env.frame_stack
            fields = row_fields(policy.spec, stack, None if memory is None else memory.shape[1])
            facts = {**self._facts(question, render_env), "camera": filmed}
            writer = InspectionWriter(self.run, self.key(question), fields, facts)
            rows = EpisodeRows(policy, render_env, writer, stack=stack, filmed=filmed)
            try:
                if prefix is not None and prefix.episode.stored.fields != fields:
                    prefix = None
                if prefix is not None:
                    rows.adopt(prefix.episode, prefix.states)
                whole = self._play(question, render_env, rows, watching, prefix, filmed=filmed)
            except BaseException:  # also a stop: an unfinished episode would look as if it were still played
                writer.abandon()
                raise
            return writer.finish("whole" if whole else "stopped", rows.summary(self._notes))

    def _play(
        self,
        question: Question,
        render_env: RenderEnv,
        rows: EpisodeRows,
        watching: Watching,
        prefix: "Prefix | None",
        *,
        filmed: bool,
    ) -> bool:
        """Fill the rows; False where `watching` ended the episode."""
        seed = self.config.seed if question.seed is None else question.seed
        rng = None if self.is_likeliest(question) else generator(seed, "eval", 0, 1)
        key, parent, states = self.key(question), "", 0
        if prefix is not None:
            parent, states = prefix.episode.facts["key"], prefix.states
        self._places.begin(key, parent, states)
        moments = play(
            self.policy,
            render_env,
            seed=integer_seeds(seed, "eval", 1, 0)[0],
            rng=rng,
            episodes=1,
            force=self._force(question),
            start=None if prefix is None else self._places.go_back(key, render_env, rng),
        )
        drawn_from = find_family(self.config.env.id).drawn_before(states)
        for moment in moments:
            self._places.pass_by(parent if moment.step < states else key, render_env, moment, rng)
            if moment.chosen is not None:
                require_finite_actions(self.policy.spec, moment.chosen, moment.step)
            if prefix is not None and prefix.holds(moment):
                if not moment.step % _CHUNK and not watching(rows.writer, rows.written):
                    raise UsageError("it was stopped on the way to the branch.")
                if filmed and moment.step >= drawn_from:
                    render_env.render()  # what it draws depends on what was drawn before
                continue
            rows.add(moment)
            over = moment.over or moment.step >= question.steps or rows.full
            if over or rows.waiting >= _CHUNK:
                rows.flush(last=over)
                if not watching(rows.writer, rows.written) and not over:
                    rows.flush(last=True)
                    return False
                if over:
                    break
        return True

    def _force(self, question: Question) -> Callable[[int, Array], Array] | None:
        if not question.forced:
            return None

        def force(step: int, chosen: Array) -> Array:
            given = question.forced.get(step)
            return chosen if given is None else np.array([given], chosen.dtype)

        return force

    def open_env(self, role: Role, *, camera: bool = True, task: str | None = None) -> tuple[RenderEnv, bool]:
        """The environment in a role, kept open for the next question; and True if its camera works."""
        tasks = self.config.env.tasks
        if task is not None and task not in tasks:
            hint = f"Its tasks are: {', '.join(tasks)}." if tasks else "It has one task; name none."
            raise UsageError(f"run {self.run.id} has no task {task!r}.", where="task", hint=hint)
        opened = self._render_envs.get((role, camera, task))
        if opened is None:
            try:
                opened = open_role_env(self.config.env, role, camera=camera, task=task)
            except EnvFaultError as error:
                if not camera:
                    raise
                self._notes.append(" ".join(filter(None, (error.message, error.hint))).rstrip("."))
                opened = open_role_env(self.config.env, role, camera=False, task=task)
            self._render_envs[role, camera, task] = opened
        return opened

    def _facts(self, question: Question, render_env: RenderEnv) -> dict[str, Any]:
        config, spec = self.config, self.policy.spec
        credit, notes = credit_settings(config, self.saved, question.task)
        self._notes += notes
        log_std = self.policy.log_std()
        return {
            **identify(self.saved),
            "env_id": config.env.id,
            "seed": config.seed if question.seed is None else question.seed,
            "deterministic": self.is_likeliest(question),
            "role": question.role,
            **({} if question.task is None else {"task": question.task}),
            "spec": spec.to_json(),
            "action_names": list(_action_names(render_env.labels, spec.action)),
            "obs_names": {"obs": list(named)} if (named := obs_names(spec)) else {},
            "frame_stack": config.env.frame_stack,
            "credit": vars(credit),
            "std": None if log_std is None else np.exp(log_std).tolist(),
            "fps": render_env.fps,
            "forced": {str(step): list(action) for step, action in question.forced.items()},
            **question.about,
        }


def inspect_run(
    ref: str | Path | Run, question: Question, *, runs_dir: Path | str | None = None, trust: bool = False
) -> InspectedEpisode:
    """One episode of `RUN[@CHECKPOINT]`, step by step; played once, then read from the run."""
    with EpisodeRecorder(ref, runs_dir=runs_dir, trust=trust) as examiner:
        return InspectedEpisode(examiner.inspect(question))


def credit_settings(
    config: TrainConfig, saved: Checkpoint, task: str | None = None
) -> tuple[CreditSettings, list[str]]:
    """The settings of advantages at a checkpoint, with schedules resolved; and notes about them."""
    algo, notes = config.algo, []
    taken = saved.meta["vec_steps"] if config.budget_in == "vec_steps" else saved.meta["env_steps"]
    progress = Progress(int(taken or 0), config.steps)
    states = saved.trainer_state.get("parts", saved.trainer_state)
    given: dict[str, Any] = {"algo": "ppo", "gamma": algo.gamma.at(progress), "gae_lambda": 1.0}
    if ":" not in algo.name:
        given["algo"] = algo.name
    if isinstance(algo, ReinforceConfig):
        given["algo"] = "reinforce"
        given |= {"baseline": algo.baseline, "returns": algo.returns}
        with suppress(AttributeError, TypeError):
            mean = states.get("algorithm", {}).get("mean_return")
            given["mean_return"] = mean if type(mean) is float else None
    elif isinstance(algo, ReplayConfig):
        given["gae_lambda"] = 0.0
        whose = "the best" if algo.values_actions else "the policy's own, by the most careful critic"
        notes.append(f"advantages are errors of the action values over one step, and values those of {whose}")
    elif isinstance(algo, PQNConfig):
        given["gae_lambda"] = algo.q_lambda.at(progress)
    elif isinstance(algo, PPOConfig | A2CConfig):
        given["gae_lambda"] = algo.gae_lambda.at(progress)
    else:
        notes.append(f"how {algo.name} gives credit is unknown here: advantages are returns minus values")
    if not algo.has_critic:
        notes.append("this run learns no value function: values come from weights that nothing has trained")
    if algo.scales_rewards:
        factor = _reward_factor(states.get("scaler"), config, task)
        given |= {"reward_scale": 1.0 if factor is None else factor, "reward_limit": RewardScaler(1).limit}
        if factor is None:
            notes.append("the checkpoint does not say how rewards were scaled: they are taken as they are")
    if config.explore.bonus != "none":
        notes.append("bonuses for exploring are not paid here: advantages are those of the task's rewards")
    return CreditSettings.from_json(given), notes


def _reward_factor(state: Any, config: TrainConfig, task: str | None) -> float | None:
    """The factor of a task's rewards at a checkpoint."""
    tasks = [*config.env.tasks]
    with suppress(KeyError, TypeError, ValueError):
        scaler = RewardScaler(len(state["running"]), tasks=len(tasks))
        scaler.load({}, state)
        row = tasks.index(task or tasks[0]) if tasks else ()
        return float(scaler.factors[row]) if scaler.count[row] else None
    return None


def _action_names(labels: ActionLabels, action: ActionSpec) -> tuple[str, ...]:
    """A name per choice, button or dimension; empty where none is known."""
    if not labels.parts:
        return labels.names
    if action.kind == "multi_binary":
        return tuple(part[1] for part in labels.parts)
    return tuple(name for part in labels.parts for name in part)
