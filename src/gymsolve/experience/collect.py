"""Steps the environments with the policy and fills a rollout.

This is the only place where policy and environment meet during training. It knows nothing of learning.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.envs.backends.joined import JoinedEnvs
from gymsolve.envs.contract import Envs, Step
from gymsolve.experience.agent import Actor, Agent
from gymsolve.experience.reset_sampler import Relocated, ResetSampler
from gymsolve.experience.rollout import Rollout, allocate
from gymsolve.parts import Part, resize_rows
from gymsolve.seeding import integer_seeds
from gymsolve.spec import Array, Obs


class Collector(Part):
    """Owns the running episodes: the state of the environments, observations and the agent's memory."""

    def __init__(self, envs: Envs, actor: Actor, num_steps: int, seed: int, frame_stack: int = 1) -> None:
        self.envs, self.agent = envs, Agent(actor, envs.num_envs)
        memory_size = None if self.agent.memory is None else self.agent.memory.shape[1]
        self.rollout = allocate(envs.spec, num_steps, envs.num_envs, frame_stack, memory_size)
        self.seed = seed
        self.env_steps = 0
        """Transitions collected so far."""
        self.filled = False
        self.begun = 0
        """Steps of the current rollout that were begun; 0 between rollouts."""
        self.keeps_ends = False
        """True if rollouts must keep the true last observations of episodes (`Rollout.final_obs`)."""
        self.starts: ResetSampler | None = None
        """Lets episodes begin elsewhere than at a reset; None where all begin at one."""
        self.capturable = True
        """False when the environments' state cannot be captured: resuming then begins new episodes."""
        self._anew: list[int] = []
        """Environments whose episodes a resume could not continue, for `Rollout.anew`."""
        self._between = True
        """True while the environments stand at the end of a rollout that was learned from."""
        self.obs: Obs
        self.masks: Array | None
        self.begin(integer_seeds(seed, "env", envs.num_envs))

    def collect(self, rng: np.random.Generator, on_step: Callable[[int, int], None] | None = None) -> Rollout:
        """Fill the rollout with the next `num_steps` steps of every environment.

        After each step, calls `on_step` with the number of steps that are done, and of all.
        """
        out, agent, to_env = self.rollout, self.agent, self.agent.policy.spec.action.to_env
        self._clear(out)
        for t in range(out.vec_steps):
            if out.memory is not None:
                out.memory[t] = agent.memory
            acted = agent.act(self.obs, self.masks, rng)
            for key, array in self.obs.items():
                out.obs[key][t] = array
            if out.masks is not None:
                out.masks[t] = self.masks
            out.actions[t], out.log_probs[t], out.values[t] = acted.actions, acted.log_probs, acted.values

            taken = to_env(acted.actions)
            self.begun = t + 1
            began = time.perf_counter()
            step = self.envs.step(taken)
            out.env_seconds += time.perf_counter() - began
            _write_step(out, t, step)
            agent.hear(step.rewards)
            if step.final_obs is not None:
                if self.keeps_ends:
                    out.final_obs[t] = step.final_obs
                if step.truncated.any():
                    cut = np.flatnonzero(step.truncated)
                    last = {key: array[cut] for key, array in step.final_obs.items()}
                    out.next_values[t, cut] = agent.values(last, cut)
                    out.bootstrapped += len(cut)
            if agent.memory is not None:
                agent.forget(step.terminated | step.truncated | ~step.valid)
            if step.cut is not None:
                _discard(out, t, step.cut)
                out.cut_episodes += int(np.count_nonzero(step.cut))
            out.episodes += step.episodes
            out.faults += step.faults
            self.obs, self.masks = step.obs, step.masks
            if self.starts is not None:
                self._move(self.starts.after(t, step))
            if on_step is not None:
                on_step(t + 1, out.vec_steps)

        # Where an episode was not cut, the next row is the successor.
        following = np.concatenate([out.values[1:], agent.values(self.obs)[None]])  # [T, N]
        np.copyto(out.next_values, following, where=~out.truncated)
        out.last_obs, out.last_masks = self.obs, self.masks
        self.filled, self.begun = True, 0
        self.env_steps += out.env_steps
        return out

    @property
    def copies(self) -> dict[str, int]:
        """The number of environments of each of several tasks; empty where there is one."""
        envs = self.envs
        return {name: len(rows) for name, rows in envs.rows.items()} if isinstance(envs, JoinedEnvs) else {}

    def reassign(self, copies: dict[str, int]) -> list[int]:
        """Between two rollouts, give each task that many copies; the rows that began other episodes."""
        assert isinstance(self.envs, JoinedEnvs), "only several tasks can be given other copies"
        seeds = integer_seeds(self.seed, "env", self.envs.num_envs, self.env_steps)
        self.obs, self.masks, anew = self.envs.reassign(copies, seeds)
        self._begin_anew(np.isin(np.arange(self.envs.num_envs), anew))
        return anew

    def _clear(self, out: Rollout) -> None:
        """Begin another rollout."""
        out.episodes, out.faults = [], []
        out.cut_episodes, out.bootstrapped, out.env_seconds, out.final_obs = 0, 0, 0.0, {}
        self.filled = False  # a fault half-way leaves a mixture of two rollouts
        out.anew, self._anew = self._anew, []
        moved = None if self.starts is None else self.starts.before(self.obs)
        if moved is not None:
            out.anew = sorted({*out.anew, *np.flatnonzero(moved.rows).tolist()})
            self._move(moved)

    def _move(self, moved: Relocated | None) -> None:
        """Go on from the places where environments were put; the agent replays the steps that led there."""
        if moved is not None:
            self.obs, self.masks = moved.obs, moved.masks
            self.agent.forget(moved.rows)
            self.agent.recall(moved.prefixes)

    # ------------------------------------------------------------------------------ state

    def arrays(self) -> dict[str, Array]:
        memory = self.agent.memory
        return {} if memory is None or not self._between else {"memory": memory}

    def state(self) -> dict[str, Any]:
        # Within an iteration the environments' state belongs to no update, so it is not saved.
        capture = self.capturable and self._between
        return {
            "env_steps": self.env_steps,
            "capturable": self.capturable,
            "envs": self.envs.capture() if capture else None,
        }

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Continue the running episodes, or say which begin other ones."""
        self.env_steps, self.capturable = int(state["env_steps"]), bool(state["capturable"])
        # New seeds: an environment that cannot go on must not repeat the episodes of the start.
        num_envs = self.envs.num_envs
        seeds = integer_seeds(self.seed, "env", num_envs, self.env_steps)
        if state["envs"] is None:
            self.begin(seeds)
            self._anew = list(range(num_envs))
            return ["the environments' state was not in the checkpoint: all episodes start anew"]
        self.obs, self.masks, restarted = self.envs.restore(state["envs"], seeds)
        self._anew = restarted
        memory = arrays.get("memory")
        if memory is not None and self.agent.memory is not None:
            self.agent.memory = resize_rows(memory, self.agent.memory)
        if not restarted:
            return []
        self._begin_anew(np.isin(np.arange(num_envs), restarted))
        which = "all" if len(restarted) == num_envs else ", ".join(map(str, restarted))
        return [f"the state of environments ({which}) could not be restored: their episodes start anew"]

    def rollback_point(self) -> Callable[[], None]:
        """Environments cannot go back: they stay as they are, and are not saved."""
        env_steps = self.env_steps

        def put_back() -> None:
            self.env_steps, self.begun = env_steps, 0
            self.filled = self._between = False

        return put_back

    def reseed(self, seed: int, env_steps: int) -> None:
        self.seed = seed
        self.begin(integer_seeds(seed, "env", self.envs.num_envs, env_steps))

    def begin(self, seeds: list[int]) -> None:
        """New episodes everywhere, one seed per environment."""
        self.obs, self.masks = self.envs.reset(seeds)
        self._begin_anew(np.ones(self.envs.num_envs, bool))

    def _begin_anew(self, rows: Array) -> None:
        """Episodes of these environments [N] bool began at a reset, without an end of those before."""
        self.agent.forget(rows)
        if self.starts is not None:
            self.starts.begun(rows)


def _write_step(out: Rollout, t: int, step: Step) -> None:
    out.rewards[t], out.valid[t] = step.rewards, step.valid
    out.terminated[t], out.truncated[t] = step.terminated, step.truncated
    if out.components is not None:
        out.components[t] = step.components
    if out.watched is not None:
        out.watched[t] = step.watched


def _discard(out: Rollout, t: int, cut: Array) -> None:
    """Mark the steps of an episode that a fault cut in step `t` as not valid: their future is unknown."""
    for row in np.flatnonzero(cut).tolist():
        ended = np.flatnonzero(out.done[:t, row])
        out.valid[ended[-1] + 1 if len(ended) else 0 : t + 1, row] = False
