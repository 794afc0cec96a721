"""What each bonus pays, against its formula written out."""

import dataclasses

import numpy as np
import pytest
import torch

from gymsolve.errors import ConfigError
from gymsolve.experience.collect import Collector
from gymsolve.experience.rollout import Rollout, allocate
from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.cells import Cells, choose_cells
from gymsolve.extensions.exploration.counts import Counts, VisitTable, ranks
from gymsolve.extensions.exploration.critic import Critic
from gymsolve.extensions.exploration.curiosity import Curiosity
from gymsolve.extensions.exploration.dynamics import ForwardModel, InverseModel
from gymsolve.extensions.exploration.inputs import Inputs
from gymsolve.extensions.exploration.nets import NetSetup
from gymsolve.extensions.exploration.rarity import Rarity
from gymsolve.extensions.exploration.rnd import NovelD, RandomDistillation
from gymsolve.extensions.exploration.visits import Episodic, Visits
from gymsolve.settings.config import ExploreConfig, PPOConfig
from gymsolve.spec import ObsSpec
from probes import START, RandomEnvs, make_policy, make_spec, vector

CPU = torch.device("cpu")
STATES = {"obs": ObsSpec("discrete", (), "int64", nvec=(9,), start=(0,))}


def rng(seed=0):
    return np.random.default_rng(seed)


def walk(states, done=(), *, last=8, final=None, valid=None) -> Rollout:
    """One environment that passes through `states`; `final` is where episodes in `done` ended."""
    rollout = allocate(make_spec(obs=STATES), len(states), 1)
    rollout.obs["obs"][:, 0] = states
    rollout.terminated[list(done), 0] = True
    rollout.last_obs = {"obs": np.array([last])}
    rollout.final_obs = {step: {"obs": np.array([(final or {}).get(step, 8)])} for step in done}
    if valid is not None:
        rollout.valid[:, 0] = valid
    return rollout


def gathered(spec, *, steps=12, next_step=False, stack=1, envs=None):
    envs = envs or RandomEnvs(spec, next_step=next_step)
    plain = make_spec(obs={"obs": vector(3)})
    collector = Collector(envs, make_policy(plain), steps, 0, frame_stack=stack)
    collector.keeps_ends = True
    return collector.collect(rng())


@pytest.mark.parametrize("stack", [1, 4])
@pytest.mark.parametrize("next_step", [False, True])
def test_the_successor_of_an_end_is_the_last_observation_of_its_episode(next_step, stack):
    more = {"b": ObsSpec("image", (4, 6, 6), "uint8")} if stack == 4 else {}
    envs = RandomEnvs(make_spec(obs={"obs": vector(3)} | more), next_step=next_step)
    rollout = gathered(envs.spec, steps=40, stack=stack, envs=envs)
    seen = Transitions(rollout)
    found = seen.take(seen.there)
    for t, n in np.argwhere(rollout.valid):
        step = envs.steps[t]
        source = step.final_obs if step.terminated[n] or step.truncated[n] else step.obs
        for key in envs.spec.obs:
            np.testing.assert_array_equal(found[key][t, n], source[key][n])


@pytest.mark.parametrize("next_step", [False, True])
def test_every_step_knows_where_it_leads_and_where_the_next_one_begins(next_step):
    spec = make_spec(obs={"obs": vector(3)})
    rollout = gathered(spec, steps=40, next_step=next_step)
    seen = Transitions(rollout)
    onward = seen.take(seen.onward)["obs"]  # [T, N, 3]
    for env in range(rollout.num_envs):
        for step in range(rollout.vec_steps):
            later = [t for t in range(step + 1, rollout.vec_steps) if rollout.valid[t, env]]
            wanted = rollout.obs["obs"][later[0], env] if later else rollout.last_obs["obs"][env]
            np.testing.assert_array_equal(onward[step, env], wanted)


def test_counts_pay_one_over_the_root_of_the_number_of_visits():
    counts = Counts(Cells(ExploreConfig(bonus="counts"), make_spec(obs=STATES), rng()))
    visits: dict[int, int] = {}
    for states in ([0, 1, 2, 1, 1, 0], [5, 1, 5, 5, 2, 1]):
        seen = Transitions(walk(states, last=1))
        paid = counts.pay(seen)
        np.testing.assert_array_equal(counts.pay(seen), paid)  # nothing moves before it has learned
        for step, state in enumerate([*states[1:], 1]):
            visits[state] = visits.get(state, 0) + 1
            assert paid[step, 0] == pytest.approx(visits[state] ** -0.5)
        metrics = counts.learn(seen, 0.0, rng())
        assert metrics["bonus/cells"] == len(visits)


def test_the_same_state_of_two_tasks_is_two_cells():
    spec = dataclasses.replace(make_spec(obs=STATES), watched=("state",))
    counts = Counts(Cells(ExploreConfig(bonus="counts", cells="state"), spec, rng()))
    rollout = walk([0, 0, 0, 0])
    rollout.watched = np.full((4, 1, 1), 7.0)
    rollout.tasks, rollout.obs["task"] = ("a", "b"), np.array([[0], [1], [0], [1]])
    rollout.last_obs["task"] = np.array([0])
    np.testing.assert_allclose(counts.pay(Transitions(rollout))[:, 0], [1, 1, 0.5**0.5, 0.5**0.5])


def test_the_end_of_an_episode_pays_for_its_true_last_state_and_a_reset_row_for_nothing():
    counts = Counts(Cells(ExploreConfig(bonus="counts"), make_spec(obs=STATES), rng()))
    rollout = walk([0, 1, 7, 2], done=[1], final={1: 5}, valid=[True, True, False, True], last=1)
    counts.learn(Transitions(rollout), 0.0, rng())
    assert {int(cell): n for cell, n in zip(*counts.arrays().values(), strict=True)} == {
        int(cell): n for cell, n in zip(*_cells_of([1, 5]), strict=True)
    } | {int(_cells_of([1])[0][0]): 2}


def _cells_of(states):
    cells = Cells(ExploreConfig(bonus="counts"), make_spec(obs=STATES), rng())
    seen = Transitions(walk([0, *states], last=0))
    return cells.ends(seen)[:-1, 0].tolist(), [1] * len(states)


def test_visits_are_taken_back_as_if_they_had_not_been():
    table = VisitTable()
    table.add(np.array([1, 2, 2], np.uint64))
    before = dict(table.visits)
    undo = table.rollback_point()
    table.add(np.array([2, 3], np.uint64))
    table.add(np.array([2, 3, 4], np.uint64))
    undo()
    assert table.visits == before
    np.testing.assert_array_equal(ranks(np.array([4, 7, 4, 4, 7])), [1, 1, 2, 3, 2])


def test_cells_are_bins_of_bounded_numbers_and_signs_of_projections_of_others():
    bounded = make_spec(obs={"obs": vector(2, low=(-1.0, 0.0), high=(1.0, 4.0))})
    settings = ExploreConfig(bonus="counts", bins=4)
    rollout = allocate(bounded, 5, 1)
    rollout.obs["obs"][:, 0] = [[-1, 0], [-0.6, 0.9], [-0.4, 0.9], [1, 4], [7, 9]]
    rollout.last_obs = {"obs": np.zeros((1, 2), np.float32)}
    cells = Cells(settings, bounded, rng()).beginnings(Transitions(rollout))[:, 0]
    assert cells[0] == cells[1] != cells[2]
    assert cells[3] == cells[4]  # what lies beyond a bound is in the last bin
    free = make_spec(obs={"obs": vector(2)})
    hashed = Cells(settings, free, rng())
    found = hashed.beginnings(Transitions(rollout))[:, 0]
    flat = rollout.obs["obs"][:, 0]
    signs = (flat - flat.mean(0)) / (flat.std(0) + 1e-6) @ hashed.axes > 0
    np.testing.assert_array_equal(found, [sum(1 << b for b in np.flatnonzero(row).tolist()) for row in signs])


def test_one_hot_states_are_cells_of_their_own_whatever_the_first_rollout_saw():
    """225 states of which the first rollout sees 1, 10 or 120."""
    spec, states = make_spec(obs={"obs": vector(225)}), np.eye(225, dtype=np.float32)
    for seen in (1, 10, 120):
        cells = Cells(ExploreConfig(bonus="counts"), spec, rng(seen))
        cells.measure({"obs": states[rng().integers(0, seen, 2048)]})
        assert cells.kind == "hash"
        assert len(np.unique(cells.of({"obs": states}))) == 225


@pytest.mark.parametrize(
    ("obs", "settings", "kind"),
    [
        ({"a": ObsSpec("discrete", (2,), "int64", nvec=(3, 4), start=(0, 0))}, {}, "exact"),
        ({"a": ObsSpec("vector", (30,), "int8")}, {}, "exact"),
        ({"a": vector(3, low=(0.0,) * 3, high=(1.0,) * 3)}, {}, "bins"),
        ({"a": vector(8, low=(0.0,) * 8, high=(1.0,) * 8)}, {}, "hash"),
        ({"a": vector(2)}, {}, "hash"),
        ({"a": vector(2)}, {"cells": "bins"}, "numbers without bounds in 'a'"),
        ({"a": ObsSpec("image", (1, 8, 8), "uint8")}, {}, "no two pictures"),
        ({"a": ObsSpec("image", (1, 8, 8), "uint8")}, {"cells": "hash"}, "hash"),
        ({"a": ObsSpec("image", (1, 8, 8), "uint8"), "b": vector(1)}, {"entries": ["b"]}, "hash"),
    ],
)
def test_what_counts_as_a_cell(obs, settings, kind):
    asked = ExploreConfig(bonus="counts", **settings)
    if " " not in kind:
        assert choose_cells(asked, make_spec(obs=obs)) == kind
        return
    with pytest.raises(ConfigError, match=kind):
        choose_cells(asked, make_spec(obs=obs))


def test_an_episode_is_paid_for_each_of_its_cells_once():
    episodic = Episodic(Cells(ExploreConfig(bonus="episodic"), make_spec(obs=STATES), rng()), 1)
    first = Transitions(walk([0, 1, 0, 2], last=1))
    assert episodic.pay(first)[:, 0].tolist() == [1, 0, 1, 0]  # 0 is where it began, 1 was visited
    episodic.learn(first, 0.0, rng())
    second = Transitions(walk([1, 3, 0, 1, 2], done=[1], final={1: 4}, last=0))
    assert episodic.pay(second)[:, 0].tolist() == [1, 1, 1, 1, 0]  # after the end everything is new again
    episodic.begin([0])
    anew = Transitions(walk([1, 0, 2], last=3))
    assert episodic.pay(anew)[:, 0].tolist() == [1, 1, 1]  # it began anew, be it where it stood


def networks(bonus, spec, kind, *more, **settings):
    asked = ExploreConfig(bonus=bonus, hidden=(16,), features=4, **settings)
    inputs = Inputs(spec, (), 1, CPU)
    return kind(NetSetup(asked, inputs, "small", CPU, rng()), *more), inputs


def test_random_distillation_pays_the_error_of_scaled_observations_written_out():
    spec = make_spec(obs={"obs": vector(3)})
    rollout = gathered(spec)
    seen = Transitions(rollout)
    bonus, inputs = networks("rnd", spec, RandomDistillation)
    rows = rollout.obs["obs"][rollout.valid].astype(np.float64)
    inputs.observe({"obs": rows})
    paid = bonus.pay(seen)
    ends = seen.take(seen.there)["obs"]
    scaled = np.clip((ends - rows.mean(0)) / np.sqrt(rows.var(0) + 1e-8), -5, 5).astype(np.float32)

    def through(net):
        x = torch.from_numpy(scaled)
        for layer in net.body:
            x = x @ layer.weight.T + layer.bias if isinstance(layer, torch.nn.Linear) else x.clamp(min=0)
        return x.detach().numpy()

    wanted = 0.5 * ((through(bonus.predictor) - through(bonus.target)) ** 2).sum(-1)
    np.testing.assert_allclose(paid, wanted, rtol=1e-4)
    for _ in range(60):
        bonus.pay(seen)
        bonus.learn(seen, 1e-2, rng())
    assert bonus.pay(seen).mean() < 0.2 * paid.mean()  # what was seen often is new no more


def test_noveld_pays_for_growing_novelty_at_first_visits_only():
    spec = make_spec(obs=STATES)
    cells = Cells(ExploreConfig(bonus="noveld"), spec, rng())
    bonus, _ = networks("noveld", spec, NovelD, Visits(cells, 1))
    seen = Transitions(walk([0, 1, 2, 1, 3, 0], done=[3], final={3: 4}, last=3))
    paid = bonus.pay(seen)[:, 0]
    lengths = np.sqrt(2 * bonus.errors(seen))
    grown = np.maximum(lengths[seen.there] - 0.5 * lengths[seen.here], 0)[:, 0]
    np.testing.assert_allclose(paid, grown * [1, 1, 0, 1, 1, 0], rtol=1e-6)
    assert (grown > 0).any()


def test_icm_learns_to_tell_actions_and_forward_errors_fall():
    """The action decides where the state goes, so that it can be told."""
    spec = make_spec(obs=STATES)
    bonus, _ = networks("icm", spec, InverseModel, spec.action)
    rollout = allocate(spec, 200, 1)
    draw = rng(1)
    rollout.actions[:, 0, 0] = draw.integers(0, 5, 200)
    rollout.obs["obs"][1:, 0] = rollout.actions[:-1, 0, 0]
    rollout.last_obs = {"obs": rollout.actions[-1, :, 0].copy()}
    seen = Transitions(rollout)
    paid, scores = [], []
    for _ in range(60):
        paid.append(bonus.pay(seen).mean())
        scores.append(bonus.learn(seen, 1e-2, draw)["bonus/inverse"])
    assert scores[0] < 0.6
    assert scores[-1] > 0.95
    assert paid[-1] < 0.2 * max(paid)


def test_the_forward_model_pays_nothing_for_what_is_predictable_and_the_spread_of_what_is_not():
    """Action 0 leads to the next state, action 1 to any of nine.

    A model that knows this predicts the next state without error, and of a random one the mean features:
    half their variance remains.
    """
    spec = make_spec(obs=STATES)
    settings = ExploreConfig(bonus="forward", hidden=(64,), features=16)
    bonus = ForwardModel(NetSetup(settings, Inputs(spec, (), 1, CPU), "small", CPU, rng()), spec.action)
    draw, steps = rng(1), 900
    rollout = allocate(spec, steps, 1)
    rollout.actions[:, 0, 0] = draw.integers(0, 2, steps)
    states = [0]
    for action in rollout.actions[:, 0, 0]:
        states.append((states[-1] + 1) % 9 if action == 0 else int(draw.integers(9)))
    rollout.obs["obs"][:, 0] = states[:-1]
    rollout.last_obs = {"obs": np.array(states[-1:])}
    seen = Transitions(rollout)

    first = bonus.pay(seen)[:, 0]
    rows, actions = bonus._newest
    features = bonus.model.features(rows)
    ahead = bonus.model.ahead(torch.cat([features[:-1], actions], dim=1))
    wanted = 0.5 * ((ahead - features[1:]) ** 2).sum(dim=1).detach().numpy()
    np.testing.assert_allclose(first, wanted, rtol=1e-4)

    for rate in (1e-2,) * 40 + (1e-3,) * 20:
        bonus.pay(seen)
        bonus.learn(seen, rate, draw)
    paid = bonus.pay(seen)[:, 0]
    of_each = features[[states.index(state) for state in range(9)]]
    spread = 0.5 * of_each.var(dim=0, correction=0).sum().item()
    surprising = rollout.actions[:, 0, 0] == 1
    assert paid[~surprising].mean() < 0.05 * spread
    assert paid[surprising].mean() == pytest.approx(spread, rel=0.1)
    assert first[~surprising].mean() > 0.5 * spread  # all of it was new at first


def test_rare_events_pay_more_than_common_ones():
    rarity = Rarity(["kills", "items"], [0, 1], 1)
    rollout = walk([0] * 6, done=[1, 3, 5])
    rollout.watched = np.zeros((6, 1, 2))
    rollout.watched[[0, 2, 4], 0, 0] = 2.0  # in every episode
    rollout.watched[1, 0, 1] = 1.0  # in one of three
    seen = Transitions(rollout)
    assert rarity.pay(seen)[:, 0].tolist() == [200, 100, 200, 0, 200, 0]
    rarity.learn(seen, 0.0, rng())
    np.testing.assert_allclose(rarity.pay(seen)[:, 0], [1, 3, 1, 0, 1, 0])
    rollout.terminated[:] = False
    rarity.learn(seen, 0.0, rng())  # an episode that goes on, with six events, and is left
    rarity.begin([0])
    assert not rarity.arrays()["running"].any()


@pytest.mark.parametrize("across_ends", [True, False])
def test_the_stream_of_a_bonus_goes_on_beyond_ends_and_through_reset_rows(across_ends):
    """Every value and advantage, computed step by step over the valid rows of each environment."""
    spec = make_spec(obs={"obs": vector(3)})
    rollout = gathered(spec, steps=25, next_step=True)
    settings = ExploreConfig(bonus="rnd", across_ends=across_ends, gamma=0.9, hidden=(8,))
    inputs = Inputs(spec, (), 1, CPU)
    critic = Critic(NetSetup(settings, inputs, "small", CPU, rng()))
    novelty = RandomDistillation(NetSetup(settings, inputs, "small", CPU, rng()))
    bonus = Curiosity(settings, PPOConfig(gae_lambda=0.8), novelty, critic, inputs, rollout.num_envs)
    paid = bonus.pay(rollout, START)
    stream = bonus.stream(rollout, paid)
    from gymsolve.experience.credit import stream_advantages

    found = stream_advantages(rollout, stream, 0.8)
    value = lambda obs: critic.net(inputs.scale({"obs": obs[None]})).item()  # noqa: E731
    for env in range(rollout.num_envs):
        steps = np.flatnonzero(rollout.valid[:, env]).tolist()
        starts = [rollout.obs["obs"][t, env] for t in steps] + [rollout.last_obs["obs"][env]]
        total = 0.0
        for place in reversed(range(len(steps))):
            t = steps[place]
            following, kept = value(starts[place + 1]), 1.0
            if not across_ends and rollout.done[t, env]:
                following, kept = value(rollout.final_obs[t]["obs"][env]), 0.0
                following *= not rollout.terminated[t, env]
            total = paid[t, env] + 0.9 * following - value(starts[place]) + 0.72 * kept * total
            assert found[t, env] == pytest.approx(total, abs=1e-4)


def test_the_bonus_is_divided_by_the_spread_of_its_discounted_sum_without_ends():
    spec = make_spec(obs={"obs": vector(3)})
    settings = ExploreConfig(bonus="rnd", gamma=0.9, hidden=(8,))
    inputs = Inputs(spec, (), 1, CPU)
    critic = Critic(NetSetup(settings, inputs, "small", CPU, rng()))
    novelty = RandomDistillation(NetSetup(settings, inputs, "small", CPU, rng()))
    bonus = Curiosity(settings, PPOConfig(gae_lambda=0.8), novelty, critic, inputs, 4)
    sums, running = [], np.zeros(4)
    for _ in range(2):
        rollout = gathered(spec)
        paid = bonus.pay(rollout, START)
        raw = novelty.pay(Transitions(rollout))
        for row in raw:
            running = 0.9 * running + row
            sums.append(running)
        np.testing.assert_allclose(paid, raw / np.sqrt(np.var(sums) + 1e-8), rtol=1e-5)


@pytest.mark.parametrize("centre", [np.zeros((2, 3)), np.full((2, 3), np.nan), np.ones((2, 4)), np.ones(3)])
def test_spreads_that_nothing_can_be_divided_by_are_refused(centre):
    """Somebody may have sealed a checkpoint that holds them; cells would all be the same, or none."""
    settings = ExploreConfig(bonus="counts", cells="hash")
    cells = Cells(settings, make_spec(obs={"obs": ObsSpec("vector", (3,), "float32")}), rng())
    assert cells.load({"axes": cells.axes, "centre": np.ones((2, 3))}, {}) == []
    with pytest.raises(ValueError, match="no spreads"):
        cells.load({"axes": cells.axes, "centre": centre}, {})
