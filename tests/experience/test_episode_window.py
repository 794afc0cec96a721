"""Episode statistics: the last ones, raw and shaped apart."""

import json
import statistics

import pytest

from gymsolve.envs.contract import Episode
from gymsolve.experience.episodes import EpisodeWindow


def episode(raw: float, **more: object) -> Episode:
    return Episode(
        **{"env": 0, "raw_return": raw, "shaped_return": raw, "length": 10, "truncated": False, **more}
    )


def test_before_the_first_end_there_is_nothing_to_average():
    window = EpisodeWindow()
    assert window.mean_return is None
    assert window.metrics() == {"rollout/episodes": 0.0}


def test_old_episodes_leave_the_averages_but_not_the_count_and_the_record():
    window = EpisodeWindow(size=3)
    window.add([episode(100.0), episode(1.0, length=4), episode(2.0, truncated=True), episode(6.0)])
    found = window.metrics()
    assert window.mean_return == found["rollout/ep_rew_mean"] == 3.0
    assert found["rollout/ep_rew_std"] == pytest.approx(statistics.pstdev([1, 2, 6]))
    assert found["rollout/episodes"] == 4
    assert found["rollout/ep_rew_best"] == 100.0
    assert (found["rollout/ep_rew_min"], found["rollout/ep_rew_max"], found["rollout/ep_rew_last"]) == (
        1,
        6,
        6,
    )
    assert found["rollout/ep_len_mean"] == 8.0
    assert found["rollout/truncated_share"] == 1 / 3
    assert "rollout/ep_shaped_rew_mean" not in found
    assert "rollout/success_rate" not in found


def test_shaped_returns_and_successes_are_metrics_of_their_own():
    window = EpisodeWindow()
    window.add([episode(1.0, shaped_return=5.0, success=True), episode(3.0, success=False), episode(5.0)])
    found = window.metrics()
    assert found["rollout/ep_rew_mean"] == 3.0
    assert found["rollout/ep_shaped_rew_mean"] == (5.0 + 3.0 + 5.0) / 3
    assert found["rollout/success_rate"] == 0.5  # of the episodes that say


def test_state_survives_json_and_goes_on_alike():
    one, other, empty = EpisodeWindow(size=2), EpisodeWindow(size=2), EpisodeWindow(size=2)
    empty.load({}, json.loads(json.dumps(EpisodeWindow().state())))
    assert empty.metrics() == {"rollout/episodes": 0.0}
    empty.add([episode(-7.0)])
    assert empty.metrics()["rollout/ep_rew_best"] == -7.0
    one.add([episode(-3.0), episode(-1.0, success=True), episode(-2.0, truncated=True)])
    other.load({}, json.loads(json.dumps(one.state())))
    for window in (one, other):
        window.add([episode(-5.0, shaped_return=1.0)])
    assert one.metrics() == other.metrics()
    assert one.metrics()["rollout/ep_rew_best"] == -1.0


def test_several_tasks_count_alike_and_have_no_mean_before_each_has_one():
    """CartPole ends episodes long before Acrobot does; a mean of what is there would fall when that joins."""
    window = EpisodeWindow(tasks=("quick", "slow"))
    window.add([episode(30.0, task="quick", success=True), episode(50.0, task="quick", success=True)])
    found = window.metrics()
    assert window.mean_return is None
    assert found["task_return/quick"] == 40.0
    assert not {"rollout/ep_rew_mean", "rollout/success_rate", "task_return/slow"} & set(found)
    window.add([episode(-500.0, task="slow", success=False, shaped_return=-400.0)])
    found = window.metrics()
    assert window.mean_return == found["rollout/ep_rew_mean"] == (40.0 - 500.0) / 2
    assert found["rollout/ep_shaped_rew_mean"] == (40.0 - 400.0) / 2
    assert found["rollout/success_rate"] == 0.5  # of the tasks, not of three episodes


def test_cut_episodes_are_counted_beside_those_of_the_same_time():
    window = EpisodeWindow(size=4)
    window.add([episode(1.0)] * 2)
    assert "rollout/cut_share" not in window.metrics()
    window.lose(2)
    window.lose(1)
    window.add([episode(1.0)])
    assert window.metrics()["rollout/cut_share"] == 0.5
    restored = EpisodeWindow(size=4)
    restored.load({}, json.loads(json.dumps(window.state())))
    for same in (window, restored):
        same.add([episode(1.0)] * 2)  # the first episode is gone, and what was cut came after it
        assert same.metrics()["rollout/cut_share"] == 3 / 7
        same.add([episode(1.0)] * 2)
        assert same.metrics()["rollout/cut_share"] == 0.0, "it says so when it is over"


def test_where_faults_cut_every_episode_the_share_is_all_there_is():
    window = EpisodeWindow()
    window.lose(4)
    assert window.metrics() == {"rollout/episodes": 0.0, "rollout/cut_share": 1.0}
    window.forget()
    assert window.metrics()["rollout/cut_share"] == 0.0
