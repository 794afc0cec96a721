"""`gymsolve tune-speed`, and `auto` on the command line."""

from engines import needs_kernels

QUICK = ("--seconds", "1", "--set", "env.backend=sync", "--set", "engine=numpy", "--set", "device=cpu")
pytestmark = needs_kernels


def test_it_tells_the_split_the_candidates_the_reasons_and_the_choice(cli, place):
    shown = cli("tune-speed", "CartPole-v1", *QUICK)
    assert shown.code == 0, shown.err
    for word in ("Where the time goes", "acting", "Candidates", "computing with", "Why", "Choice"):
        assert word in shown.out
    assert "environments" in shown.out
    assert list(place.iterdir()) == []


def test_the_same_as_one_object(cli):
    told = cli("tune-speed", "CartPole-v1", *QUICK, "--json").json
    assert told["recipe"] == "CartPole-v1:ppo"
    assert told["written"] is None
    assert {one["num_envs"] * one["num_steps"] for one in told["candidates"]} == {256}
    assert told["current"]["backend"] == "sync"
    assert told["reasons"]
    rates = [one["steps_per_second"] for one in told["candidates"]]
    assert rates == sorted(rates, reverse=True)
    for path, value in told["changes"].items():
        assert told["best"][path.rpartition(".")[2]] == value


def test_writing_makes_a_recipe_if_there_is_anything_to_write(cli, place):
    told = cli("tune-speed", "CartPole-v1", *QUICK, "--write", "--json").json
    assert (told["written"] is not None) == bool(told["changes"])
    if told["written"]:
        assert cli("recipes", "check", told["written"]["path"]).code == 0


def test_rollouts_that_should_see_rewards_are_not_cut_up_for_speed(cli):
    told = cli("tune-speed", "MountainCar-v0", *QUICK, "--set", "algo.num_steps=auto", "--json").json
    assert told["current"]["num_steps"] >= 256  # an episode of 200 steps, under random actions
    assert min(one["num_steps"] for one in told["candidates"]) >= 256
    assert "every step pays the same, and episodes last 200 steps" in told["reasons"][0]


def test_a_wrong_name_is_a_wrong_request(cli):
    assert cli("tune-speed", "NoSuchThing-v0").code == 2
    assert cli("tune-speed", "CartPole-v1", "--seconds", "0").code == 2


def test_auto_is_measured_before_training_and_explained(cli):
    answer = cli("train", "Bandit-v0", "--steps", "512", "--set", "env.num_envs=auto")
    assert answer.code == 0, answer.err
    assert "Settings that were auto have been measured:" in answer.out
    stored = cli("runs", "show", "@last", "--json").json
    assert isinstance(stored["config"]["env"]["num_envs"], int)
    assert stored["provenance"]["env.num_envs"].startswith("auto: measured")
