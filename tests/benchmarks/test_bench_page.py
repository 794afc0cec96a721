"""The page says what the runs say: ratios, targets, and what could not be measured."""

import pytest

from benchmarks.crowd import measure_crowd
from benchmarks.page import NAMES, render_page, write_page
from benchmarks.peers import HERE
from benchmarks.server import CASE, EMPTY, ask_server
from benchmarks.store import Store, load_runs
from benchmarks.throughput import Options

MACHINE = {
    "cpu": "A CPU",
    "cores": 2,
    "memory_gib": 4.0,
    "system": "Linux",
    "python": "3.11.1",
    "versions": {"numpy": "2.0.0"},
    "load": 0.1,
    "when": "",
}


def speed(tool, number, rate, *, case="CartPole-v1", **more):
    facts = {
        "steps_per_second": rate,
        "without_env": rate * 2,
        "startup": 1.0,
        "noisy": False,
        "peak_mib": 99.0,
    }
    return {"case": case, "tool": tool, "session": "s", "round": number, **facts, **more}


@pytest.fixture
def results():
    return {name: {"machines": {"s": MACHINE}, "runs": []} for name in NAMES}


def line(page, start):
    found = [row for row in page.splitlines() if row.startswith(f"| {start}")]
    assert found, f"no row {start!r}"
    return found[0]


def test_a_page_can_be_made_of_nothing():
    page = render_page({name: {"machines": {}, "runs": []} for name in NAMES})
    assert page.count("Not measured yet.") == len(NAMES)
    assert "not measured yet" in line(page, "LunarLander, identical")


def test_throughput_gives_ratios_and_judges_the_target(results):
    results["throughput"]["runs"] = [
        speed("gymsolve", 0, 7000.0),
        speed("sb3", 0, 1000.0),
        speed("gymsolve", 1, 8000.0),
        speed("sb3", 1, 1000.0, noisy=True),
    ]
    page = render_page(results)
    assert "7.5 (7 to 8)" in line(page, "Stable-Baselines3")
    assert "1 of 2" in line(page, "Stable-Baselines3")
    assert line(page, "CartPole, identical").endswith("| 7.5× (7 to 8, 2 rounds) | yes |")


def test_a_missed_target_is_not_hidden(results):
    results["throughput"]["runs"] = [speed("gymsolve", 0, 2000.0), speed("sb3", 0, 1000.0)]
    assert line(render_page(results), "CartPole, identical").endswith("| **no** |")


def test_a_peer_that_could_not_be_measured_is_named_with_its_reason(results):
    failed = {"case": "CartPole-v1", "tool": "sbx", "session": "s", "round": 0, "error": "no wheel"}
    results["throughput"]["runs"] = [speed("gymsolve", 0, 7000.0), failed]
    assert "not measured: no wheel" in line(render_page(results), "SBX")


def test_unsolved_seeds_count(results):
    def solved(tool, seed, seconds):
        facts = {"from_start": seconds, "from_first_step": seconds, "solved": seconds is not None}
        return {"case": "CartPole-v1", "tool": tool, "session": "s", "round": seed, **facts} | {
            "evaluating": 1.0,
            "env_steps": 1000,
            "wall": 50.0,
        }

    results["solve"]["runs"] = [solved("gymsolve", 0, 4.0), solved("gymsolve", 1, None)]
    results["solve"]["runs"] += [solved("sb3", 0, 40.0), solved("sb3", 1, 44.0)]
    page = render_page(results)
    assert "1 of 2 seeds" in line(page, "**gymsolve**")
    assert line(page, "CartPole-v1, process start").endswith("| **no** |")


def test_share_of_the_limit_is_taken_within_a_round(results):
    bare = {"env_seconds": 1e-5, "env_source": "x", "act_seconds": 1e-5, "minibatch_seconds": 1e-3}
    results["limit"]["runs"] = [
        {"case": "CartPole-v1", "tool": "gymsolve", "session": "s", "round": number, **bare}
        | {"bound": bound, "steps_per_second": speed}
        for number, (bound, speed) in enumerate([(10000.0, 3000.0), (20000.0, 10000.0), (5000.0, 4500.0)])
    ]
    page = render_page(results)
    assert line(page, "CartPole-v1: ≥ 40%").endswith("| 50% (30% to 90%) | yes |")


def test_the_cost_of_seeing_is_taken_pair_by_pair(results):
    def cost(tool, number, seconds, **more):
        return (
            {"case": "CartPole-v1", "tool": tool, "session": "s", "round": number}
            | more
            | {
                "cpu_seconds": seconds,
                "noisy": False,
            }
        )

    results["cost"]["runs"] = [
        *(cost("off", 0, 10.0), cost("gymsolve", 0, 10.2)),
        *(cost("gymsolve", 1, 20.8), cost("off", 1, 20.0)),
        cost("split", 0, 10.3, shares={"alerts": 0.02, "report": 0.01}),
    ]
    page = render_page(results)
    assert "| 3.0% (2.0% to 4.0%) | no |" in line(page, "**all of it**")
    assert "| 2.0% (2.0% to 2.0%) |" in line(page, "alerts")
    assert "| 3.0% (3.0% to 3.0%) |" in line(page, "the parts together")
    assert line(page, "CartPole at its recipe").endswith("| 3.0% (2.0% to 4.0%, 2 pairs) | yes |")


def test_a_fall_with_the_number_of_metrics_is_not_hidden(results):
    results["growth"]["runs"] = [
        speed("gymsolve", 0, rate, case=f"metrics {value}", value=value, training_mib=1.0)
        for value, rate in ((0, 100.0), (30, 90.0))
    ]
    assert line(render_page(results), "throughput does not fall as `metrics`").endswith("| **no** |")


def test_memory_is_fitted_by_a_line(results):
    results["growth"]["runs"] = [
        speed("gymsolve", 0, 1.0, case=f"rollout {steps}", value=steps)
        | {"rollout_steps": 16 * steps, "training_mib": 50 + 16 * steps * 64 / 2**20}
        for steps in (1024, 2048, 4096)
    ]
    page = render_page(results)
    assert "64 bytes per step of the rollout on top of 50 MiB (R² 1.000)" in page
    assert line(page, "memory grows linearly").endswith("| R² 1.000, 64 bytes per step | yes |")


def test_bare_stepping_is_compared_with_the_packages_own_way(results):
    case = "HalfCheetah-v5, EnvPool"
    results["stepping"]["runs"] = [
        speed("gymsolve", 0, 90.0, case=case),
        speed("own", 0, 100.0, case=case),
        speed("gymsolve", 1, 80.0, case=case),
        speed("own", 1, 100.0, case=case),
        {"case": "VizdoomBasic-v1, processes", "tool": "gymsolve", "round": 0, "session": "s", "error": "no"},
    ]
    page = render_page(results)
    assert "| 85 (80 to 90) | 100 (100 to 100) | 0.85 (0.8 to 0.9) |" in line(page, case)
    assert line(page, f"bare stepping, {case}").endswith("| 0.85× (0.8 to 0.9, 2 rounds) | yes |")
    assert "not measured: no" in line(page, "VizdoomBasic-v1, processes")


def test_pages_in_the_browser_are_held_against_their_bounds(results):
    figure = {"tool": "gymsolve", "session": "s", "unit": "s"}
    results["browser"]["runs"] = [
        {**figure, "case": "first", "round": number, "value": value, "most": 1.0}
        for number, value in enumerate((0.5, 0.7, 1.2))
    ] + [{**figure, "case": "smooth", "round": 0, "value": 25.0, "least": 30, "unit": "fps"}]
    page = render_page(results)
    assert line(page, "browser, first: ≤ 1 s").endswith("| 0.7 s (0.5 to 1.2) | yes |")
    assert line(page, "browser, smooth: ≥ 30 fps").endswith("| **no** |")


def test_a_crowd_has_targets(results):
    figure = {"tool": "gymsolve", "session": "s", "round": 0}
    results["crowd"]["runs"] = [
        {**figure, "case": "memory at its highest", "value": 612.0, "unit": "MB", "most": 500.0},
        {**figure, "case": "answers", "value": 64, "unit": "requests"},
    ]
    page = render_page(results)
    assert line(page, "crowd, memory at its highest: ≤ 500 MB").endswith("| **no** |")
    assert line(page, "answers").startswith("| answers | 64 ")


def test_a_crowd_is_measured(tmp_path):
    """The server, its clients and what they leave behind, on a small scale."""
    measure_crowd(Options(results=tmp_path, quick=True))
    figures = {run["case"]: run for run in load_runs(tmp_path / "crowd.json")["runs"]}
    assert figures["answers"]["value"] > 0
    assert figures["failed or given up"]["value"] == 0
    assert 10 < figures["memory at its highest"]["value"] < figures["memory at its highest"]["most"]


def test_the_server_is_compared_with_an_empty_one(results):
    results["server"]["runs"] = [
        {"case": CASE, "tool": tool, "round": number, "session": "s", "seconds": seconds, "megabytes": size}
        for number, ours in enumerate((1.0, 1.4))
        for tool, seconds, size in (("gymsolve", ours, 70.0), (EMPTY, 0.75, 60.0))
    ]
    page = render_page(results)
    assert line(page, "server for agents, first list").endswith("| 0.45 (0.25 to 0.65) | **no** |")
    assert line(page, "server for agents, memory").endswith("| 70 (70 to 70) | yes |")


def test_a_server_is_asked_for_its_tools():
    found = ask_server(("-P", "-m", "gymsolve", "mcp", "--runs-dir", "runs"))
    assert found["tools"] > 5
    assert found["megabytes"] > 10


def test_the_page_lies_beside_the_results(tmp_path):
    Store(tmp_path / "results", "micro").add(
        {"case": "GAE", "tool": "gymsolve", "round": 0, "value": 12.0, "unit": "µs"}
    )
    page = write_page(tmp_path / "results")
    assert page == tmp_path / "README.md"
    assert "12 µs" in line(page.read_text(), "GAE")


def test_the_page_in_the_repository_is_the_one_its_results_make():
    stored = {name: load_runs(HERE / "results" / f"{name}.json") for name in NAMES}
    assert (HERE / "README.md").read_text() == render_page(stored), "run: python -m benchmarks --page"
