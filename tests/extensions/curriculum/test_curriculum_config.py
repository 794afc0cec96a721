"""Settings of curricula: short forms, and what is refused before anything is trained."""

import numpy as np
import pytest
import stage_envs  # noqa: F401 - registers the tasks

from gymsolve.envs.contract import Episode
from gymsolve.errors import ConfigError
from gymsolve.extensions.curriculum.curriculum import CurriculumSetup
from gymsolve.recipes import resolve
from gymsolve.registry import EXTENSIONS
from gymsolve.settings.config import TrainConfig

TASKS = {"a": {"kwargs": {"good": 0}}, "b": {"kwargs": {"good": 1}}, "c": {"id": "Lever-v0"}}
TWO = {"a": TASKS["a"], "b": TASKS["b"]}


def settings(curriculum, tasks=TWO, **more):
    env = {"id": "Lever-v0", "num_envs": 8, "tasks": tasks}
    return {"env": env, "algo": {"name": "ppo"}, "steps": 10_000, "curriculum": curriculum, **more}


def config(*given, **more):
    return TrainConfig.model_validate(settings(*given, **more))


def test_names_alone_are_stages():
    short = config(["a", "b"], solved_at=0.9)
    long = config({"stages": [{"name": "a"}, "b"]}, solved_at=0.9)
    assert short == long
    assert short.curriculum.names == ("a", "b")
    assert TrainConfig.model_validate(short.model_dump(mode="json")) == short
    assert build_curriculum(short).ladder.rungs[0].promote_at == 0.9


def test_what_promotes_is_the_nearest_thing_said():
    stages = [{"name": "a", "promote_at": 0.3}, "b", "c"]
    found = config({"stages": stages, "promote_at": 0.5}, TASKS)
    assert [rung.promote_at for rung in build_curriculum(found).ladder.rungs] == [0.3, 0.5, 0.5]
    own = config(["a", "b"], {"a": {"solved_at": 0.4}, "b": {}}, solved_at=0.8)
    assert [rung.promote_at for rung in build_curriculum(own).ladder.rungs] == [0.4, 0.8]
    other = config(["a", "b"], {"a": {"solved_at": 0.4}, "b": {"id": "Lever-v0"}}, solved_at=0.8)
    assert build_curriculum(other).ladder.rungs[1].promote_at == 0.8, "the run is about its last stage"
    cart = {"short": {"max_episode_steps": 100}, "long": {}}
    registered = TrainConfig.model_validate(
        settings(["short", "long"], cart) | {"env": {"id": "CartPole-v1", "tasks": cart}}
    )
    assert build_curriculum(registered).ladder.rungs[0].promote_at == 475.0


def build_curriculum(given):
    return CurriculumSetup(given).curriculum


def test_without_stages_there_is_no_curriculum():
    asked, _ = EXTENSIONS["curriculum"]
    assert not asked(config({}))
    assert asked(config(["a", "b"]))


REFUSED = {
    "one stage": ({"stages": ["a"]}, TWO, {}, "needs two stages"),
    "unknown task": ({"stages": ["a", "bb"]}, TWO, {}, "'bb' is no task of env.tasks; did you mean"),
    "no tasks": ({"stages": ["a", "b"]}, {}, {}, "there are none; name them in env.tasks"),
    "task left out": ({"stages": ["a", "b"]}, TASKS, {}, "the task 'c' is no stage"),
    "twice": ({"stages": ["a", "b", "a"]}, TWO, {}, "'a' is there twice"),
    "shares": (["a", "b"], {"a": {"share": 2}, "b": {}}, {}, "env.tasks.a.share does too"),
    "evaluation waits": (["a", "b"], TWO, {"eval": {"start_fraction": 0.5}}, "start_fraction: returns of a"),
    "certainty": (
        {"stages": ["a", "b"], "promote_at": 1.0, "by": "success_rate"},
        TWO,
        {},
        "no bound of a share of successes reaches 1",
    ),
    "too few episodes": (
        {"stages": ["a", "b"], "promote_at": 0.9, "by": "success_rate", "episodes": 10},
        TWO,
        {},
        "10 successes in a row prove a share of 0.787 at most, so 'a' never reaches 0.9; use 25 episodes",
    ),
    "no time for the last": (
        {"stages": [{"name": "a", "steps": "10k"}, "b"]},
        TWO,
        {"steps": 10_000},
        "'a' ends after 10000 steps at the earliest, and the budget is 10000",
    ),
    "plr promotes none": ({"stages": ["a", "b"], "choice": "plr", "promote_at": 0.5}, TWO, {}, "plr draws"),
    "unknown key": ({"stages": [{"name": "a", "treshold": 1}, "b"]}, TWO, {}, "treshold"),
    "rehearsal": ({"stages": ["a", "b"], "rehearsal": 1.0}, TWO, {}, "rehearsal"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_one_sentence(case):
    curriculum, tasks, more, sentence = REFUSED[case]
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - pydantic's own
        config(curriculum, tasks, **more)
    assert sentence.lower() in str(caught.value).lower()


def test_a_stage_that_nothing_promotes_from_is_refused_before_training():
    with pytest.raises(ConfigError, match="nothing ever promotes from 'a'; give it promote_at or steps"):
        build_curriculum(config(["a", "b"]))
    build_curriculum(config([{"name": "a", "steps": 100}, "b"]))


def test_a_share_of_successes_is_not_judged_by_a_threshold_of_returns():
    with pytest.raises(ConfigError, match="nothing ever promotes from 'a'"):
        build_curriculum(config({"stages": ["a", "b"], "by": "success_rate"}, solved_at=0.5))


def test_a_stage_whose_episodes_tell_of_no_success_is_refused_as_soon_as_one_ends():
    """Nobody can know before; without this the whole budget went into a stage that nothing ended."""
    by_success = {"stages": ["a", "b"], "by": "success_rate", "promote_at": 0.5}
    episode, nothing = Episode(0, 1.0, 1.0, 1, truncated=False, task="a"), (["a", "b"], *np.zeros((2, 0)))
    found = build_curriculum(config(by_success))
    found.take([], *nothing)
    with pytest.raises(ConfigError, match=r"^curriculum\.by: no episode of the stage 'a' ended with info"):
        found.take([episode], *nothing)
    told = build_curriculum(config(by_success))
    told.take([episode, episode._replace(success=False), episode._replace(task="b")], *nothing)
    told.take([episode], *nothing)
    build_curriculum(config(by_success | {"by": "return"})).take([episode], *nothing)


def test_a_mistake_on_the_command_line_names_its_place():
    with pytest.raises(ConfigError) as caught:
        resolve(
            "CartPole-v1",
            {"env.tasks": {"a": {}, "b": {"max_episode_steps": 9}}, "curriculum.stages": ["a", "x"]},
        )
    assert "curriculum" in str(caught.value)
    assert "'x' is no task" in str(caught.value)
