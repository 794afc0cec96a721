"""Loads the trained policy of a run, to act or to be evaluated."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.envs.contract import Envs
from gymsolve.envs.describe import describe_env
from gymsolve.envs.make import make_envs
from gymsolve.errors import CheckpointError, UsageError
from gymsolve.experience.agent import Agent
from gymsolve.experience.learner import Policy
from gymsolve.recipes import validate
from gymsolve.runs.loading import Checkpoint
from gymsolve.runs.refs import open_checkpoint
from gymsolve.runs.run import Run
from gymsolve.runs.trust import buildable_settings
from gymsolve.settings.config import EnvConfig, TrainConfig
from gymsolve.spec import Array, EnvSpec, Obs, ObsSpec, find_misfit
from gymsolve.training.engines.choose import load_policy as rebuild
from gymsolve.training.evaluation.player import HELD_OUT, Player
from gymsolve.training.evaluation.result import EvalResult
from gymsolve.training.watchdog import Watchdog


class LoadedPolicy:
    """A policy as it was at a checkpoint: normaliser, masks and all."""

    def __init__(self, run: Run, checkpoint: Checkpoint, *, trust: bool = False) -> None:
        self.run = run
        self._trust = trust
        self.checkpoint = checkpoint.name
        self.env_steps = int(checkpoint.meta["env_steps"])
        self.config = validate(run.config_json()["config"], "config.json")
        if needs_own_code(checkpoint.policy_metadata, self.config):
            self.config, _ = buildable_settings(run, trust=trust)
        self.policy = rebuild(checkpoint.policy, checkpoint.policy_metadata, self.config)
        self._agent = Agent(self.policy, 1)
        self._begun = False
        """The policy has acted in this episode."""
        self._rng = np.random.default_rng(self.config.seed)

    def reset(self, ended: Any = None) -> None:
        """Begin an episode: a policy with a memory forgets the last one.

        Of a batch, `ended` [N] names the environments that begin one; all do by default.
        """
        if ended is not None and self._agent.memory is not None:
            self._agent.forget(np.asarray(ended, bool))
            return
        self._begun = False
        self._agent = Agent(self.policy, 1)

    def act(self, obs: Any, mask: Any = None, *, deterministic: bool = True, reward: Any = None) -> Any:
        """The action for one observation, or the actions [N] for a batch, in the environment's own terms.

        A batch has one more axis in front than an observation, in every entry; `mask` and `reward` have it
        too. `obs` is what the run's environments give (see `make_envs`): an array, or a dict or tuple of
        them. With frame stacking or other wrappers in the recipe, that is the wrapped observation. A policy
        with a memory remembers what it was shown until `reset`; one that reads rewards
        (`net.memory.inputs`) wants that of the last step, from the second step of an episode on.
        """
        batch, count = self._batch(obs)
        self._hear(reward)
        actions = self._agent.choose(batch, self._masks(mask, count), None if deterministic else self._rng)
        made = self.policy.spec.action.to_env(actions)
        if count is not None:
            return made
        return made[0].item() if self.policy.spec.action.kind == "discrete" else made[0]

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[Any, None]:
        """`act` as code for Stable-Baselines3 calls it, with its defaults: the action and None.

        A memory is kept here and not in `state`: `episode_start` says which environments begin an episode.
        """
        if state is not None:
            hint = "Leave it out: the policy keeps its memory itself, until episode_start or reset()."
            raise UsageError("predict takes no state.", hint=hint)
        if episode_start is not None and np.any(episode_start):
            self.reset(np.ravel(episode_start) if self._begun else None)
        return self.act(observation, deterministic=deterministic), None

    def _batch(self, obs: Any) -> tuple[Obs, int | None]:
        """Observations as a batch, and how many there are; None for a single one."""
        batch, count = _as_batch(obs, self.policy.spec.obs)
        rows = 1 if count is None else count
        memory = self._agent.memory
        if memory is None:
            return batch, count
        if not self._begun:
            self._agent = Agent(self.policy, rows)
        elif len(memory) != rows:
            message = f"the policy remembers {len(memory)} episodes and was shown {rows}."
            raise UsageError(message, hint="Call reset() before another number of environments.")
        return batch, count

    def _hear(self, reward: Any) -> None:
        """Remember the reward of the last step, if there was one and the policy reads it."""
        memory = self.config.net.memory
        if memory is None or "reward" not in memory.inputs or not self._begun:
            self._begun = True
            return
        if reward is None:
            hint = "Give it one: act(obs, reward=…)."
            raise UsageError("this policy reads the reward of the last step.", hint=hint)
        self._agent.hear(np.ravel(np.asarray(reward, float)))

    def _masks(self, mask: Any, count: int | None) -> Array | None:
        """The legal choices [N, mask_size]: those of the mask and of the recipe."""
        spec, rows = self.policy.spec, 1 if count is None else count
        if not spec.masked and mask is None:
            return None
        legal = np.array(spec.legal or (True,) * spec.action.mask_size)
        if mask is None:
            if not spec.legal:
                hint = "Give it one: act(obs, mask)."
                raise UsageError("this policy was trained with action masks.", hint=hint)
            return np.repeat(legal[None], rows, axis=0)
        parts = (
            [np.asarray(part, bool).reshape(rows, -1) for part in mask] if isinstance(mask, tuple) else mask
        )
        given = np.concatenate(parts, axis=1) if isinstance(mask, tuple) else np.asarray(mask, bool)
        if given.size != rows * legal.size:
            raise UsageError(f"the mask has {given.size} flags, the action space {legal.size} choices.")
        allowed: Array = legal & given.reshape(rows, -1)
        if not allowed.any(axis=1).all():
            raise UsageError("the mask allows no action.")
        return allowed

    def value(self, obs: Any) -> Any:
        """The discounted return the policy expects from here, or those [N] of a batch.

        With a memory, ask before it acts on `obs`.
        """
        batch, count = self._batch(obs)
        values = self._agent.values(batch)
        return float(values[0]) if count is None else values

    def make_envs(self, num_envs: int = 1, *, render: bool = False) -> Envs:
        """The run's environments, wrapped as in evaluation."""
        settings, _ = buildable_settings(self.run, trust=self._trust)
        return make_envs(settings.env, "eval", num_envs=num_envs, render=render)


def needs_own_code(metadata: Mapping[str, str], config: TrainConfig) -> bool:
    """True if the policy cannot be rebuilt without code of the user's own."""
    return config.net.encoder is not None or ":" in metadata.get("kind", "")


def load_policy(
    ref: str | Path | Run, *, runs_dir: Path | str | None = None, trust: bool = False
) -> LoadedPolicy:
    """The policy of `RUN[@best|@last|@STEPS]`; the best one unless said otherwise.

    Loading and acting import nothing, unless the network is code of the user's own. That and the environments
    of a run from elsewhere need `trust` where they are such code.
    """
    return LoadedPolicy(*open_checkpoint(ref, runs_dir, policy_only=True), trust=trust)


def evaluate_run(  # noqa: PLR0913 - the options of `gymsolve eval`
    ref: str | Path | Run,
    *,
    episodes: int = 100,
    deterministic: bool | None = None,
    seed: int | None = None,
    steps: int | None = None,
    run_seeds: bool = False,
    as_trained: bool = False,
    runs_dir: Path | str | None = None,
    on_step: Callable[[int, int], None] | None = None,
    trust: bool = False,
) -> tuple[EvalResult, LoadedPolicy]:
    """Play `episodes`, or whole episodes worth `steps`, in a run's own evaluation pipeline.

    The episodes are drawn from `seed` (the run's own unless given), apart from those that chose the run's
    best checkpoint: on them it looks better than it is. With `run_seeds` they are those, and stored numbers
    come again. `as_trained` takes the wrappers of training instead of evaluation's. Actions are chosen as the
    run's own evaluations choose them, unless `deterministic` says otherwise.
    """
    loaded = load_policy(ref, runs_dir=runs_dir, trust=trust)
    own, _ = buildable_settings(loaded.run, trust=trust)
    chosen: dict[str, Any] = {} if deterministic is None else {"deterministic": deterministic}
    update: dict[str, Any] = {"eval": own.eval.model_copy(update={**chosen, "steps": steps})}
    if seed is not None:
        update["seed"] = seed
    config = own.model_copy(update=update)
    require_fit(loaded.policy, config.env, loaded.run)
    player = Player(config, "train" if as_trained else "eval")
    with Watchdog(config.env), closing(player):
        if run_seeds:
            result = player.play(loaded.policy, episodes, steps=steps, on_step=on_step)
        else:
            result = player.play_draw(loaded.policy, episodes, HELD_OUT, steps=steps, on_step=on_step)
    return result, loaded


def require_fit(policy: Policy, env: EnvConfig, run: Run) -> None:
    """Refuse an environment with other observations or actions than the policy knows."""
    with Watchdog(env):
        spec = describe_env(env, "eval")
    require_same_spaces(policy, spec, env, run)


def require_same_spaces(policy: Policy, spec: EnvSpec, env: EnvConfig, run: Run) -> None:
    """Refuse other spaces than those of the policy."""
    misfit = find_misfit(policy.spec, spec)
    if misfit is not None:
        hint = "Has the environment been changed since, or were the settings edited?"
        message = f"the policy of run {run.id} does not fit {env.id}: {misfit}."
        raise CheckpointError(message, where="config.json", hint=hint)


def _as_batch(obs: Any, specs: Mapping[str, ObsSpec]) -> tuple[Obs, int | None]:
    """Observations as a batch, checked against what the policy was trained on, and how many there are.

    None stands for a single one, without an axis of its own.
    """
    # Text is left out, as `envs/spaces.py` does.
    entries = {key: np.asarray(value) for key, value in _flatten(obs, ()) if not isinstance(value, str)}
    if set(entries) != set(specs):
        wanted = f"the policy wants {sorted(specs)}"
        raise UsageError(f"the observation has the entries {sorted(entries)}, {wanted}.")
    single = {key: _fit(entries[key], spec) for key, spec in specs.items()}
    misfits = [key for key, array in single.items() if array is None]
    if not misfits:
        return {key: _typed(array, specs[key])[None] for key, array in single.items()}, None
    counts = {len(entries[key]) if entries[key].ndim else 0 for key in specs}
    rows = {key: [_fit(row, spec) for row in np.atleast_1d(entries[key])] for key, spec in specs.items()}
    if len(counts) != 1 or 0 in counts or any(row is None for key in specs for row in rows[key]):
        raise UsageError(f"the observation {misfits[0]!r} {_misfit(entries[misfits[0]], specs[misfits[0]])}.")
    return {key: np.stack([_typed(row, specs[key]) for row in rows[key]]) for key in specs}, counts.pop()


def _typed(array: Array | None, spec: ObsSpec) -> Array:
    return np.ascontiguousarray(array, dtype=spec.dtype)


def _flatten(obs: Any, path: tuple[str, ...]) -> list[tuple[str, Any]]:
    if isinstance(obs, Mapping):
        items = list(obs.items())
    elif isinstance(obs, tuple):
        items = list(enumerate(obs))
    else:
        return [("/".join(path) or "obs", obs)]
    return [pair for key, value in items for pair in _flatten(value, (*path, str(key)))]


def _fit(array: Array, spec: ObsSpec) -> Array | None:
    """The array in the policy's layout; images may come as [H, W] or [H, W, C]."""
    if spec.kind == "discrete" and array.size == len(spec.nvec):
        counted: Array = array.reshape(spec.shape) - np.reshape(spec.start, spec.shape)
        inside = (counted >= 0).all() and (counted < np.reshape(spec.nvec, spec.shape)).all()
        return counted if inside else None
    if array.shape == spec.shape:
        return array
    if spec.kind == "image":
        layered = array[..., None] if array.ndim == 2 else array
        moved: Array = layered.transpose(2, 0, 1) if layered.ndim == 3 else array
        return moved if moved.shape == spec.shape else None
    return None


def _misfit(array: Array, spec: ObsSpec) -> str:
    if spec.kind == "discrete" and array.size == len(spec.nvec):
        return f"is {array.tolist()}, outside of its space"
    return f"has shape {array.shape}, the policy wants {spec.shape}"
