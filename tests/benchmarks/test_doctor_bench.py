"""The scored doctor: its table is sound, its faults do what they say, its figures are right."""

import math

import gymnasium as gym
import numpy as np
import pytest

from benchmarks.doctor import wrappers
from benchmarks.doctor.__main__ import main
from benchmarks.doctor.cases import CASES, SEEDS, find_case
from benchmarks.doctor.faults import FAULTS
from benchmarks.doctor.page import render
from benchmarks.doctor.results import load, make_result, save
from benchmarks.doctor.score import is_named, is_noticed, score
from benchmarks.doctor.train import judge, start_training
from gymsolve.doctor.rules import RULES
from gymsolve.doctor.rules.archive import ARCHIVE
from gymsolve.doctor.rules.curiosity import CURIOSITY
from gymsolve.doctor.rules.tasks import TASKS
from gymsolve.recipes import resolve


def result(fault="f", fired=(), roots=(), half="held-out", env="E-v0"):
    facts = {"fault": fault, "env": env, "seed": 0, "half": half, "unchecked": []}
    named = {"names": [] if fault == "healthy" else ["a"], "shows": ["b"]}
    return facts | named | {"fired": list(fired), "roots": list(roots)}


def test_the_table_is_large_enough_and_names_rules_that_exist():
    known = {rule.id for rule in RULES}
    assert len(FAULTS) >= 20
    assert all(len(fault.envs) >= 3 for fault in FAULTS)
    assert len(SEEDS) >= 3
    for fault in FAULTS:
        assert fault.names, fault.name
        assert {*fault.names, *fault.shows} <= known, fault.name
    assert len({case.key for case in CASES}) == len(CASES)


def test_every_rule_about_exploring_and_about_tasks_has_a_fault_of_its_own():
    alone = {fault.names[0] for fault in FAULTS if len(fault.names) == 1}
    assert {rule.id for rule in (*CURIOSITY, *ARCHIVE, *TASKS)} | {"memory_unused"} <= alone


def test_both_halves_have_faults_and_healthy_runs_and_seeds_stay_together():
    for healthy in (True, False):
        halves = [case.half for case in CASES if (not case.fault.names) == healthy]
        assert min(halves.count("calibration"), halves.count("held-out")) >= len(halves) // 3
    for case in CASES:
        assert case.half == find_case(f"{case.fault.name}/{case.env}/0").half


@pytest.mark.parametrize("case", [case for case in CASES if case.seed == 0], ids=lambda case: case.key)
def test_the_settings_of_every_case_are_accepted(case):
    base = case.overrides()
    config = resolve(case.env, base).config
    resolve(case.env, base | case.fault.settings(config))


def test_figures_of_known_diagnoses():
    found = score(
        [
            result(fired=["a", "c"], roots=["a"]),
            result(fired=["a", "c"], roots=["c", "a"]),
            result(fired=["b"], roots=["b"]),
            result(fired=["c"], roots=["c"]),
            result("healthy"),
            result("healthy", fired=["c"], roots=["c"]),
        ]
    )
    assert (found.faulty, found.recall, found.root) == (4, 0.75, 0.25)
    assert (found.healthy, found.false_alarms) == (2, 0.5)
    assert not found.met()
    assert is_noticed(result(fired=["b"]))
    assert not is_named(result(fired=["a"], roots=[]))


def test_results_survive_and_make_a_page(tmp_path):
    case = find_case("rate_x100/CartPole-v1/0")
    told = {"fired": ["kl_shock"], "roots": ["kl_shock"], "unchecked": [], "env_steps": 20}
    save(tmp_path / "doctor.json", {case.key: make_result(case, told, 1.5)})
    again = load(tmp_path / "doctor.json")
    assert again[case.key]["names"] == list(case.fault.names)
    page = render(list(again.values()))
    assert "| learning rate × 100 | CartPole-v1 |" in page
    assert f"1 of {len(CASES)} trainings" in page


def test_broken_environments_are_broken_as_they_say():
    def played(wrapper, steps=300, **options):
        env = wrapper(gym.make("CartPole-v1", max_episode_steps=20), **options)
        env.reset(seed=0)
        stepped = []
        for number in range(steps):
            stepped.append(env.step(number % 2))
            if stepped[-1][2] or stepped[-1][3]:
                env.reset()
        return stepped

    first, mirrored = (played(one, 1)[0][0][1] for one in (gym.Wrapper, wrappers.MirroredActions))
    assert first < -0.1 < 0.1 < mirrored, "the cart is pushed the other way"
    assert all(np.all(obs == 0.0) for obs, *_ in played(wrappers.ScaledObservations, factor=0.0))
    ends = [(terminated, truncated) for _, _, terminated, truncated, _ in played(wrappers.LimitAsEnd)]
    assert (True, False) in ends
    assert not any(truncated for _, truncated in ends)
    short = [terminated for _, _, terminated, _, _ in played(wrappers.ShortEpisodes, 16, length=8)]
    assert [at for at, ended in enumerate(short) if ended] == [7, 15]
    assert all(info["action_mask"].tolist() == [1, 0] for *_, info in played(wrappers.OneLegalAction))
    assert [math.isnan(r) for _, r, *_ in played(wrappers.BrokenReward, 3, after=2)] == [False, False, True]
    sensed = [math.isnan(obs[0]) for obs, *_ in played(wrappers.BrokenSensor, 3, after=2)]
    assert sensed == [False, False, True]


def test_a_training_with_a_fault_is_diagnosed(tmp_path):
    case = find_case("stale_log_probs/CartPole-v1/0")
    worker = start_training(case, tmp_path)
    worker.join()
    assert worker.exitcode == 0
    found = make_result(case, judge(case, tmp_path), 0.0)
    assert found["roots"][0] == "stale_ratio"


def test_a_benchmark_in_a_folder_of_its_own_trains_what_is_missing_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["doctor", "--into", str(tmp_path), "stale_log_probs/CartPole-v1/0"])
    for trained in (["stale_log_probs/CartPole-v1/0"], []):
        assert main() == 0
        said = capsys.readouterr()
        assert [line.split()[0] for line in said.err.splitlines()] == trained, "once, and then it is there"
        assert "| all | 1 | 100% | 100% |" in said.out
    assert list(load(tmp_path / "doctor.json")) == ["stale_log_probs/CartPole-v1/0"]
