"""The contract over ALE's own vector environment: emulators in threads, preprocessing in native code.

It serves what the wrapper `atari` says, optionally with those that `screen_plan.py` names, and gives
the same frames. The vector class runs without its own stacking, clipping, lives and late resets: stacks
start like `FrameStack`'s, the raw return is the game's score, and each ended game is reset by name, so that
every row is valid.

Its state is captured by replay: emulators get a new seed every few thousand steps (loading a ROM takes a
tenth of a second, so not in every game), and the actions since then lead back to the present.
"""

import hashlib
import os
from typing import Any

import gymnasium as gym
import numpy as np

from gymsolve.envs.backends import Fixed
from gymsolve.envs.backends.episode_stats import EpisodeStats
from gymsolve.envs.build import find_spec, notes_on
from gymsolve.envs.contract import Episode, Step
from gymsolve.envs.families.atari.family import FAMILY as ALE
from gymsolve.envs.families.atari.screen_plan import ScreenPlan, ale_obstacle
from gymsolve.envs.families.atari.wrapper import AtariOptions
from gymsolve.envs.families.family import Backend
from gymsolve.envs.options import check_wrappers
from gymsolve.envs.spaces import ImageBox, ObsLayout, action_spec
from gymsolve.settings.config import EnvConfig, Role
from gymsolve.spec import Array, EnvSpec, Obs

_RESEED = 4000
"""Steps of one environment after which its next game gets a new seed; bounds what a resume replays."""


def games_differ(config: EnvConfig) -> bool:
    """Does chance surely play a part: sticky actions, or a random number of idle frames at the start?

    A limit of one or two idle frames may leave no choice, where the frame of FIRE counts as one of them.
    """
    kwargs = find_spec(config.id).kwargs | config.kwargs
    options = AtariOptions(**check_wrappers(config, "train")[0].options)
    return kwargs["repeat_action_probability"] > 0 or options.noop_max > 2


class AleEnvs(Fixed):
    """`Envs` over `AtariVectorEnv`."""

    no_jumps = "steps all games at once, so that none of them can be put elsewhere"

    backend = "ale"

    def __init__(self, vec: Any, spec: EnvSpec, plan: ScreenPlan, chosen: Array | None) -> None:
        self._vec = vec
        self.num_envs: int = vec.num_envs
        self.spec = spec
        self._clip, self._by_life = plan.clip, plan.lives
        self._chosen = chosen
        """Numbers of the offered actions among the game's own; None where all are offered."""
        self._channels = 1 if vec.grayscale else 3
        self._lives = np.zeros(self.num_envs, dtype=np.int64)  # [N]
        self._stack = np.zeros((self.num_envs, *spec.obs["obs"].shape), dtype=np.uint8)  # [N, k, H, W]
        self._stats = EpisodeStats(self.num_envs)
        self._scores = np.zeros(self.num_envs)  # [N]
        self._valid = np.ones(self.num_envs, dtype=bool)  # [N]
        self._none = np.zeros(self.num_envs, dtype=bool)  # [N]
        self._valid.flags.writeable = self._none.flags.writeable = False
        self._seeds = [0] * self.num_envs
        self._rounds = [0] * self.num_envs
        """How often each environment was given a new seed since `reset`."""
        self._actions: list[list[int]] = [[] for _ in range(self.num_envs)]
        """Actions since then, by environment."""

    @classmethod
    def make(cls, config: EnvConfig, role: Role, num_envs: int) -> "AleEnvs":
        registered = find_spec(config.id)
        plan = ScreenPlan.of(config, role)
        options = plan.options
        kwargs = registered.kwargs | ALE.arguments(config.kwargs)
        vec = _make_vector(config, kwargs, options, num_envs)
        channels = config.frame_stack * (1 if vec.grayscale else 3)
        box = ImageBox(0, 255, (channels, options.size, options.size), dtype=np.uint8)
        chosen = plan.choose([action.name for action in vec.ale.get_action_set()])
        offered = vec.single_action_space if chosen is None else gym.spaces.Discrete(len(chosen))
        frames = _most_frames(config, kwargs)
        spec = EnvSpec(
            id=config.id,
            obs=ObsLayout(box).specs,
            action=action_spec(offered),
            reward_threshold=registered.reward_threshold,
            max_episode_steps=-(-frames // options.frame_skip) if frames > 0 else None,
            notes=notes_on(registered),
        )
        return cls(vec, spec, plan, chosen)

    # --------------------------------------------------------------------------- reset and step

    def reset(self, seeds: list[int]) -> tuple[Obs, None]:
        self._seeds = list(seeds)
        self._rounds = [0] * self.num_envs
        self._actions = [[] for _ in range(self.num_envs)]
        self._stats.clear()
        self._scores[:] = 0.0
        self._begin(np.arange(self.num_envs), [self._seed(row) for row in range(self.num_envs)])
        return {"obs": self._stack}, None

    def step(self, actions: Array) -> Step:
        for played, action in zip(self._actions, actions.tolist(), strict=True):
            played.append(action)
        rewards, terminated, truncated, lost = self._advance(actions)
        self._scores += rewards
        seen = rewards.astype(np.float32)  # [N]
        if self._clip is not None:
            seen = self._clip(seen)
        self._stats.returns += seen
        self._stats.lengths += 1
        over = terminated | truncated
        final_obs: Obs | None = None
        episodes: list[Episode] = []
        if over.any() or lost.any():
            final_obs = {"obs": self._stack.copy()}
            for row in np.flatnonzero(over | lost):
                episodes.append(self._stats.finish(int(row), bool(truncated[row]), float(self._scores[row])))
                self._scores[row] = 0.0
            if over.any():
                (ended,) = over.nonzero()
                self._begin(ended, [self._next_seed(int(row)) for row in ended])
            terminated = terminated | lost
            self._go_on(np.flatnonzero(lost))
        return Step({"obs": self._stack}, seen, terminated, truncated, self._valid, final_obs, None, episodes)

    def _advance(self, actions: Array) -> tuple[Array, Array, Array, Array]:
        """One step of all emulators: rewards, ends of games, and where a life was lost that ends an episode.

        The stack is a new array, so that older ones stay as they were.
        """
        if self._chosen is not None:
            actions = self._chosen[actions]
        frames, rewards, terminated, truncated, info = self._vec.step(actions)
        stack = np.empty_like(self._stack)
        stack[:, : -self._channels] = self._stack[:, self._channels :]
        stack[:, -self._channels :] = self._turned(frames)
        self._stack = stack
        truncated = truncated > terminated  # True only where terminated is not
        if not self._by_life:
            return rewards, terminated, truncated, self._none
        lost = (info["lives"] < self._lives) & ~(terminated | truncated)
        self._lives = info["lives"].copy()
        return rewards, terminated, truncated, lost

    def _turned(self, frames: Array) -> Array:
        """[N, channels, H, W] of what the emulators give: [N, 1, H, W], and 3 at the end for colours."""
        return frames if self._channels == 1 else np.moveaxis(frames[:, 0], -1, 1)

    def _fill(self, rows: Array, frames: Array) -> None:
        """Stacks of one frame, in a new array."""
        stack = self._stack.copy()
        stack[rows] = np.tile(frames, (1, stack.shape[1] // self._channels, 1, 1))
        self._stack = stack

    def _go_on(self, rows: Array) -> None:
        """Begin episodes in the middle of games."""
        if rows.size:
            self._fill(rows, self._stack[rows, -self._channels :])

    def _begin(self, rows: Array, seeds: list[int]) -> None:
        """Start games; a seed of -1 lets the emulator go on drawing where it was."""
        mask = np.zeros(self.num_envs, dtype=bool)
        mask[rows] = True
        whole = {} if mask.all() else {"options": {"reset_mask": mask}}
        frames, info = self._vec.reset(seed=np.array(seeds), **whole)
        self._fill(rows, self._turned(frames)[rows])
        self._lives[rows] = info["lives"][rows]

    def _seed(self, row: int) -> int:
        words = np.random.SeedSequence([self._seeds[row], self._rounds[row]]).generate_state(1)
        return int(words[0]) & 0x7FFFFFFF

    def _next_seed(self, row: int) -> int:
        if len(self._actions[row]) < _RESEED:
            return -1
        self._rounds[row] += 1
        self._actions[row] = []
        return self._seed(row)

    # ------------------------------------------------------------------------ capture and restore

    def capture(self) -> dict[str, Any]:
        return {
            "kind": "ale",
            "seeds": list(self._seeds),
            "rounds": list(self._rounds),
            "actions": [list(played) for played in self._actions],
            "scores": self._scores.tolist(),
            "digests": [self._digest(row) for row in range(self.num_envs)],
            **self._stats.to_json(),
        }

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, None, list[int]]:
        if state["kind"] != "ale" or len(state["seeds"]) != self.num_envs:
            return *self.reset(seeds), list(range(self.num_envs))
        self._stats.clear()
        self._scores[:] = 0.0
        self._seeds, self._rounds = list(state["seeds"]), list(state["rounds"])
        self._actions = [list(played) for played in state["actions"]]
        self._replay()
        restarted = [row for row in range(self.num_envs) if self._digest(row) != state["digests"][row]]
        for row in set(range(self.num_envs)) - set(restarted):
            self._stats.load(state, row)
            self._scores[row] = state["scores"][row]
        if restarted:
            for row in restarted:
                self._seeds[row], self._rounds[row], self._actions[row] = seeds[row], 0, []
            self._begin(np.array(restarted), [self._seed(row) for row in restarted])
        return {"obs": self._stack}, None, restarted

    def _replay(self) -> None:
        """Step all emulators to where their actions lead; those with fewer of them start later."""
        longest = max(map(len, self._actions))
        starts = np.array([longest - len(played) for played in self._actions])  # [N]
        for time in range(longest + 1):
            due = np.flatnonzero(starts == time) if time else np.arange(self.num_envs)  # all step from 0 on
            if due.size:
                self._begin(due, [self._seed(int(row)) for row in due])
            if time == longest:
                break
            actions = [
                played[time - start] if time >= start else 0
                for played, start in zip(self._actions, starts, strict=True)
            ]
            _, terminated, truncated, lost = self._advance(np.array(actions))
            ended = np.flatnonzero((terminated | truncated) & (starts <= time))
            if ended.size:
                self._begin(ended, [-1] * ended.size)
            self._go_on(np.flatnonzero(lost & (starts <= time)))

    def _digest(self, row: int) -> str:
        return hashlib.sha256(self._stack[row].tobytes()).hexdigest()

    # ---------------------------------------------------------------------------------- the rest

    def render(self) -> list[Array]:
        return []

    def close(self) -> None:
        self._vec.close()


def _most_frames(config: EnvConfig, kwargs: dict[str, Any]) -> int:
    """Frames of an episode before it is cut; 0 for any number."""
    known = (kwargs["max_num_frames_per_episode"], config.max_episode_steps)
    return min((frames for frames in known if frames), default=0)


def _make_vector(config: EnvConfig, kwargs: dict[str, Any], options: AtariOptions, num_envs: int) -> Any:
    return gym.make_vec(
        config.id,
        num_envs,
        "vector_entry_point",
        num_threads=min(num_envs, os.cpu_count() or 1),
        max_num_frames_per_episode=_most_frames(config, kwargs),
        repeat_action_probability=kwargs["repeat_action_probability"],
        full_action_space=kwargs["full_action_space"],
        img_height=options.size,
        img_width=options.size,
        frameskip=options.frame_skip,
        stack_num=1,
        grayscale=kwargs["obs_type"] == "grayscale",
        noop_max=options.noop_max,
        use_fire_reset=options.fire_reset,
        reward_clipping=False,
    )


BACKEND = Backend(ale_obstacle, AleEnvs.make, slow_start=True, seeds_certain=games_differ)
