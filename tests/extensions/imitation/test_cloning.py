"""Behaviour cloning: from recorded episodes to a policy that plays like them."""

import json
from pathlib import Path

import numpy as np
import pytest

import gymsolve
from gymsolve.errors import ConfigError
from gymsolve.extensions.imitation.demonstrations import load_demonstrations
from gymsolve.runs.episodes import RecordedEpisode
from gymsolve.runs.refs import find_run
from gymsolve.settings.schedules import Progress
from gymsolve.training.build import build_trainer
from gymsolve.training.loop import collect, count, learn
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run

SMALL = {"env.num_envs": 2, "algo.num_steps": 16, "net.hidden": [16], "video.enabled": False}


def balance(obs):
    """Balance CartPole by hand: push towards where the pole falls."""
    _, _, angle, turning = obs
    return int(3 * angle + turning > 0)


def play(path, env, seed, steps=40):
    """Record an episode of `balance`."""
    obs, _ = env.reset(seed=seed)
    seen, actions, rewards = [obs], [], []
    for _ in range(steps):
        actions.append(balance(seen[-1]))
        obs, reward, terminated, truncated, _ = env.step(actions[-1])
        seen.append(obs)
        rewards.append(reward)
        if terminated or truncated:
            break
    RecordedEpisode(
        obs={"obs": np.array(seen, np.float32)},
        actions=np.array(actions, np.int64),
        rewards=np.array(rewards),
        returns=np.cumsum(rewards),
        values=np.zeros(len(seen)),
        masks=None,
        facts={"end": "cut"},
    ).save(path)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Files of five episodes that a simple rule played."""
    import gymnasium

    folder = tmp_path_factory.mktemp("episodes")
    env = gymnasium.make("CartPole-v1")
    for seed in range(5):
        play(folder / f"{seed}.npz", env, seed)
    env.close()
    return sorted(map(str, folder.glob("*.npz")))


def build(recorded, **settings):
    chosen = {"engine": "torch", "imitate.episodes": recorded} | settings
    return build_trainer(plan_run("CartPole-v1:ppo", SMALL | chosen).config)


def iterate(trainer, iterations):
    for _ in range(iterations):
        rollout = collect(trainer, Silent())
        metrics = learn(trainer, rollout)
        count(trainer, rollout, 0.0)
    return metrics


def test_the_loss_is_minus_log_likelihood_of_recorded_actions(recorded):
    trainer = build(recorded)
    steps = load_demonstrations(recorded, trainer.envs.spec)
    cloning = trainer.extensions["imitate"]
    rows = np.random.default_rng(0).permutation(len(steps))[:256]

    class Fixed:
        def integers(self, high, size):
            assert high == len(steps)
            return rows

    cloning._rng = Fixed()
    loss, measures = cloning._clone(trainer.policy)
    seen = {"obs": steps.obs["obs"][rows]}
    expected = trainer.policy.consider(seen, None, steps.actions[rows])
    assert float(loss.detach()) == pytest.approx(-expected.log_probs.mean(), rel=1e-5)
    likeliest = trainer.policy.greedy(seen, None)
    assert float(measures["imitate/agreement"]) == pytest.approx((likeliest == steps.actions[rows]).mean())
    trainer.envs.close()


def test_beside_an_algorithm_it_is_one_more_loss_in_every_minibatch(recorded):
    weights = {}
    for coef in (0.0, 1.0):
        trainer = build(recorded, **{"imitate.coef": coef})
        before = trainer.extensions["imitate"]._rng.bit_generator.state["state"]["state"]
        metrics = iterate(trainer, 1)
        assert trainer.extensions["imitate"]._rng.bit_generator.state["state"]["state"] != before
        assert "imitate/loss" in metrics
        assert "train/policy_loss" in metrics
        weights[coef] = trainer.learner.optimizer.weights()
        trainer.envs.close()
    plain = build_trainer(plan_run("CartPole-v1:ppo", SMALL | {"engine": "torch"}).config)
    iterate(plain, 1)
    np.testing.assert_array_equal(weights[0.0], plain.learner.optimizer.weights())
    assert not np.array_equal(weights[1.0], weights[0.0])
    plain.envs.close()


def test_alone_it_learns_from_recorded_steps_and_nothing_else(recorded):
    trainer = build(recorded, **{"imitate.rollouts": False, "algo.learning_rate": 0.01})
    first = iterate(trainer, 1)["imitate/agreement"]
    metrics = iterate(trainer, 20)
    assert metrics["imitate/agreement"] > max(first, 0.9)
    assert "train/policy_loss" not in metrics
    assert trainer.learner.newest is None
    trainer.envs.close()


@pytest.mark.parametrize("rollouts", [True, False])
def test_a_resumed_run_draws_the_same_steps(recorded, rollouts, tmp_path):
    settings = SMALL | {
        "engine": "torch",
        "imitate.episodes": recorded,
        "imitate.rollouts": rollouts,
        "eval.every": 10_000,
        "eval.episodes": 1,
        "checkpoint.every": 64,
    }
    whole = gymsolve.train("CartPole-v1:ppo", settings, steps=256, runs_dir=tmp_path).run
    final = whole.path / "checkpoints/256/policy.safetensors"
    before = final.read_bytes()
    gymsolve.resume(f"{whole.id}@128", runs_dir=tmp_path)
    assert final.read_bytes() == before


def test_episodes_that_do_not_fit_are_refused_with_what_differs(recorded, tmp_path):
    with pytest.raises(ConfigError, match=r"has 'obs' of shape \[4\], this environment \[2\]"):
        build_trainer(plan_run("MountainCar-v0", SMALL | {"imitate.episodes": recorded}).config)
    with pytest.raises(ConfigError, match="there is no file"):
        build(["nothing.npz"])
    run = gymsolve.train("Bandit-v0", steps=256, runs_dir=tmp_path, overrides={"video.enabled": False}).run
    with pytest.raises(ConfigError, match="has no recorded episodes"):
        build([str(run.path)])


def test_a_run_to_imitate_stays_the_same_however_it_was_named(recorded, tmp_path, monkeypatch):
    quiet = SMALL | {"eval.episodes": 1}
    origin = gymsolve.train("CartPole-v1:ppo", quiet, steps=32, runs_dir=tmp_path).run
    (origin.path / "episodes").mkdir()
    (origin.path / "episodes" / "0.npz").write_bytes(Path(recorded[0]).read_bytes())
    names = ["@last", "CartPole"]
    verdict = gymsolve.train_seeds(
        "CartPole-v1:ppo", quiet | {"imitate": names}, seeds=2, steps=32, runs_dir=tmp_path
    )
    for each in verdict.runs:
        stored = find_run(each.run, tmp_path).config_json()["config"]["imitate"]["episodes"]
        assert stored == [str(origin.path)] * 2
        gymsolve.resume(each.run, steps=64, runs_dir=tmp_path)
    monkeypatch.chdir(Path(recorded[0]).parent)
    settings = quiet | {"imitate": ["0.npz"]}
    run = gymsolve.train("CartPole-v1:ppo", settings, steps=32, runs_dir=tmp_path).run
    monkeypatch.chdir(tmp_path)
    gymsolve.resume(run, steps=64)


OTHER = {
    "another category": {"obs": 48},
    "a category below 0": {"obs": -1},
    "another action": {"action": 4},
    "an action below the first": {"action": -1},
    "numbers": {"obs": 0.5},
}


@pytest.mark.parametrize("other", OTHER.values(), ids=OTHER)
def test_categories_that_this_environment_lacks_are_refused(other, tmp_path):
    """CliffWalking has 48 places and 4 actions; Taxi has 500 and 6, of the same shape."""
    RecordedEpisode(
        obs={"obs": np.array([0, other.get("obs", 1), 2])},
        actions=np.array([other.get("action", 3), 0]),
        rewards=np.zeros(2),
        returns=np.zeros(2),
        values=np.zeros(3),
        masks=None,
        facts={"end": "cut"},
    ).save(tmp_path / "taxi.npz")
    settings = SMALL | {"imitate.episodes": [str(tmp_path / "taxi.npz")]}
    with pytest.raises(ConfigError, match=r"taxi\.npz has (values of 'obs'|actions) that this environment"):
        build_trainer(plan_run("CliffWalking-v1", settings).config)


def test_the_setting_may_be_written_short():
    config = plan_run("CartPole-v1:ppo", {"imitate": "a.npz,b.npz"}).config
    assert config.imitate.episodes == ("a.npz", "b.npz")
    assert json.loads(config.model_dump_json())["imitate"]["rollouts"] is True
    for short in ("a.npz", ["a.npz"]):
        config = plan_run("CartPole-v1:ppo", {"imitate": short, "imitate.coef": 0.5}).config
        assert config.imitate.episodes == ("a.npz",)
        assert config.imitate.coef.at(Progress(0, 1)) == 0.5
