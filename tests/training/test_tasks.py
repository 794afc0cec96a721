"""One policy, several tasks: what is learned jointly, with which settings, and what a run says of it."""

import json

import numpy as np
import pytest
import torch

import gymsolve
from gymsolve.errors import UsageError
from gymsolve.experience.returns import standardize, standardize_each
from gymsolve.extensions.scaling import RewardScaler
from gymsolve.metrics.tasks import task_verdicts, worst_task
from gymsolve.nn.normalize import ValueNorm
from gymsolve.nn.tasks import TaskValueNorm
from gymsolve.recipes import apply_overrides, resolve
from gymsolve.training.build import build_trainer
from gymsolve.training.evaluation.evaluate import Evaluator
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.startup import notes_at_start
from gymsolve.view.report.write import write_report
from gymsolve.view.runs import best_evaluation

ARM = "task_envs:Arm-v0"
DOORS = "task_envs:Doors-v0"
QUICK = {
    "env.num_envs": 8,
    "env.backend": "sync",
    "algo.num_steps": 16,
    "algo.learning_rate": 1e-2,
    "algo.gamma": 0.9,
    "net.hidden": [16],
    "steps": 2560,
    "eval.every": 1280,
    "eval.episodes": 10,
    "video.enabled": False,
}
LEFT_AND_RIGHT = {
    "left": {"kwargs": {"right": 0}, "solved_at": 1},
    "right": {"kwargs": {"right": 1}, "solved_at": 1},
}


ONE = {"algo.num_minibatches": 1}


def train(tasks, name=f"{ARM}:ppo", **more):
    settings = (
        QUICK
        | (ONE if name.endswith("ppo") else {})
        | {"env.tasks": tasks}
        | {path.replace("__", "."): value for path, value in more.items()}
    )
    return gymsolve.train(name, settings)


@pytest.fixture(scope="module")
def contradictory(tmp_path_factory):
    """Two bandits of which each pays for what the other does not, learned jointly."""
    folder = tmp_path_factory.mktemp("runs")
    return gymsolve.train(f"{ARM}:ppo", QUICK | ONE | {"env.tasks": LEFT_AND_RIGHT}, runs_dir=folder)


def test_two_contradictory_bandits_are_both_solved_with_the_number_of_the_task(contradictory):
    assert contradictory.solved
    assert contradictory.mean_reward == 1.0
    verdicts = task_verdicts(best_evaluation(contradictory.run))
    assert [(one.name, one.mean, one.threshold, one.reached) for one in verdicts] == [
        ("left", 1.0, 1.0, True),
        ("right", 1.0, 1.0, True),
    ]


def test_without_it_any_policy_earns_one_half():
    """The likeliest action is the same in both, so one of them pays 1 and the other nothing."""
    outcome = train(LEFT_AND_RIGHT, net__tasks__input=False, steps=512, eval__every=128)
    assert not outcome.solved
    rows = [row for row in outcome.run.read_metrics().rows if "eval/mean_reward" in row]
    assert rows
    assert {row["eval/mean_reward"] for row in rows} == {0.5}
    assert {row["eval/tasks_reached"] for row in rows} == {1.0}


@pytest.mark.parametrize(("algorithm", "heads"), [("a2c", "each"), ("reinforce", "shared")])
def test_every_algorithm_learns_them_with_one_head_or_two(algorithm, heads):
    more = {
        "algo__normalize_advantages": "task",
        "net__tasks__heads": heads,
        "net__normalize_values": "popart",
    }
    outcome = train(LEFT_AND_RIGHT, f"{ARM}:{algorithm}", **more)
    assert outcome.solved


@pytest.mark.parametrize("by_task", [True, False])
def test_rewards_of_1_and_1000_are_learned_alike_only_when_normalised_by_task(by_task):
    loud = {"right": 1, "pay": 1000.0, "noise": 0.5}
    quiet_and_loud = {"quiet": {"kwargs": {"right": 0}}, "loud": {"kwargs": loud}}
    settings = {
        "algo__normalize_advantages": "task" if by_task else "rollout",
        "net__normalize_values": "popart",
        "net__tasks__values": "each" if by_task else "shared",
        "algo__normalize_rewards": False,
        "eval__every": 9000,
        "solved_at": 1e9,
    }
    outcome = train(quiet_and_loud, **settings)
    last = [row for row in outcome.run.read_metrics().rows if "task_return/quiet" in row][-1]
    assert last["task_return/loud"] > 800.0
    if by_task:
        assert last["task_return/quiet"] > 0.9
    else:
        assert last["task_return/quiet"] < 0.75
        assert last["task_signal/quiet"] < 0.2


def test_masks_and_dicts_of_different_sizes_are_learned_at_once():
    """The environments refuse every action that is locked, or that their task does not have."""
    tasks = {"small": {}, "large": {"kwargs": {"doors": 5, "size": 4, "rooms": 7, "note": True}}}
    more = {"net__memory": {"size": 8}, "net__tasks__heads": "each", "algo__num_steps": 32}
    outcome = train(tasks, f"{DOORS}:ppo", steps=768, solved_at=1e9, **more)
    last = [row for row in outcome.run.read_metrics().rows if "task_return/large" in row][-1]
    assert last["train/first_ratio"] == pytest.approx(1.0, abs=1e-5)
    assert last["task_steps/small"] == pytest.approx(0.5)


def test_solved_is_what_every_task_is(contradictory):
    policy = gymsolve.load_policy(contradictory.run)
    never = LEFT_AND_RIGHT | {"right": {"kwargs": {"right": 1}, "solved_at": 2}}
    config, _ = apply_overrides(policy.config, {"env.tasks": never})
    evaluator = Evaluator(config, None)
    found = evaluator.evaluate(policy.policy, 0)
    evaluator.close()
    assert not found.solved
    assert found.reached == 1
    assert found.metrics["task_reached/left"] == 1.0
    assert found.metrics["task_reached/right"] == 0.0
    assert worst_task(found.metrics, by_success=False) == "right"
    shares = {"task_eval_success/left": 0.2, "task_eval_success/right": 0.9, "task_threshold/right": 0.5}
    assert worst_task(found.metrics | shares, by_success=True) == "left"
    assert worst_task(found.metrics | shares | {"task_eval/right": 0.1}, by_success=False) == "right"


def test_the_report_and_the_page_tell_each_task(contradictory):
    report = write_report(contradictory.run)
    text = report.markdown.read_text()
    assert "Each of its 2 tasks reached its threshold" in text
    assert "| left " in text
    assert "left" in report.html.read_text()


def test_a_policy_of_several_tasks_plays_each_of_them(contradictory):
    policy = gymsolve.load_policy(contradictory.run)
    envs = policy.make_envs(2)
    obs, masks = envs.reset([1, 2])
    assert obs["task"].tolist() == [0, 1]
    assert policy.policy.greedy(obs, masks)[:, 0].tolist() == [0, 1]
    assert policy.act({"obs": np.ones(1, np.float32), "task": 1}) == 1


def test_a_task_without_a_time_limit_is_named_before_it_keeps_an_evaluation_for_minutes():
    """Recipes and derived settings limit single environments; tasks have their own limit or none."""
    given = {"env.tasks": ["FrozenLake-v1", "CliffWalking-v1"], "env.num_envs": 2}
    trainer = build_trainer(plan_run("FrozenLake-v1:ppo", given).config)
    told = [note for note in notes_at_start(trainer, Silent()) if "no time limit" in note]
    trainer.envs.close()
    assert [note.partition(" has ")[0] for note in told] == ["the task CliffWalking-v1"]
    assert "env.tasks.CliffWalking-v1.max_episode_steps" in told[0]


def test_null_undoes_the_tasks_of_a_recipe():
    assert resolve("LunarLander-v3:ppo_tasks").config.env.tasks
    assert resolve("LunarLander-v3:ppo_tasks", {"env.tasks": None}).config.env.tasks == {}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"engine": "numpy"}, "NumPy engine learns one task"),
        ({"algo.name": "reinforce", "algo.baseline": "mean"}, "algo.baseline"),
        ({"net.tasks.heads": "each", "net.tasks.input": False}, "net.tasks.heads"),
        ({"env.num_envs": "auto"}, "cannot be measured for several tasks"),
        ({"env.num_envs": 1}, r"2 tasks \(left, right\) need a copy each"),
    ],
)
def test_settings_that_cannot_learn_several_tasks_are_refused_before_training(more, words, tmp_path):
    with pytest.raises(UsageError, match=words) as refused:
        gymsolve.train(f"{ARM}:ppo", {"env.tasks": LEFT_AND_RIGHT} | more, runs_dir=tmp_path)
    assert str(refused.value).count("\n") == 0
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------- arithmetic


def test_units_of_value_by_task_are_those_of_each_alone():
    rng = np.random.default_rng(0)
    together, head = TaskValueNorm(3, preserve=True), torch.nn.Linear(4, 3)
    alone = [ValueNorm(preserve=True) for _ in range(3)]
    rows = [torch.nn.Linear(4, 1) for _ in range(3)]
    with torch.no_grad():
        for number, row in enumerate(rows):
            row.weight.copy_(head.weight[number : number + 1])
            row.bias.copy_(head.bias[number : number + 1])
    features = torch.randn(5, 4)
    for _ in range(4):
        tasks = rng.integers(0, 2, 32)  # the third never comes
        returns = (rng.normal(size=32) * np.array([1.0, 1000.0, 1.0])[tasks] + 7 * tasks).astype(np.float32)
        before = together.denormalize(head(features), torch.arange(3).expand(5, 3))
        together.observe(returns, head, tasks)
        after = together.denormalize(head(features), torch.arange(3).expand(5, 3))
        torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-3)  # PopArt keeps predictions
        for number, (norm, row) in enumerate(zip(alone, rows, strict=True)):
            if (tasks == number).any():
                norm.observe(returns[tasks == number], row)
            torch.testing.assert_close(head.weight[number : number + 1], row.weight, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(head.bias[number : number + 1], row.bias, rtol=1e-4, atol=1e-5)
    means, spreads = together.task_units()
    assert [norm.units() for norm in alone] == [
        pytest.approx((float(mean), float(spread))) for mean, spread in zip(means, spreads, strict=True)
    ]


def test_advantages_by_task_are_those_of_each_alone():
    rng = np.random.default_rng(1)
    tasks, values = rng.integers(0, 3, 50), rng.normal(size=50).astype(np.float32) ** 3
    found = standardize_each(values, tasks)
    for task in range(3):
        np.testing.assert_array_equal(found[tasks == task], standardize(values[tasks == task]))


def test_rewards_by_task_are_scaled_as_each_alone():
    rng = np.random.default_rng(2)
    together, alone = RewardScaler(4, tasks=2), [RewardScaler(2), RewardScaler(2)]
    tasks = np.tile([0, 1, 1, 0], (6, 1))
    for _ in range(3):
        rewards = rng.normal(size=(6, 4)) * np.where(tasks == 1, 1000.0, 1.0)
        done, valid = rng.random((6, 4)) < 0.3, rng.random((6, 4)) < 0.9
        found = together.scale(rewards, done, valid, 0.9, tasks)
        for task, one in enumerate(alone):
            rows = np.flatnonzero(tasks[0] == task)
            np.testing.assert_allclose(
                found[:, rows], one.scale(rewards[:, rows], done[:, rows], valid[:, rows], 0.9)
            )
    again = RewardScaler(4, tasks=2)
    again.load({}, json.loads(json.dumps(together.state())))
    np.testing.assert_array_equal(again.var, together.var)
