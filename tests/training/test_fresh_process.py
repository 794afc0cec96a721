"""A checkpoint is enough: another process, given nothing else, acts exactly alike (BEY-2)."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gymsolve
from gymsolve.errors import UsageError

HERE = Path(__file__).parent
CASES = {
    "normalised": ("training_envs:Drifting-v0:ppo", {"net.normalize_obs": "running"}),
    "torch": ("training_envs:Drifting-v0:ppo", {"net.normalize_obs": "running", "net.layer_norm": True}),
    "stacked": ("training_envs:Drifting-v0:a2c", {"env.frame_stack": 4, "net.normalize_obs": "running"}),
    "dict-masked-image": (
        "training_envs:Everything-v0:ppo",
        {"net.cnn": "small", "net.normalize_obs": "running", "net.discrete_obs": "embedding"},
    ),
    "squashed-popart": ("Pendulum-v1:ppo", {"net.squash": True, "net.normalize_values": "popart"}),
}
SMALL = {
    "steps": 600,
    "env.num_envs": 2,
    "algo.num_steps": 32,
    "eval.episodes": 2,
    "eval.every": 300,
}

READER = """
import sys, numpy as np, gymsolve
sys.path.insert(0, {here!r})
for ref, folder in {runs!r}:
    policy = gymsolve.load_policy(ref)
    recorded = np.load(folder + "/recorded.npz")
    obs = {{key.removeprefix("obs:"): recorded[key] for key in recorded.files if key.startswith("obs:")}}
    masks = recorded["masks"] if "masks" in recorded.files else None
    actions = policy.policy.greedy(obs, masks)
    sampled, log_probs, values = policy.policy.act(obs, masks, np.random.default_rng(3))[:3]
    np.savez(folder + "/answers.npz", actions=actions, sampled=sampled, log_probs=log_probs, values=values)
"""


def record(policy, count):
    """Observations (and masks) the run's own environments give under its policy."""
    envs = policy.make_envs(4)
    obs, masks = envs.reset([1, 2, 3, 4])
    seen, legal = [], []
    for _ in range(count // 4):
        seen.append({key: array.copy() for key, array in obs.items()})
        legal.append(masks)
        step = envs.step(policy.policy.spec.action.to_env(policy.policy.greedy(obs, masks)))
        obs, masks = step.obs, step.masks
    envs.close()
    joined = {key: np.concatenate([row[key] for row in seen]) for key in seen[0]}
    return joined, None if masks is None else np.concatenate(legal)


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """Of each case the policy, what it saw, and the folder with another process's answers: one reads all."""
    asked = {}
    for case, (name, overrides) in CASES.items():
        folder = tmp_path_factory.mktemp(case)
        run = gymsolve.train(name, SMALL | overrides, runs_dir=folder).run
        policy = gymsolve.load_policy(run)
        obs, masks = record(policy, 1000)
        arrays = {f"obs:{key}": value for key, value in obs.items()}
        if masks is not None:
            arrays["masks"] = masks
        np.savez(folder / "recorded.npz", **arrays)
        asked[case] = (policy, obs, masks, folder)
    runs = [(str(policy.run.path), str(folder)) for policy, _, _, folder in asked.values()]
    code = READER.format(here=str(HERE), runs=runs)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)
    return asked


@pytest.mark.parametrize("case", CASES)
def test_another_process_acts_alike_on_a_thousand_observations(case, answered):
    policy, obs, masks, folder = answered[case]
    answers = np.load(folder / "answers.npz")
    sampled, log_probs, values = policy.policy.act(obs, masks, np.random.default_rng(3))[:3]
    np.testing.assert_array_equal(answers["actions"], policy.policy.greedy(obs, masks))
    np.testing.assert_array_equal(answers["sampled"], sampled)
    np.testing.assert_array_equal(answers["log_probs"], log_probs)
    np.testing.assert_array_equal(answers["values"], values)
    if masks is not None:
        assert masks[np.arange(len(masks)), sampled[:, 0]].all()


def test_small_networks_train_and_act_without_torch_and_without_a_camera(tmp_path):
    settings = {"steps": 1000, "video.enabled": False}
    code = (
        "import sys, gymsolve\n"
        f"run = gymsolve.train('CartPole-v1', {settings!r}, runs_dir={str(tmp_path)!r}).run\n"
        f"gymsolve.resume(run, steps=1500, runs_dir={str(tmp_path)!r})\n"
        "policy = gymsolve.load_policy(run)\n"
        "assert policy.act([0.0, 0.0, 0.0, 0.0]) in (0, 1)\n"
        "gymsolve.evaluate(run, episodes=3)\n"
        "assert not {'torch', 'PIL', 'imageio_ffmpeg'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_loaded_policy_says_what_it_wants():
    run = gymsolve.train("training_envs:Drifting-v0:ppo", SMALL).run
    policy = gymsolve.load_policy(run)
    with pytest.raises(UsageError, match=r"shape \(2,\), the policy wants \(3,\)"):
        policy.act(np.zeros(2))
    with pytest.raises(UsageError, match="entries"):
        policy.act({"eyes": np.zeros(3)})
    assert isinstance(policy.value(np.zeros(3)), float)


def test_a_policy_acts_on_the_environments_own_terms():
    """Categories and actions that do not count from 0: what is seen and said is the environment's."""
    settings = {
        "steps": 6000,
        "solved_at": 0.99,
        "env.num_envs": 8,
        "algo.num_steps": 32,
        "algo.learning_rate": 1e-2,
    }
    outcome = gymsolve.train("training_envs:Shifted-v0:ppo", settings)
    assert outcome.solved
    policy = gymsolve.load_policy(outcome.run)
    assert [policy.act(seen) for seen in (1, 2, 3)] == [10, 11, 12]
    with pytest.raises(UsageError, match="outside of its space"):
        policy.act(0)


def test_the_recipes_legal_actions_hold_for_a_loaded_policy():
    settings = SMALL | {"env.legal_actions": [0, 2], "net.policy_gain": 0.0}
    policy = gymsolve.load_policy(gymsolve.train("training_envs:Drifting-v0:ppo", settings).run)
    acts = {policy.act(np.zeros(3, np.float32), deterministic=False) for _ in range(60)}
    assert acts == {0, 2}


def test_a_masked_policy_wants_a_mask_that_fits():
    run = gymsolve.train("training_envs:Everything-v0:ppo", SMALL | {"net.cnn": "small"}).run
    policy = gymsolve.load_policy(run)
    obs = {"screen": np.zeros((12, 12, 3), np.uint8), "place": 1, "speed": np.zeros(2, np.float32)}
    with pytest.raises(UsageError, match="trained with action masks"):
        policy.act(obs)
    with pytest.raises(UsageError, match="3 flags"):
        policy.act(obs, [True] * 3)
    mask = np.eye(6, dtype=bool)[4]
    assert policy.act(obs, mask) == 4
