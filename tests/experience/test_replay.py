"""The replay buffer against lists: what it gives out is what happened, whatever ends, wraps or is resumed."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gymsolve.experience.replay import ReplayBuffer
from gymsolve.experience.replay_files import read_span
from gymsolve.experience.rollout import Rollout, allocate
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec

STACK, SIDE = 3, 4
ACTION = ActionSpec("discrete", (), nvec=(3,), start=(0,))
VECTOR = {"obs": ObsSpec("vector", (2,), "float32"), "cell": ObsSpec("discrete", (), "int64", nvec=(1000,))}
PICTURE = {"obs": ObsSpec("image", (STACK, SIDE, SIDE), "uint8"), "speed": ObsSpec("vector", (1,), "float32")}
GAMMA = 0.9


@dataclass
class Told:
    """One step of one environment, as a list remembers it."""

    obs: dict
    action: int
    reward: float
    terminated: bool
    stops: bool
    valid: bool
    mask: np.ndarray
    after: dict
    after_mask: np.ndarray | None
    """None where nobody knows."""


@dataclass
class World:
    """Environments at random: ends, cuts, reset rows, episodes that are abandoned; and the lists."""

    spec: EnvSpec
    num_envs: int
    seed: int
    resets: bool = False
    history: list[list[Told]] = field(default_factory=list)  # [env][step]

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.history = [[] for _ in range(self.num_envs)]
        self.shown = [self.begin() for _ in range(self.num_envs)]
        self.over = np.zeros(self.num_envs, bool)

    def look(self) -> dict:
        obs = {}
        for key, entry in self.spec.obs.items():
            if entry.kind == "image":
                # Few different frames, so that equal ones follow each other now and then.
                obs[key] = np.full((SIDE, SIDE), self.rng.integers(0, 4), np.uint8)
            elif entry.kind == "vector":
                obs[key] = self.rng.normal(size=entry.shape).astype(np.float32)
            else:
                obs[key] = np.array(self.rng.integers(0, 1000))
        return obs

    def begin(self) -> dict:
        obs = self.look()
        for key, entry in self.spec.obs.items():
            if entry.kind == "image":
                zeros = np.zeros((STACK - 1, SIDE, SIDE), np.uint8)
                filled = np.repeat(obs[key][None], STACK - 1, axis=0)
                obs[key] = np.concatenate([zeros if self.rng.random() < 0.5 else filled, obs[key][None]])
        return obs

    def follow(self, before: dict) -> dict:
        obs = self.look()
        for key, entry in self.spec.obs.items():
            if entry.kind == "image":
                obs[key] = np.concatenate([before[key][1:], obs[key][None]])
        return obs

    def mask(self) -> np.ndarray:
        mask = self.rng.random(3) < 0.5
        mask[self.rng.integers(3)] = True
        return mask

    def rollout(self, steps: int) -> Rollout:
        """The next steps of all environments, as a collector would give them."""
        n, spec = self.num_envs, self.spec
        out = allocate(spec, steps, n, STACK if spec.obs["obs"].kind == "image" else 1)
        out.anew = [env for env in range(n) if self.history[env] and self.rng.random() < 0.2]
        for env in out.anew:
            self.history[env][-1].stops = True  # what follows it stays what it was
            self.history[env][-1].after_mask = None
            self.shown[env], self.over[env] = self.begin(), False
        masks = [self.mask() for _ in range(n)]
        for env in range(n):
            if self.history[env] and env not in out.anew and not self.history[env][-1].stops:
                self.history[env][-1].after_mask = masks[env]
        for t in range(steps):
            out.masks[t] = masks
            for key in spec.obs:
                out.obs[key][t] = np.stack([shown[key] for shown in self.shown])
            finals, following = {}, [self.mask() for _ in range(n)]
            for env in range(n):
                valid = not (self.resets and self.over[env])
                draw = self.rng.random()
                ended, cut = valid and draw < 0.15, valid and draw > 0.85
                out.terminated[t, env], out.truncated[t, env], out.valid[t, env] = ended, cut, valid
                out.actions[t, env] = action = self.rng.integers(3)
                out.rewards[t, env] = reward = np.float32(self.rng.normal())
                last = self.follow(self.shown[env])
                done = ended or cut
                told = (int(action), float(reward), ended, done, valid, masks[env], last)
                self.history[env].append(Told(self.shown[env], *told, None if done else following[env]))
                finals[env] = last
                fresh = done if not self.resets else self.over[env]
                self.over[env] = done
                self.shown[env] = self.begin() if fresh else last
                if self.resets and not valid:
                    self.history[env][-1].after = self.shown[env]
            if out.done[t].any():
                out.final_obs[t] = {key: np.stack([finals[env][key] for env in range(n)]) for key in spec.obs}
            masks = following
        out.last_obs = {key: np.stack([shown[key] for shown in self.shown]) for key in spec.obs}
        out.last_masks = np.stack(masks)
        return out


def expect(world: World, env: int, step: int, n_step: int) -> tuple[float, Told, float]:
    """Discounted rewards from a step on, the step they end with, and the discount of what followed."""
    total, factor, history = 0.0, 1.0, world.history[env]
    for k in range(step, len(history)):
        told = history[k]
        if k > step and not told.valid:
            break
        total, factor, last = total + factor * told.reward, factor * GAMMA, told
        if told.stops or k - step + 1 == n_step:
            break
    return total, last, 0.0 if last.terminated else factor


def rows_of(buffer: ReplayBuffer) -> list[tuple[int, int, int]]:
    """Position, environment and number of every step in the buffer."""
    ring = buffer.ring
    if ring is None:
        return []
    return [
        ((step % ring.capacity) * ring.num_envs + env, env, step)
        for step in range(ring.oldest, ring.added)
        for env in range(ring.num_envs)
        if ring.columns["valid"][step % ring.capacity, env]
    ]


def assert_faithful(buffer: ReplayBuffer, world: World, n_step: int) -> None:
    """Every step of the buffer is the one in the lists."""
    rows = rows_of(buffer)
    assert len(buffer) == len(rows)
    if not rows:
        return
    steps = buffer.take(np.array([row for row, _, _ in rows]), n_step, GAMMA)
    for i, (_, env, step) in enumerate(rows):
        told = world.history[env][step]
        assert told.valid
        total, last, discount = expect(world, env, step, n_step)
        assert steps.actions[i, 0] == told.action
        assert steps.rewards[i] == pytest.approx(total, abs=1e-5)
        assert steps.discounts[i] == pytest.approx(discount)
        assert steps.terminated[i] == last.terminated
        np.testing.assert_array_equal(steps.masks[i], told.mask)
        if last.after_mask is None:
            assert steps.next_masks[i].all()
        else:
            np.testing.assert_array_equal(steps.next_masks[i], last.after_mask)
        for key in world.spec.obs:
            np.testing.assert_array_equal(steps.obs[key][i], told.obs[key], err_msg=key)
            np.testing.assert_array_equal(steps.next_obs[key][i], last.after[key], err_msg=key)


def make(obs: dict, num_envs: int, seed: int, *, resets: bool = False) -> tuple[World, EnvSpec]:
    spec = EnvSpec("World", obs, ACTION, masked=True)
    return World(spec, num_envs, seed, resets), spec


CASES = st.fixed_dictionaries(
    {
        "obs": st.sampled_from([VECTOR, PICTURE]),
        "num_envs": st.integers(1, 3),
        "seed": st.integers(0, 10**6),
        "resets": st.booleans(),
    }
)
LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=8)
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(CASES, LENGTHS, st.integers(5, 12), st.integers(1, 4))
def test_it_gives_what_happened(case, lengths, capacity, n_step):
    world, spec = make(**case)
    buffer = ReplayBuffer(spec, capacity * case["num_envs"])
    for length in lengths:
        buffer.add(world.rollout(length))
        assert_faithful(buffer, world, n_step)
    assert buffer.transitions == sum(told.valid for history in world.history for told in history)


@QUICK
@given(CASES, LENGTHS, st.integers(5, 12))
def test_an_iteration_can_be_taken_back(case, lengths, capacity):
    world, spec = make(**case)
    buffer = ReplayBuffer(spec, capacity * case["num_envs"])
    for length in lengths:
        before = [list(history) for history in world.history]
        ends = [history[-1] if history else None for history in world.history]
        marks = [(told.stops, told.after_mask) if told else None for told in ends]
        shown = [dict(shown) for shown in world.shown]
        undo = buffer.rollback_point()
        buffer.add(world.rollout(length))
        after = [list(history) for history in world.history], world.shown
        changed = [(told.stops, told.after_mask) if told else None for told in ends]
        world.history, world.shown = before, shown
        for told, mark in zip(ends, marks, strict=True):
            if told is not None:
                told.stops, told.after_mask = mark
        undo()
        assert_faithful(buffer, world, 2)
        # The same rollout once more: nothing of the first time is left.
        world.history, world.shown = after
        for told, mark in zip(ends, changed, strict=True):
            if told is not None:
                told.stops, told.after_mask = mark
        buffer.add(_again(world, spec, length, before))
        assert_faithful(buffer, world, 2)


def _again(world: World, spec: EnvSpec, steps: int, before: list[list[Told]]) -> Rollout:
    """The newest rollout of a world, made from its lists."""
    n = world.num_envs
    out = allocate(spec, steps, n, STACK if spec.obs["obs"].kind == "image" else 1)
    out.anew = [env for env in range(n) if before[env] and before[env][-1].stops]
    for t in range(steps):
        row = [history[t - steps] for history in world.history]
        for key in spec.obs:
            out.obs[key][t] = np.stack([told.obs[key] for told in row])
        out.masks[t] = [told.mask for told in row]
        for env, told in enumerate(row):
            out.actions[t, env], out.rewards[t, env] = told.action, told.reward
            out.terminated[t, env], out.valid[t, env] = told.terminated, told.valid
            done = told.stops and told.valid
            out.truncated[t, env] = done and not told.terminated
        if out.done[t].any():
            out.final_obs[t] = {key: np.stack([told.after[key] for told in row]) for key in spec.obs}
    out.last_obs = {key: np.stack([shown[key] for shown in world.shown]) for key in spec.obs}
    newest = [history[-1].after_mask for history in world.history]
    out.last_masks = np.stack([np.ones(3, bool) if mask is None else mask for mask in newest])
    return out


def same_draws(one: ReplayBuffer, other: ReplayBuffer) -> None:
    """Both give the same steps for the same random numbers, bit for bit."""
    if not len(one):
        assert not len(other)
        return
    rows = [buffer.sample(64, np.random.default_rng(7)) for buffer in (one, other)]
    mine, theirs = (buffer.take(some, 3, GAMMA) for buffer, some in zip((one, other), rows, strict=True))
    for key in mine.obs:
        np.testing.assert_array_equal(mine.obs[key], theirs.obs[key])
        np.testing.assert_array_equal(mine.next_obs[key], theirs.next_obs[key])
    for field_name in ("actions", "rewards", "terminated", "discounts", "masks", "next_masks"):
        np.testing.assert_array_equal(mine._asdict()[field_name], theirs._asdict()[field_name])


def reload(buffer: ReplayBuffer, spec: EnvSpec, size: int, folder: Path) -> ReplayBuffer:
    """What another process makes of the files."""
    names = buffer.write_files(folder)
    assert all(name.startswith("replay-") for name in names)
    other = ReplayBuffer(spec, size)
    assert other.load({key: array.copy() for key, array in buffer.arrays().items()}, buffer.state()) == []
    other.load_files(folder, names)
    return other


@QUICK
@given(CASES, LENGTHS, st.integers(5, 12), st.integers(0, 10**6))
# A rollout that fills the whole ring overwrites the step at which an episode was abandoned.
@example({"obs": PICTURE, "num_envs": 1, "seed": 0, "resets": False}, [2, 5], 5, 0)
def test_it_resumes_bit_for_bit(tmp_path_factory, case, lengths, capacity, chance):
    folder, rng = tmp_path_factory.mktemp("run"), np.random.default_rng(chance)
    world, spec = make(**case)
    size = capacity * case["num_envs"]
    buffer = ReplayBuffer(spec, size)
    for length in lengths:
        buffer.add(world.rollout(length))
        if rng.random() < 0.5:
            other = reload(buffer, spec, size, folder)
            same_draws(buffer, other)
            assert_faithful(other, world, 2)
            if rng.random() < 0.5:
                buffer = other  # goes on as another process


def test_a_checkpoint_writes_only_what_is_new(tmp_path):
    world, spec = make(VECTOR, 2, 0)
    buffer = ReplayBuffer(spec, 40)
    buffer.add(world.rollout(5))
    first = buffer.write_files(tmp_path)
    assert [read_span(name) for name in first] == [(0, 5)]
    stamp = (tmp_path / first[0]).stat().st_mtime_ns
    buffer.add(world.rollout(5))
    second = buffer.write_files(tmp_path)
    assert [read_span(name) for name in second] == [(0, 5), (5, 10)]
    assert second[0] == first[0]
    assert (tmp_path / first[0]).stat().st_mtime_ns == stamp
    assert buffer.write_files(tmp_path) == second  # nothing is new
    for _ in range(3):
        buffer.add(world.rollout(5))
    # The ring has 20 steps: those of the first file are gone.
    assert [read_span(name) for name in buffer.write_files(tmp_path)] == [(5, 10), (10, 25)]


def test_another_run_gets_files_of_its_own(tmp_path):
    world, spec = make(PICTURE, 2, 0)
    buffer = ReplayBuffer(spec, 20)
    for _ in range(5):
        buffer.add(world.rollout(4))
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    forked = reload(buffer, spec, 20, tmp_path / "one")
    names = forked.write_files(tmp_path / "other")
    assert [read_span(name) for name in names] == [(10, 20)]
    same_draws(buffer, reload(forked, spec, 20, tmp_path / "other"))


def test_a_smaller_buffer_keeps_the_newest_steps(tmp_path):
    world, spec = make(VECTOR, 2, 0)
    buffer = ReplayBuffer(spec, 40)
    for _ in range(4):
        buffer.add(world.rollout(5))
    smaller = reload(buffer, spec, 16, tmp_path)
    assert (smaller.ring.oldest, smaller.ring.added) == (12, 20)
    assert_faithful(smaller, world, 3)
    buffer = reload(smaller, spec, 40, tmp_path)  # larger again: what is gone does not come back
    assert (buffer.ring.oldest, buffer.ring.added) == (12, 20)
    buffer.add(world.rollout(5))
    assert_faithful(buffer, world, 3)


def test_other_environments_begin_with_an_empty_buffer():
    world, spec = make(VECTOR, 2, 0)
    buffer = ReplayBuffer(spec, 40)
    buffer.add(world.rollout(5))
    other, _ = make(VECTOR, 3, 1)
    rollout = other.rollout(4)
    buffer.add(rollout)
    assert len(buffer) == rollout.env_steps


def test_samples_are_uniform_and_never_reset_rows():
    world, spec = make(VECTOR, 3, 4, resets=True)
    buffer = ReplayBuffer(spec, 30)
    for _ in range(5):
        buffer.add(world.rollout(4))
    rows = [row for row, _, _ in rows_of(buffer)]
    assert 0 < len(rows) < 30
    draws = buffer.sample(100 * len(rows), np.random.default_rng(1))
    counts = np.bincount(draws, minlength=30)
    assert set(np.flatnonzero(counts)) == set(rows)
    statistic = float(((counts[rows] - 100.0) ** 2 / 100.0).sum())
    assert statistic < 2.0 * len(rows)  # chi-square with about as many degrees of freedom


def test_frames_are_stored_once_and_forgotten():
    spec = EnvSpec("Frames", {"obs": ObsSpec("image", (STACK, SIDE, SIDE), "uint8")}, ACTION, masked=True)
    world = World(spec, 1, 3)
    buffer = ReplayBuffer(spec, 10)
    for _ in range(50):
        buffer.add(world.rollout(5))
    stored = buffer.ring.stores["obs"]._frames[0]
    ended = sum(len(ends) for ends in buffer.ring.ends.values())
    # A frame per step, those that older stacks still show, and one for each end and each beginning.
    assert len(stored) <= 10 + STACK + 3 * (ended + 2)
