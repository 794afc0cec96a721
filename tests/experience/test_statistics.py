"""Statistics of a rollout, against what a loop over its rows finds."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gymsolve.experience.credit import actor_critic_credit, monte_carlo_credit
from gymsolve.experience.statistics import (
    action_statistics,
    credit_statistics,
    describe,
    episode_statistics,
    first_observations,
    largest_entropy,
    observed_range,
    sample_rows,
    typical_size,
)
from gymsolve.settings.config import A2CConfig, PPOConfig, ReinforceConfig
from gymsolve.spec import ObsSpec
from probes import CASE_IDS, CASES, START, RandomEnvs, gather, make_case, make_policy, make_spec, vector

STEPS = 60


def collected(kind="discrete", masked=False, **envs):
    envs, policy = make_case(kind, masked, envs=envs)
    return policy.spec, gather(envs, policy, STEPS)


def rows(rollout):
    """Positions (t, n) of the steps that count."""
    return [(t, n) for t, n in np.ndindex(*rollout.valid.shape) if rollout.valid[t, n]]


def by_hand(name, numbers):
    numbers = [float(x) for x in numbers]
    mean = math.fsum(numbers) / len(numbers)
    return {
        f"{name}_mean": mean,
        f"{name}_std": math.sqrt(math.fsum((x - mean) ** 2 for x in numbers) / len(numbers)),
        f"{name}_min": min(numbers),
        f"{name}_max": max(numbers),
        f"{name}_p95abs": sorted(abs(x) for x in numbers)[math.ceil(0.95 * len(numbers)) - 1],
    }


def test_known_numbers():
    found = describe({"x": np.array([-3.0, 1.0, 1.0, 1.0], np.float32)})
    assert found == {"x_mean": 0.0, "x_std": math.sqrt(3.0), "x_min": -3.0, "x_max": 1.0, "x_p95abs": 3.0}
    assert describe({"x": np.arange(-100.0, 0.0)})["x_p95abs"] == 95.0
    assert describe({"x": np.array([2.0])})["x_std"] == 0.0


@pytest.mark.parametrize("next_step", [False, True])
def test_rewards_and_values_are_those_of_the_steps_that_count(next_step):
    _, rollout = collected(next_step=next_step)
    assert rollout.valid.all() != next_step
    found = credit_statistics(rollout, actor_critic_credit(rollout, PPOConfig(), START))
    wanted = by_hand("rollout/reward", [rollout.rewards[at] for at in rows(rollout)])
    wanted |= by_hand("rollout/value", [rollout.values[at] for at in rows(rollout)])
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize(
    "config", [PPOConfig(gamma=0.9, gae_lambda=0.8), A2CConfig(gamma=0.9, gae_lambda=1.0)]
)
def test_credit_is_what_actor_critics_learn_from(config):
    _, rollout = collected(next_step=True)
    found = credit_statistics(rollout, actor_critic_credit(rollout, config, START))
    gae_lambda, gamma = config.gae_lambda.at(START), 0.9
    advantages = np.zeros(rollout.rewards.shape)
    for n in range(rollout.rewards.shape[1]):
        later = 0.0
        for t in reversed(range(STEPS)):
            next_value = 0.0 if rollout.terminated[t, n] else float(rollout.next_values[t, n])
            delta = float(rollout.rewards[t, n]) + gamma * next_value - float(rollout.values[t, n])
            later = delta + (0.0 if rollout.done[t, n] else gamma * gae_lambda * later)
            advantages[t, n] = later
    wanted = by_hand("rollout/advantage", [advantages[at] for at in rows(rollout)])
    wanted |= by_hand("rollout/return", [advantages[at] + rollout.values[at] for at in rows(rollout)])
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("baseline", ["none", "mean", "value"])
def test_credit_is_what_reinforce_learns_from_before_it_is_normalised(baseline):
    config = ReinforceConfig.model_validate({"baseline": baseline, "normalize_advantages": "rollout"})
    _, rollout = collected()
    credit = monte_carlo_credit(rollout, config, START, 1.5)
    found = credit_statistics(rollout, credit)
    to_go = {}  # of every step whose episode ended: what followed it, and an estimate beyond a cut
    for n in range(rollout.rewards.shape[1]):
        later = None
        for t in reversed(range(STEPS)):
            if rollout.terminated[t, n]:
                later = 0.0
            elif rollout.truncated[t, n]:
                later = {"none": 0.0, "mean": 1.5, "value": float(rollout.next_values[t, n])}[baseline]
            if later is not None:
                later = to_go[t, n] = float(rollout.rewards[t, n]) + config.gamma.at(START) * later
    mean = 0.9 * 1.5 + 0.1 * np.mean(list(to_go.values()))
    against = {at: {"none": 0.0, "mean": mean, "value": rollout.values[at]}[baseline] for at in to_go}
    wanted = by_hand("rollout/advantage", [to_go[at] - against[at] for at in to_go])
    wanted |= by_hand("rollout/return", list(to_go.values()))
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    assert credit.mean_return == pytest.approx(mean if baseline == "mean" else 1.5)
    assert found["rollout/reward_max"] == rollout.rewards[rollout.valid].max()


def test_nothing_finished_leaves_reinforce_without_credit():
    _, rollout = collected(ends=0.0, cuts=0.0)
    found = credit_statistics(rollout, monte_carlo_credit(rollout, ReinforceConfig(), START, None))
    assert "rollout/reward_mean" in found
    assert "rollout/advantage_mean" not in found


def test_how_episodes_end():
    _, rollout = collected()
    found = episode_statistics(rollout)
    together = max(sum(map(bool, row)) for row in rollout.done)
    assert found["rollout/reset_synchrony"] == together / rollout.done.shape[1]
    ends = [at for at in rows(rollout) if rollout.terminated[at]]
    assert len(ends) > 8
    wanted = np.corrcoef([rollout.values[at] for at in ends], [rollout.rewards[at] for at in ends])[0, 1]
    assert found["train/terminal_correlation"] == pytest.approx(wanted, abs=1e-6)
    assert found["rollout/bootstrapped_share"] == 1.0


def test_what_cannot_be_told_of_ends_is_not_told():
    _, rollout = collected(ends=0.0, cuts=0.0)
    found = episode_statistics(rollout)
    assert math.isnan(found["train/terminal_correlation"])
    assert found["rollout/reset_synchrony"] == 0.0
    assert "rollout/bootstrapped_share" not in found
    _, rollout = collected()
    rollout.rewards[:] = 1.0
    assert math.isnan(episode_statistics(rollout)["train/terminal_correlation"])


def test_a_lost_last_observation_lowers_the_bootstrapped_share():
    class Forgetful(RandomEnvs):
        def step(self, actions):
            step = super().step(actions)
            step.final_obs = step.final_obs if len(self.steps) % 2 else None
            return step

    spec = make_spec()
    envs = Forgetful(spec)
    rollout = gather(envs, make_policy(spec), STEPS)
    kept = sum(int(step.truncated.sum()) for step in envs.steps if step.final_obs is not None)
    assert 0 < kept < rollout.truncated.sum()
    assert episode_statistics(rollout)["rollout/bootstrapped_share"] == kept / rollout.truncated.sum()


@pytest.mark.parametrize(("kind", "masked"), CASES, ids=CASE_IDS)
def test_actions_are_counted(kind, masked):
    spec, rollout = collected(kind, masked)
    found = action_statistics(rollout, spec.action)
    taken = np.concatenate([spec.action.to_env(rollout.actions[t]).reshape(-1) for t in range(STEPS)])
    assert found["action/mean"] == pytest.approx(np.mean(taken, dtype=np.float64))
    assert found["action/std"] == pytest.approx(np.std(taken, dtype=np.float64))
    chosen = [rollout.actions[at] for at in rows(rollout)]
    if kind in ("box", "squashed"):
        unit = [[np.tanh(a) if kind == "squashed" else a for a in row] for row in chosen]
        shares = [sum(abs(row[d]) >= 0.99 for row in unit) / len(unit) for d in range(3)]
        assert found["action/saturated_share"] == max(shares)
        return
    largest = 0.0
    for part, choices in enumerate(spec.action.nvec):
        counts = Counter(int(row[part]) for row in chosen)
        largest = max(largest, *(count / len(chosen) for count in counts.values()))
        name = "action/share_" if len(spec.action.nvec) == 1 else f"action/share_{part}_"
        wanted = {f"{name}{k}": counts[k] / len(chosen) for k in range(choices)}
        assert {key: found[key] for key in wanted} == wanted
    assert found["action/largest_share"] == largest


@pytest.mark.parametrize("nvec", [(33,), (1000,), (40, 3), (100, 2, 7), (64, 64)])
def test_many_choices_are_counted_together_with_their_neighbours(nvec):
    draw = np.random.default_rng(0)
    spec, rollout = collected("discrete")
    action = (
        spec.action if len(nvec) == 1 else replace(spec.action, kind="multi_discrete", shape=(len(nvec),))
    )
    action = replace(action, nvec=nvec, start=(0,) * len(nvec))
    chosen = np.stack([draw.integers(0, choices, rollout.valid.shape) for choices in nvec], axis=-1)
    rollout.actions = chosen
    found = action_statistics(rollout, action)
    shares = {name: share for name, share in found.items() if name.startswith("action/share_")}
    assert len(shares) <= 32
    kept = [chosen[at] for at in rows(rollout)]
    for part, choices in enumerate(nvec):
        own = {
            name: share
            for name, share in shares.items()
            if len(nvec) == 1 or name[13:].startswith(f"{part}_")
        }
        assert sum(own.values()) == pytest.approx(1.0)
        covered = []
        for name, share in own.items():
            first, _, last = name.rpartition("_")[2].partition("to")
            members = range(int(first), int(last or first) + 1)
            covered += members
            assert share == sum(int(row[part]) in members for row in kept) / len(kept)
        assert covered == list(range(choices))
    counts = [max(Counter(int(row[part]) for row in kept).values()) for part in range(len(nvec))]
    assert found["action/largest_share"] == max(counts) / len(kept)  # of a single choice still


def test_of_very_many_parts_no_choice_is_told_alone():
    spec, rollout = collected("discrete")
    action = replace(spec.action, kind="multi_discrete", nvec=(2,) * 40, shape=(40,), start=(0,) * 40)
    rollout.actions = np.random.default_rng(0).integers(0, 2, (*rollout.valid.shape, 40))
    found = action_statistics(rollout, action)
    assert set(found) == {"action/mean", "action/std", "action/largest_share"}


@pytest.mark.parametrize("masked", [False, True])
def test_the_largest_entropy_counts_what_is_legal(masked):
    spec, rollout = collected("multi_discrete", masked, next_step=True)
    total = []
    for at in rows(rollout):
        flags = np.ones(10, bool) if rollout.masks is None else rollout.masks[at]
        total.append(sum(math.log(max(1, part.sum())) for part in np.split(flags, [2, 7])))
    assert largest_entropy(rollout, spec.action) == pytest.approx(math.fsum(total) / len(total))
    assert largest_entropy(rollout, make_spec("box").action) is None


def test_the_range_of_observations_and_what_stood_still():
    spec = make_spec(obs={"a": vector(3), "b": ObsSpec("discrete", (), "int64", (7,))})
    rollout = gather(RandomEnvs(spec, next_step=True), make_policy(spec), STEPS)
    rollout.obs["a"][..., 1] = 4.0
    rollout.obs["a"][~rollout.valid] = 1e6  # rows that never were
    ends, still = observed_range(rollout)
    assert still == 1 / 4
    seen = np.array([rollout.obs["a"][at] for at in rows(rollout)])
    np.testing.assert_array_equal(ends["a"], [seen.min(axis=0), seen.max(axis=0)])


def test_of_pictures_some_rows_tell_the_range():
    spec = make_spec(obs={"a": ObsSpec("image", (1, 36, 36), "uint8")})
    rollout = gather(RandomEnvs(spec, next_step=True), make_policy(spec), STEPS)
    assert rollout.env_steps > 128
    rollout.obs["a"][:, :, 0, :4] = 9
    ends, still = observed_range(rollout)
    assert still == 4 / 36
    looked_at = rollout.obs["a"].reshape(-1, 1, 36, 36)[sample_rows(rollout, 128)]
    np.testing.assert_array_equal(ends["a"], [looked_at.min(axis=0), looked_at.max(axis=0)])


def test_sampled_rows_count_and_are_spread_over_the_rollout():
    _, rollout = collected(next_step=True)
    chosen = sample_rows(rollout, 20)
    assert len(set(chosen.tolist())) == 20
    assert rollout.valid.reshape(-1)[chosen].all()
    assert chosen[0] < 8 <= 60 * 4 - 8 <= chosen[-1]
    assert len(sample_rows(rollout, 10_000)) == rollout.env_steps


@pytest.mark.parametrize("next_step", [False, True])
def test_first_observations_are_those_after_an_end(next_step):
    _, rollout = collected(next_step=next_step)
    expected = []
    for t, n in rows(rollout):
        before = [k for k in range(t) if rollout.valid[k, n]]
        if before and rollout.done[before[-1], n]:
            expected.append(rollout.obs["obs"][t, n])
    found = first_observations(rollout)
    assert len(expected) > 3
    np.testing.assert_array_equal(found["obs"], expected[:64])


def test_without_an_end_no_first_observation_is_known():
    _, rollout = collected()
    rollout.terminated[:] = rollout.truncated[:] = False
    assert first_observations(rollout) is None


def test_the_typical_size_of_numbers_is_their_root_mean_square():
    assert typical_size({"a": np.array([[3.0, 4.0]]), "b": np.array([[0.0], [0.0]])}) == 2.5
    assert typical_size({}) is None
