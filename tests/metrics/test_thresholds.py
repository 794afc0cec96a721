"""What counts as solved, also where settings and stored spaces do not fit each other."""

from dataclasses import replace

import pytest
from stories import make_config, make_spec

from gymsolve.metrics.thresholds import find_threshold, task_thresholds

TASKS = {"env": {"tasks": {"one": {"id": "One-v0"}, "two": {"id": "Two-v0", "solved_at": 7.0}}}}
SPEC = replace(make_spec(), tasks=("one", "two"), task_thresholds=(3.0, 4.0))


def test_the_bar_of_several_tasks_is_the_mean_of_theirs():
    config = make_config(**TASKS)
    assert task_thresholds(config, SPEC) == {"one": 3.0, "two": 7.0}
    assert find_threshold(config, SPEC) == 5.0


@pytest.mark.parametrize("tasks", [(), ("one",), ("other", "third"), ("two", "one", "more")])
def test_spaces_that_tell_of_other_tasks_are_no_obstacle(tasks):
    """They are two files of a run: either may have been edited, or be of another version."""
    spec = replace(SPEC, tasks=tasks, task_thresholds=(3.0,))
    config = make_config(**TASKS)
    assert set(task_thresholds(config, spec)) == {"one", "two"}
    find_threshold(config, spec)
    staged = make_config(**TASKS, curriculum={"stages": ["one", "two"], "promote_at": 5.0})
    assert find_threshold(staged, spec) == 7.0
    assert find_threshold(make_config(), spec) == 200.0


def test_of_a_stage_no_more_is_asked_than_what_leads_to_the_next():
    """Unless the task says itself what counts as solved; the last one has the bar of the run."""
    tasks = {"first": {}, "own": {"solved_at": 90.0}, "none": {}, "last": {}}
    spec = replace(make_spec(), tasks=tuple(tasks), task_thresholds=(475.0,) * 4)
    stages = [{"name": "first", "promote_at": 50.0}, {"name": "own", "promote_at": 60.0}, "none", "last"]
    settings = {"env": {"tasks": tasks}, "curriculum": {"stages": stages}}
    bars = {"first": 50.0, "own": 90.0, "none": 475.0, "last": 475.0}
    assert task_thresholds(make_config(**settings), spec) == bars
    assert task_thresholds(make_config(**settings, solved_at=300.0), spec) == {
        **bars,
        "none": 300.0,
        "last": 300.0,
    }
    # Shares of successes are no returns.
    settings["curriculum"] = {"stages": stages[:1] + stages[2:], "by": "success_rate"}
    settings["curriculum"]["stages"][0] = {"name": "first", "promote_at": 0.5}
    del tasks["own"]
    found = task_thresholds(make_config(**settings), spec)
    assert found == {"first": 475.0, "none": 475.0, "last": 475.0}
