"""A policy that remembers, through every door: training, evaluation, videos, Python, forks."""

import numpy as np
import pytest

import gymsolve
from gymsolve.apps.playback import play as play_moments
from gymsolve.apps.video.episode_data import recorded_episodes
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.errors import ConfigError, UsageError
from gymsolve.experience.agent import Agent
from gymsolve.recipes import resolve
from gymsolve.runs.loading import load_checkpoint
from gymsolve.seeding import integer_seeds
from gymsolve.training.build import build_trainer
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.restore import restore_trainer

SMALL = {
    "steps": 1200,
    "eval.every": 600,
    "eval.episodes": 6,
    "checkpoint.every": 600,
    "solved_at": 1e9,
    "env.num_envs": 4,
    "algo.num_epochs": 2,
    "net.memory.size": 8,
    "net.memory.inputs": ["action", "reward"],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return gymsolve.train("CartPole-v1:positions", SMALL, runs_dir=tmp_path_factory.mktemp("memory")).run


def play(loaded, seed):
    """An episode by hand, through the door of `load_policy`."""
    envs = loaded.make_envs(1)
    obs, _ = envs.reset([seed])
    loaded.reset()
    earned, reward = 0.0, None
    while True:
        action = loaded.act(obs["obs"][0], reward=reward)
        step = envs.step(np.array([action]))
        earned, reward, obs = earned + float(step.rewards[0]), float(step.rewards[0]), step.obs
        if step.terminated[0] or step.truncated[0]:
            envs.close()
            return earned


def test_one_setting_is_enough_and_torch_computes(tmp_path):
    settings = {"steps": 512, "net.memory.cell": "gru", "eval.episodes": 2, "solved_at": 1e9}
    run = gymsolve.train("CartPole-v1", settings, runs_dir=tmp_path).run
    (started,) = [event for event in run.read_events().rows if event["kind"] == "started"]
    assert started["engine"] == "torch"
    assert run.config_json()["config"]["net"]["memory"] == {
        "cell": "gru", "size": 64, "sequence": None, "inputs": [], "keep": 0.0
    }  # fmt: skip


def test_evaluation_and_load_policy_play_the_same_episodes(run):
    whole = gymsolve.evaluate(run, episodes=6, run_seeds=True)
    stored = load_checkpoint(run, "best").meta["eval"]
    assert whole.mean == pytest.approx(stored["eval/mean_reward"])
    loaded = gymsolve.load_policy(run)
    (seed,) = integer_seeds(loaded.config.seed, "eval", 1, 0)
    for _ in range(2):
        assert play(loaded, seed) == gymsolve.evaluate(run, episodes=1, run_seeds=True).mean


def test_reset_forgets_and_rewards_are_asked_for(run):
    loaded = gymsolve.load_policy(run)
    obs = np.zeros(2, np.float32)
    fresh = loaded.value(obs)
    loaded.act(obs)
    assert loaded.value(obs) != fresh
    with pytest.raises(UsageError, match="reward of the last step"):
        loaded.act(obs)
    loaded.reset()
    assert loaded.value(obs) == fresh
    assert loaded.value(obs) == fresh  # looking is not remembering


def test_an_evaluation_in_another_process_gives_the_same_verdicts(run, tmp_path):
    settings = SMALL | {"eval.asynchronous": True}
    other = gymsolve.train("CartPole-v1:positions", settings, runs_dir=tmp_path).run

    def verdicts(one):
        rows = [row for row in one.read_metrics().rows if "eval/mean_reward" in row]
        return {row["env_steps"]: row["eval/mean_reward"] for row in rows}

    here, there = verdicts(run), verdicts(other)
    shared = here.keys() & there.keys()
    assert shared
    assert {step: here[step] for step in shared} == {step: there[step] for step in shared}


def test_a_recorded_episode_has_the_values_of_the_policy_that_remembered(run):
    loaded = gymsolve.load_policy(run)
    stage = open_render_env(loaded.config.env)
    moments = list(play_moments(loaded.policy, stage, seed=3, rng=None, episodes=2))
    stage.close()
    episodes = list(recorded_episodes(loaded.policy, moments, {}))
    assert len(episodes) == 2
    for episode in episodes:
        agent = Agent(loaded.policy, 1)
        for t, action in enumerate(episode.actions):
            obs = {key: rows[t : t + 1] for key, rows in episode.obs.items()}
            assert agent.values(obs)[0] == pytest.approx(episode.values[t], abs=1e-5)
            chosen = loaded.policy.spec.action.to_env(agent.choose(obs, None, None))
            assert chosen[0] == action
            agent.hear(episode.rewards[t : t + 1])


def test_the_probe_remembers_whole_beginnings_of_episodes(run):
    saved = load_checkpoint(run, "last")
    steps = saved.trainer["probe/steps"]
    assert steps[0] == 0
    assert set(np.diff(steps).tolist()) <= {1, *(-np.arange(16)).tolist()}
    assert steps.max() > 5
    rows = run.read_metrics().rows
    assert [row for row in rows if "train/churn" in row]
    assert "collector/memory" in saved.trainer


@pytest.mark.parametrize("copies", [3, 5])
def test_another_number_of_copies_remembers_the_episodes_that_go_on(run, copies):
    saved = load_checkpoint(run, "last")
    config = plan_run("CartPole-v1:positions", SMALL | {"env.num_envs": copies}).config
    trainer = build_trainer(config)
    restore_trainer(trainer, saved, fresh_optimizer=False)
    trainer.envs.close()
    kept, now = min(4, copies), trainer.collector.agent.memory
    assert np.abs(now[:kept]).sum() > 0
    np.testing.assert_array_equal(now[:kept], saved.trainer["collector/memory"][:kept])
    assert not now[kept:].any()


def test_memory_that_has_an_effect_is_told_apart_from_one_that_has_none(run, tmp_path):
    few = {"steps": 512, "net.memory.cell": "lstm", "eval.episodes": 2, "solved_at": 1e9}
    one_step = gymsolve.train("Bandit-v0:ppo", few, runs_dir=tmp_path).run
    for trained, least, most in ((run, 0.05, np.inf), (one_step, 0.0, 0.0)):
        rows = trained.read_metrics().rows
        found = [row["train/memory_effect"] for row in rows if "train/memory_effect" in row]
        assert found
        assert all(least <= value <= most for value in found)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"engine": "numpy"}, r"engine: NumPy cannot serve this run: net.memory is on. Use engine=auto"),
        ({"net.memory.size": 0}, r"net.memory.size: should be greater than 0"),
        ({"net.memory.cell": "lstn"}, r"net.memory.cell: .*'lstm'"),
        ({"net.memory.inputs": "rewards"}, r"net.memory.inputs"),
        (
            {"net.memory.sequence": 64},
            r"net.memory.sequence: sequences of 64 steps cannot be cut from rollouts",
        ),
        ({"algo.num_minibatches": 9}, r"algo.num_minibatches: with memory, .* only 8 of 32 steps"),
        ({"net.batch_norm": True}, r"net.batch_norm: .*use net.layer_norm"),
        ({"net.memory": 5}, r"net.memory: should be a mapping"),
    ],
)
def test_what_cannot_be_is_refused_before_training(changes, told):
    with pytest.raises(ConfigError, match=told):
        gymsolve.train("CartPole-v1:positions", changes)


def test_a_run_without_memory_cannot_be_resumed_with_one(tmp_path):
    settings = {"steps": 300, "eval.episodes": 2, "solved_at": 1e9}
    run = gymsolve.train("CartPole-v1:ppo", settings, runs_dir=tmp_path).run
    with pytest.raises(UsageError, match=r"net\.memory|--from"):
        gymsolve.resume(run, {"net.memory.cell": "lstm"}, steps=600)


def test_memory_can_be_taken_away_again():
    assert plan_run("CartPole-v1:positions", {"net.memory": None}).config.net.memory is None
    assert resolve("CartPole-v1:positions").config.net.memory.size == 64
