"""Several tasks in one vector, against the same environments alone."""

import json
import multiprocessing
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from same_steps import assert_same_step
from test_env_contract import draw

import late_resets
from gymsolve.envs.backends.joined import JoinedEnvs
from gymsolve.envs.join import task_seed
from gymsolve.envs.make import make_envs, make_joined
from gymsolve.errors import UsageError
from gymsolve.settings.config import EnvConfig, TrainConfig
from gymsolve.settings.environment import spread_copies
from gymsolve.spec import EnvSpec

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
SEEDS = [11, 22, 33, 44, 55, 66]
DOORS = "task_envs:Doors-v0"
TASKS: dict[str, dict[str, Any]] = {
    "backends": {
        "id": "CartPole-v1",
        "tasks": {
            "pole": {"share": 2},
            "late": {"id": late_resets.ID},
            "acro": {"id": "Acrobot-v1", "backend": "sync"},
        },
    },
    "worlds": {
        "id": "LunarLander-v3",
        "tasks": {"usual": {}, "windy": {"kwargs": {"enable_wind": True}, "backend": "async"}},
        "workers": 1,
    },
    "entries": {
        "id": DOORS,
        "tasks": {
            "small": {},
            "large": {"kwargs": {"doors": 5, "size": 4, "rooms": 7, "note": True}, "share": 2},
        },
    },
    "boxes": {"id": "Pendulum-v1", "tasks": {"swing": {}, "car": {"id": "MountainCarContinuous-v0"}}},
}


def config_of(name: str, count: int = 4) -> EnvConfig:
    return EnvConfig.model_validate({"num_envs": count, **TASKS[name]})


def joined(name: str, count: int = 4) -> JoinedEnvs:
    return make_joined(config_of(name, count), "train")


def play(envs: JoinedEnvs, masks: Any, steps: int, seed: int = 0) -> list[Any]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(steps):
        actions = envs.spec.action.to_env(draw(rng, envs.spec.action, envs.num_envs, masks))
        found.append((actions, envs.step(actions)))
        masks = found[-1][1].masks
    return found


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_what_it_is_alone(name: str) -> None:
    """Observations, rewards, ends, masks and episodes, row by row, whatever stands beside them."""
    envs, config = joined(name), config_of(name)
    obs, masks = envs.reset(SEEDS[:4])
    steps = play(envs, masks, 80)
    for number, (task, rows) in enumerate(envs.rows.items()):
        alone = make_envs(config.for_task(task), "train", num_envs=len(rows))
        seen, own_masks = alone.reset([task_seed(task, seed) for seed in SEEDS[: len(rows)]])
        assert_seen(obs, seen, rows, number)
        for actions, step in steps:
            sent = own_actions(envs.spec, alone.spec, actions[rows])
            one = alone.step(sent)
            np.testing.assert_array_equal(step.rewards[rows], one.rewards)
            np.testing.assert_array_equal(step.terminated[rows], one.terminated)
            np.testing.assert_array_equal(step.truncated[rows], one.truncated)
            np.testing.assert_array_equal(step.valid[rows], one.valid)
            assert_seen(step.obs, one.obs, rows, number)
            if one.final_obs is not None:
                ended = one.terminated | one.truncated
                last = {key: values[ended] for key, values in one.final_obs.items()}
                assert_seen(step.final_obs, last, np.array(rows)[ended], number)
            if step.masks is not None:
                size = alone.spec.action.mask_size
                legal = np.ones((len(rows), size), bool) if one.masks is None else one.masks
                np.testing.assert_array_equal(step.masks[rows][:, :size], legal)
                assert not step.masks[rows][:, size:].any()
            mine = [episode for episode in step.episodes if episode.task == task]
            assert mine == [e._replace(env=rows[e.env], task=task) for e in one.episodes]
        alone.close()
        assert own_masks is None or own_masks.any()
    assert name == "boxes" or any(step.episodes for _, step in steps)
    envs.close()


def own_actions(joint: EnvSpec, own: EnvSpec, actions: Any) -> Any:
    """What a task is sent: its first choices, or its own range instead of [-1, 1]."""
    if joint.action.kind != "box" or joint.action == own.action:
        return actions
    low, high = np.array(own.action.low), np.array(own.action.high)
    return (low + (actions.astype(float) + 1) / 2 * (high - low)).astype(np.float32)


def assert_seen(obs: Any, own: Any, rows: Any, number: int) -> None:
    assert (obs["task"][rows] == number).all()
    for key, values in own.items():
        flat, there = values.reshape(len(values), -1), obs[key][rows].reshape(len(values), -1)
        np.testing.assert_array_equal(there[:, : flat.shape[1]], flat)
        assert not there[:, flat.shape[1] :].any()
    for key in set(obs) - set(own) - {"task"}:
        assert not obs[key][rows].any()


def test_the_seeds_of_a_task_do_not_depend_on_the_others() -> None:
    first, second = (
        joined("entries"),
        make_joined(
            EnvConfig.model_validate(
                {"id": DOORS, "num_envs": 3, "tasks": {"another": {"kwargs": {"doors": 5}}, "small": {}}}
            ),
            "train",
        ),
    )
    one, _ = first.reset(SEEDS[:4])
    other, _ = second.reset(SEEDS[:3])
    here, there = first.rows["small"], second.rows["small"]
    np.testing.assert_array_equal(one["view"][here, :2], other["view"][there, :2])


@pytest.mark.parametrize("name", ["backends", "entries"])
def test_a_restored_state_goes_on_bit_for_bit_also_with_other_copies(name: str) -> None:
    envs, twin = joined(name), joined(name)
    _, masks = envs.reset(SEEDS[:4])
    play(envs, masks, 30)
    copies = dict.fromkeys(envs.spec.tasks, 0) | {envs.spec.tasks[0]: 1, envs.spec.tasks[-1]: 3}
    obs, masks, _ = envs.reassign(copies, SEEDS[:4])
    play(envs, masks, 10)
    state = json.loads(json.dumps(envs.capture()))
    seen, again, anew = twin.restore(state, [1, 2, 3, 4])
    assert anew == []
    assert twin.rows == envs.rows
    for (_, one), (_, other) in zip(play(envs, again, 40), play(twin, again, 40), strict=True):
        assert_same_step(one, other)
    assert obs.keys() == seen.keys()


def test_copies_that_stay_with_their_task_play_on() -> None:
    envs = joined("backends", 6)
    _, masks = envs.reset(SEEDS)
    before = play(envs, masks, 7)[-1][1]
    rows = envs.rows
    assert rows == {"pole": [0, 1, 2], "late": [3, 4], "acro": [5]}
    obs, _, anew = envs.reassign({"pole": 2, "late": 2, "acro": 2}, SEEDS)
    moved = rows["pole"][-1]
    assert anew == [moved]
    assert envs.rows["acro"] == [*rows["acro"], moved]
    assert obs["task"][moved] == 2
    for row in set(range(6)) - {moved}:
        np.testing.assert_array_equal(obs["obs"][row], before.obs["obs"][row])
    step = envs.step(np.zeros(6, np.int64))
    assert {episode.env for episode in step.episodes} <= set(range(6))


def test_a_jump_reaches_snapshots_of_its_own_task_only() -> None:
    envs = joined("entries")
    _, masks = envs.reset(SEEDS[:4])
    play(envs, masks, 5)
    one, other = envs.rows["small"][0], envs.rows["large"][0]
    saved = envs.snapshots([other, one])
    here = {key: values[[other, one]].copy() for key, values in envs.jump([], [], [])[0].items()}
    play(envs, envs.jump([], [], [])[1], 5)
    obs, _, anew = envs.jump([other, one], saved, [7, 8])
    assert anew == []
    for key, values in here.items():
        np.testing.assert_array_equal(obs[key][[other, one]], values)
    obs, _, anew = envs.jump([one], [saved[0]], [9])
    assert anew == [one]
    assert obs["task"][one] == 0


def test_reset_options_reach_the_rows_of_any_task() -> None:
    envs = make_joined(
        EnvConfig.model_validate(
            {"id": "CartPole-v1", "num_envs": 2, "backend": "sync", "tasks": {"near": {}, "far": {}}}
        ),
        "train",
    )
    envs.configure([1], {"low": 0.2, "high": 0.2})
    obs, _ = envs.reset([1, 2])
    assert np.allclose(obs["obs"][1], 0.2)
    assert not np.allclose(obs["obs"][0], 0.2)


@pytest.mark.parametrize(
    ("shares", "count", "copies"),
    [
        ((1, 1), 8, (4, 4)),
        ((2, 1), 8, (5, 3)),
        ((100, 1), 8, (7, 1)),
        ((1, 1, 1), 8, (3, 3, 2)),
        ((1, 1, 1), 2, (1, 1, 0)),
        ((3, 2, 1), 6, (3, 2, 1)),
    ],
)
def test_copies_follow_the_shares(shares: Any, count: int, copies: Any) -> None:
    found = spread_copies(dict(zip("abc", shares, strict=False)), count)
    assert tuple(found.values()) == copies


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ({"a": {}}, "only task"),
        (["CartPole-v1", "CartPole-v1"], "different ids"),
        ({"a": {"share": 0}, "b": {}}, "greater than 0"),
        ({"a": {"share": -1}, "b": {}}, "greater than 0"),
        ({"a/b": {}, "c": {}}, "no name for a task"),
        ({str(i): {} for i in range(9)}, r"9 tasks \(0, 1, .* 8\) need a copy each"),
        ({"a": {"gravity": 1}, "b": {}}, "Extra inputs"),
    ],
)
def test_bad_lists_of_tasks_are_refused(tasks: Any, words: str) -> None:
    env = {"id": "CartPole-v1", "num_envs": 8, "tasks": tasks}
    with pytest.raises(ValidationError, match=words):
        TrainConfig.model_validate({"env": env, "algo": {"name": "ppo"}})


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ({"a": {}, "b": {"id": "FrozenLake-v1"}}, "is numbers .* in 'a' and a choice .* in 'b'"),
        ({"a": {}, "b": {"id": "Pendulum-v1"}}, "one policy cannot draw both"),
        ({"a": {}, "b": {"id": "NoSuch-v0"}}, "env.tasks.b.id"),
        ({"a": {}, "b": {"wrappers": ["nonsense"]}}, r"env.tasks.b.wrappers\[0\]"),
        (
            {"a": {"id": "sample_envs:Sample/Pictures-v0"}, "b": {"id": "CarRacing-v3"}},
            "the pictures 'obs' have shape|one policy cannot",
        ),
    ],
)
def test_spaces_that_cannot_be_joined_are_refused_with_the_place(tasks: Any, words: str) -> None:
    config = EnvConfig.model_validate({"id": "CartPole-v1", "tasks": tasks})
    with pytest.raises(UsageError, match=words):
        make_envs(config, "train")


def test_a_fault_names_the_task_that_it_happened_in() -> None:
    """Its rows are numbered within the task, so that the task has to be said."""
    settings = {"num_envs": 2, "workers": 1, "tasks": {"here": {}, "apart": {"backend": "async"}}}
    envs = make_envs(EnvConfig.model_validate({"id": "CartPole-v1", **settings}), "train")
    try:
        envs.reset([1, 2])
        (worker,) = multiprocessing.active_children()
        worker.kill()
        worker.join()
        step = envs.step(np.ones(2, np.int64))
        assert step.cut is not None
        assert step.cut.tolist() == [False, True]
        (fault,) = step.faults
        assert fault.startswith("In the task apart: ")
        assert "was killed (SIGKILL)" in fault
    finally:
        envs.close()
