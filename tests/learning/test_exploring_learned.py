"""Where finding is the problem, a bonus finds what PPO alone does not."""

import sys
from pathlib import Path
from statistics import mean

import pytest

from gymsolve.recipes.layers import nest
from gymsolve.recipes.validation import validate
from gymsolve.training.build import build_trainer
from gymsolve.training.loop import collect, count, learn
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.session import start_run

sys.path.append(str(Path(__file__).parent.parent / "explore"))  # for exploring_envs

SEA = {
    "env.id": "exploring_envs:DeepSea-v0",
    "env.num_envs": 16,
    "algo": {"name": "ppo", "num_steps": 40, "learning_rate": 1e-3, "ent_coef": 0.01},
    "net.hidden": [64],
    "steps": 400_000,
}


def dive(bonus: str, seed: int, limit: int) -> float:
    """The mean return of the last hundred episodes, once it is at 0.9 or the steps are spent."""
    trainer = build_trainer(validate(nest(SEA | {"explore": bonus, "seed": seed})))
    mean = 0.0
    while trainer.counters.env_steps < limit and mean < 0.9:
        rollout = collect(trainer, Silent())
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
        mean = trainer.window.metrics()["rollout/ep_rew_mean"]
    trainer.envs.close()
    return mean


@pytest.mark.learn
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("bonus", "limit"), [("counts", 40_000), ("rnd", 150_000)])
def test_the_treasure_in_the_deep_sea_is_found_with_a_bonus(bonus, limit, seed):
    assert dive(bonus, seed, limit) >= 0.9


@pytest.mark.learn
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_is_not_found_without(seed):
    """Twenty steps to the right in a row: one in a million episodes, of which there are 7,500 here."""
    assert dive("none", seed, 150_000) <= 0.0


@pytest.mark.learn
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("variant", ["counts"])
def test_the_car_reaches_the_flag_with_state_counts(variant, seed, tmp_path, record_property):
    plan = plan_run(f"MountainCar-v0:{variant}", {"seed": seed, "video.enabled": False})
    outcome = start_run(plan, runs_dir=tmp_path)
    record_property("env_steps", outcome.env_steps)
    assert outcome.solved, f"best {outcome.mean_reward} of {outcome.threshold}"


@pytest.mark.learn
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("env_id", ["MiniGrid-KeyCorridorS3R1-v0", "MiniGrid-DoorKey-8x8-v0"])
def test_doors_are_opened_with_a_bonus_for_states_new_to_the_episode_and_later_without(
    env_id, tmp_path, record_property
):
    """With it on every seed; sooner in the mean over the seeds, for a single one may be lucky without.

    What is not solved counts with the whole budget: it would have taken more.
    """
    seeds = (0, 1, 2)
    asked = {"steps": 400_000, "eval.every": 15_000, "video.enabled": False}
    outcomes = {}
    for variant in ("episodic", "ppo"):
        for seed in seeds:
            plan = plan_run(f"{env_id}:{variant}", {**asked, "seed": seed})
            outcomes[variant, seed] = found = start_run(plan, runs_dir=tmp_path / variant)
            record_property(f"{variant} {seed}", (found.env_steps, found.solved, found.mean_reward))
    for seed in seeds:
        found = outcomes["episodic", seed]
        assert found.solved, f"best {found.mean_reward} of {found.threshold} with seed {seed}"
    with_bonus, without = (
        mean(outcomes[variant, seed].env_steps for seed in seeds) for variant in ("episodic", "ppo")
    )
    assert with_bonus < without


@pytest.mark.learn
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("size", [20, 30])
def test_what_the_archive_found_in_the_deep_sea_is_learned(size, seed, record_property):
    """From the archive alone: the rollouts teach that each step to the right costs."""
    more = {"explore": "go_explore", "explore.archive.rollouts": False, "solved_at": 0.9}
    more |= {"env.num_envs": 4, "env.kwargs": {"size": size}, "algo.num_steps": 20}
    trainer = build_trainer(validate(nest(SEA | more | {"explore.archive.true_starts": 0.1, "seed": seed})))
    mean, found = 0.0, None
    while trainer.counters.env_steps < 80_000 and mean < 0.9:
        rollout = collect(trainer, Silent())
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
        mean = trainer.window.metrics().get("rollout/ep_rew_mean", 0.0)
        if found is None and trainer.extensions["archive"].tasks[0].best.kept:
            found = trainer.counters.env_steps
    trainer.envs.close()
    record_property("found_after", found)
    record_property("learned_after", trainer.counters.env_steps)
    assert mean >= 0.9


@pytest.mark.learn
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_six_rooms_in_a_row_are_crossed_from_the_archive(seed, record_property):
    """The first success in a fixed layout, while nothing is learned: 112,000, 81,024 and 89,728 steps."""
    settings = {
        "seed": seed,
        "env.wrappers": ["grid_codes", {"same_layouts": {"seeds": [0]}}],
        "env.legal_actions": [0, 1, 2, 5],
        "env.num_envs": 8,
        "algo.num_steps": 16,
        "algo.num_minibatches": 1,
        "explore": "go_explore",
        "explore.archive.learn_from": "nothing",
        "explore.archive.true_starts": 0.1,
    }
    trainer = build_trainer(plan_run("MiniGrid-MultiRoom-N4-S5-v0", settings).config)
    while trainer.counters.env_steps < 200_000 and not trainer.extensions["archive"].tasks[0].best.kept:
        count(trainer, collect(trainer, Silent()), 0.0)
    trainer.envs.close()
    record_property("found_after", trainer.counters.env_steps)
    assert trainer.extensions["archive"].tasks[0].best.score > 0.0


@pytest.mark.learn
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("pay", [1.0, 1000.0])
def test_treasures_of_two_tasks_are_both_learned_from_the_archive(pay, seed, record_property):
    """The seas look alike and need opposite actions; one of them pays as much or a thousand times as much."""
    tasks = {
        "right": {"kwargs": {"right": 1}},
        "left": {"kwargs": {"right": 0, "pay": pay}, "solved_at": 0.9 * pay},
    }
    more = {"explore": "go_explore", "explore.archive.rollouts": False, "solved_at": 0.9, "env.tasks": tasks}
    more |= {"env.num_envs": 8, "env.kwargs": {"size": 15}, "algo.num_steps": 20, "net.tasks.heads": "each"}
    trainer = build_trainer(validate(nest(SEA | more | {"explore.archive.true_starts": 0.1, "seed": seed})))
    means = [0.0, 0.0]
    while trainer.counters.env_steps < 80_000 and min(means) < 0.9:
        rollout = collect(trainer, Silent())
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
        told = [one.mean_return or 0.0 for one in trainer.window.tasks.values()]
        means = [told[0], told[1] / pay]
    trainer.envs.close()
    record_property("learned_after", trainer.counters.env_steps)
    assert min(means) >= 0.9


@pytest.mark.learn
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_treasure_that_needs_an_archive_and_memory_is_learned(seed, record_property):
    """The treasure lies behind eleven steps to the right, once in 2,048 episodes by chance, and behind
    a question about the first observation: without memory, 0.5 would be the most.

    Seeds 0, 1 and 2 took 7,104, 8,640 and 6,144 steps. Seed 4 stood at 0.48 after 20,160: the archive has one
    place for the question, whatever was shown first, and by the time resets led there the answer was settled.
    """
    more = {
        "env.id": "exploring_envs:AskedSea-v0",
        "env.num_envs": 8,
        "algo.num_steps": 24,
        "net.hidden": [32],
        "net.memory": {"cell": "lstm", "size": 32, "keep": 3.0},
        "solved_at": 0.9,
        "explore": "go_explore",
        "explore.archive.rollouts": "found",
        "explore.archive.trajectories": 1000,
    }
    trainer = build_trainer(validate(nest(SEA | more | {"seed": seed})))
    mean = 0.0
    while trainer.counters.env_steps < 40_000 and mean < 0.9:
        rollout = collect(trainer, Silent())
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
        mean = trainer.window.metrics().get("rollout/ep_rew_mean", 0.0)
    trainer.envs.close()
    record_property("learned_after", trainer.counters.env_steps)
    assert mean >= 0.9
