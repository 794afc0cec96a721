"""A whole update of each algorithm gives the parameters, moments and metrics of the torch one."""

import numpy as np
import pytest
from fast_pairs import assert_close, both_algorithms, make_pair

from engines import needs_kernels
from gymsolve.experience.collect import Collector
from gymsolve.settings.schedules import Progress
from probes import ALGORITHMS, CASE_IDS, CASES, PPO_OPTIONS, RandomEnvs, gather

pytestmark = needs_kernels

every_algorithm = pytest.mark.parametrize("algo", ALGORITHMS)
every_case = pytest.mark.parametrize(("kind", "masked"), CASES, ids=CASE_IDS)
FAST_PPO_OPTIONS = {
    **PPO_OPTIONS,
    "target_kl": {"target_kl": 0.003, "num_epochs": 6, "learning_rate": 0.01},
    "target_kl_at_once": {"target_kl": 1e-4, "num_epochs": 2, "learning_rate": 0.03},
    "desired_kl": {"desired_kl": 0.5},
    "desired_kl_small": {"desired_kl": 1e-5},
    "rows_alone": {"num_minibatches": 1000},
    "schedules": {"learning_rate": "1e-2 -> 0", "clip_coef": "0.3 -> 0.1", "ent_coef": "0.1 -> 0"},
    "sgd": {"optimizer": {"name": "sgd", "momentum": 0.5}},
}
A2C_OPTIONS = {
    "defaults": {},
    "normalized": {"normalize_advantages": "rollout", "ent_coef": 0.1},
    "huber": {"value_loss": "huber", "gae_lambda": 0.8},
    "adamw": {"optimizer": {"name": "adamw", "weight_decay": 0.1}},
}
REINFORCE_OPTIONS = {
    f"{baseline}-{returns}-{normalize}": {
        "baseline": baseline,
        "returns": returns,
        "normalize_advantages": normalize,
    }
    for baseline in ("none", "mean", "value")
    for returns in ("reward_to_go", "episode")
    for normalize in ("none", "rollout")
} | {"huber": {"value_loss": "huber", "ent_coef": 0.1, "value_epochs": 3, "vf_coef": 1.0}}


def assert_same_learning(algo, pair, options, *, updates: int = 2) -> list[dict[str, float]]:
    """Update both engines on the same rollouts, collected by the torch policy."""
    torchs, fast = both_algorithms(algo, pair, **options)
    before = pair[1].arrays()
    envs = RandomEnvs(pair[0].spec, next_step=True)
    collector, acting = Collector(envs, pair[0], 16, 1), np.random.default_rng(0)
    told = []
    for update in range(updates):
        rollout = collector.collect(acting)
        progress = Progress(update, updates)
        theirs = torchs.update(rollout, progress, np.random.default_rng(update))
        ours = fast.update(rollout, progress, np.random.default_rng(update))
        assert theirs.keys() == ours.keys()
        for name, value in theirs.items():
            # KL and loss are small differences of numbers around 1, each rounded to 6e-8.
            assert ours[name] == pytest.approx(value, rel=2e-4, abs=5e-6, nan_ok=True), name
        told.append(ours)
    # Adam divides by the root of a mean square: where a gradient is nearly 0, rounding decides its sign.
    tolerance = {"rtol": 2e-4, "atol": 2e-5}
    assert_close(pair[0].arrays(), pair[1].arrays(), **tolerance)
    theirs, ours = torchs.optimizer.arrays(), fast.optimizer.arrays()
    assert_close(dict(sorted(theirs.items())), dict(sorted(ours.items())), **tolerance)
    for name, value in torchs.state().items():
        assert fast.state()[name] == (None if value is None else pytest.approx(value, rel=1e-5))
    after = pair[1].arrays()
    assert max(float(np.abs(after[name] - before[name]).max()) for name in before) > 1e-4
    return told


@every_algorithm
@every_case
@pytest.mark.parametrize("shared", [False, True])
def test_every_action_space(algo, kind, masked, shared):
    net = {"normalize_obs": "running", "normalize_values": "popart"}
    options = {"ent_coef": 0.05, "learning_rate": 1e-3}
    assert_same_learning(algo, make_pair(kind, masked, shared=shared, **net), options)


@pytest.mark.parametrize("options", FAST_PPO_OPTIONS.values(), ids=FAST_PPO_OPTIONS)
@pytest.mark.parametrize("kind", ["multi_discrete", "box"])
def test_ppo_options(options, kind):
    given = {"num_epochs": 2, "num_minibatches": 3, "learning_rate": 1e-3, "ent_coef": 0.01, **options}
    told = assert_same_learning("ppo", make_pair(kind, normalize_values="running"), given)
    if "target_kl" in options:
        assert any(row["train/kl_stopped"] for row in told)


@pytest.mark.parametrize("options", A2C_OPTIONS.values(), ids=A2C_OPTIONS)
def test_a2c_options(options):
    assert_same_learning("a2c", make_pair("multi_discrete", True), {"learning_rate": 1e-3, **options})


@pytest.mark.parametrize("options", REINFORCE_OPTIONS.values(), ids=REINFORCE_OPTIONS)
@pytest.mark.parametrize("shared", [False, True])
def test_reinforce_options(options, shared):
    assert_same_learning("reinforce", make_pair("discrete", True, shared=shared), options)


@every_algorithm
@pytest.mark.parametrize("obs", ["many_categories", "dict"])
def test_observations_of_every_kind(algo, obs):
    assert_same_learning(algo, make_pair("discrete", False, obs, normalize_obs="running"), {})


@pytest.mark.parametrize("activation", ["relu", "elu", "gelu", "silu", "leaky_relu"])
def test_activations(activation):
    assert_same_learning("ppo", make_pair("discrete", activation=activation), {"learning_rate": 1e-3})


@every_algorithm
def test_a_rollout_of_resets_alone_teaches_nothing(algo):
    pair = make_pair(normalize_obs="running")
    rollout = gather(RandomEnvs(pair[0].spec), pair[0], 5)
    rollout.valid[:] = False
    rollout.terminated[:] = rollout.truncated[:] = False
    before = pair[1].arrays()
    told = [a.update(rollout, Progress(0, 9), np.random.default_rng(0)) for a in both_algorithms(algo, pair)]
    assert told[0] == told[1]
    assert_close(before, pair[1].arrays(), rtol=0, atol=0)


@every_algorithm
def test_the_same_seed_gives_the_same_run_bit_for_bit(algo):
    runs = []
    for _ in range(2):
        pair = make_pair("discrete", normalize_obs="running")
        fast = both_algorithms(algo, pair)[1]
        collector = Collector(RandomEnvs(pair[1].spec), pair[1], 16, 1)
        rng = np.random.default_rng(0)
        for k in range(4):
            metrics = fast.update(collector.collect(rng), Progress(k, 9), rng)
        runs.append((pair[1].arrays(), fast.optimizer.arrays(), metrics))
    assert_close(runs[0][0], runs[1][0], rtol=0, atol=0)
    assert_close(runs[0][1], runs[1][1], rtol=0, atol=0)
    np.testing.assert_equal(runs[0][2], runs[1][2])


@every_algorithm
def test_a_diverging_update_says_so_in_its_metrics(algo):
    pair = make_pair("box")
    rollout = gather(RandomEnvs(pair[0].spec), pair[0], 16)
    rollout.rewards[3, 2] = np.inf
    metrics = both_algorithms(algo, pair)[1].update(rollout, Progress(0, 9), np.random.default_rng(0))
    assert not np.isfinite(metrics["train/loss"])
    assert not np.isfinite(metrics["train/grad_norm"])
