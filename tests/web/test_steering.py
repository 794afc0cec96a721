"""Runs that begin with a click: new, resumed and forked ones, several seeds, trials; and what is refused."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import gymsolve
from gymsolve.errors import UsageError
from gymsolve.jobs.request import RunRequest
from gymsolve.runs import list_runs
from gymsolve.runs.run import Run
from gymsolve.service.agent_limits import Home, Limits
from gymsolve.service.start_requests import start_request
from gymsolve.text import count
from tests.web.conftest import Served, serving

QUICK = {"steps": 6000, "video.enabled": False, "algo.learning_rate": 0.3}
PLAIN = "video.enabled=false\neval.episodes=2\nsolved_at=1e9"
ENDED = re.compile("finished|solved")
expect.set_options(timeout=120_000)  # a busy machine takes its time


LADDER = """
description: Swing for longer and longer
env:
  id: Acrobot-v1
variants:
  ladder:
    description: Swing for longer and longer; PPO with a curriculum
    env:
      num_envs: 4
      tasks: {short: {max_episode_steps: 10}, long: {max_episode_steps: 30}}
    algo: {name: ppo, num_steps: 64}
    curriculum: {stages: [short, long], promote_at: -12, episodes: 20}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with limits and a recipe of the user's own, and a run that learns far too fast."""
    runs_dir, here = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("work")
    (here / "recipes").mkdir()
    (here / "recipes" / "Acrobot-v1.yaml").write_text(LADDER)
    gymsolve.train("CartPole-v1", QUICK, runs_dir=runs_dir)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        with serving(runs_dir, "--max-steps", "1M", "--max-runs", "2") as served:
            yield served


@pytest.fixture(scope="module")
def sick(server: Served) -> Run:
    """That run."""
    (only,) = [one for one in list_runs(server.runs_dir) if one.seed == 0 and one.parent is None]
    return Run(server.runs_dir / only.id)


def fill(page: Page, fields: dict[str, str], verb: str) -> Locator:
    """Fill in the form, look at the command and confirm it; the form, which goes away if it was allowed."""
    form = page.get_by_role("dialog")
    for label, text in fields.items():
        form.get_by_label(label, exact=True).fill(text)
    form.get_by_role("button", name="Show the command").click()
    form.get_by_label("Command", exact=True).wait_for()
    form.get_by_role("button", name=verb, exact=True).click()
    return form


def ended(page: Page, run: Run, least: int) -> int:
    """The page has followed a run to its end, which comes after `least` steps; the steps that it shows."""
    # The badge alone is not enough: it shows for a moment how the run ended before it was resumed.
    page.wait_for_function(
        "least => +document.querySelector('.tile b').textContent.replaceAll(',', '') >= least",
        arg=least,
        timeout=120_000,
    )
    expect(page.locator("h1 .badge")).to_have_text(ENDED)
    steps = run.summary().env_steps
    expect(page.locator(".tile").first.locator("b")).to_have_text(count(steps))
    return steps


def test_a_run_is_resumed_and_forked_by_clicks(server: Served, sick: Run, page: Page) -> None:
    page.goto(server.address(f"/run/{sick.id}"))
    expect(page.locator("h1 .badge")).to_have_text(ENDED)
    before = sick.summary().env_steps
    page.get_by_role("button", name="Resume").click()
    fill(page, {"Steps": "7000", "Settings to change": "algo.learning_rate=0.2"}, "Resume")
    page.wait_for_function(
        "least => document.querySelector('.plot').chart.columns[0].at(-1) > least",
        arg=before,
        timeout=120_000,
    )
    assert ended(page, sick, 7000) >= 7000
    assert sick.config_json()["config"]["algo"]["learning_rate"] == 0.2

    first = page.get_by_role("button", name="Fork checkpoint").last
    checkpoint = (first.get_attribute("aria-label") or "").rpartition(" ")[2]
    first.click()
    fill(page, {"Steps": "8000", "Seed": "5", "Settings to change": "algo.learning_rate=0.001"}, "Fork")
    page.wait_for_url(lambda url: "/run/" in url and sick.id not in url)
    forked = Run(server.runs_dir / page.url.rpartition("/")[2])
    expect(page.locator(".runhead")).to_contain_text(f"from {sick.id}@{checkpoint}")
    assert ended(page, forked, 8000) >= 8000
    assert forked.summary().seed == 5
    assert forked.config_json()["config"]["algo"]["learning_rate"] == 0.001


def test_the_trials_of_a_remedy_are_started_and_told(server: Served, sick: Run, page: Page) -> None:
    page.goto(server.address(f"/run/{sick.id}"))
    alert = page.locator(".alert").first
    alert.get_by_text("Try the remedy").click()
    alert.get_by_role("button", name="Run it in the background").click()
    page.get_by_role("dialog").get_by_role("button", name="Start the trials").click()
    told = alert.get_by_role("status")
    expect(told).to_contain_text("Its trials train in the background")
    expect(told).to_contain_text("It helped: with 4 seeds, chance alone gives a gap this clear 1 time in 35.")
    assert told.get_by_role("link").count() == 8
    told.get_by_role("link").first.click()
    expect(page.locator(".runhead")).to_contain_text(f"from {sick.id}")


def test_several_seeds_are_started_as_a_group(server: Served, page: Page) -> None:
    page.goto(server.address("/"))
    page.get_by_role("button", name="Start a run").click()
    wanted = {"Environment, or recipe": "CartPole-v1", "Steps": "600", "Seed": "11", "Number of seeds": "2"}
    fill(page, {**wanted, "Settings to change": PLAIN}, "Start")
    page.wait_for_url(re.compile("query=group"))
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.locator(".badge")).to_have_text([ENDED, ENDED])
    runs = [one for one in list_runs(server.runs_dir) if one.group]
    assert sorted(one.seed or 0 for one in runs) == [11, 12]
    assert len({one.group for one in runs}) == 1


def test_a_recipe_with_tasks_and_stages_is_started_within_limits(
    server: Served, page: Page, complaints: list[str]
) -> None:
    page.goto(server.address("/"))
    page.get_by_role("button", name="Start a run").click()
    form = page.get_by_role("dialog")
    wanted = {"Environment, or recipe": "Acrobot-v1:ladder", "Settings to change": PLAIN}
    fill(page, {**wanted, "Steps": "2000000"}, "Start")
    expect(form.get_by_role("alert")).to_contain_text("2,000,000 steps are too many")
    expect(form.get_by_role("alert")).to_contain_text(
        "of 1,000,000 are left within 24 hours. Give fewer steps."
    )
    assert not [one for one in list_runs(server.runs_dir) if one.variant == "ladder"]
    fill(page, {"Steps": "1024"}, "Start")
    page.wait_for_url("**/run/**")
    run = Run(server.runs_dir / page.url.rpartition("/")[2])
    assert ended(page, run, 1024) == 1024
    page.get_by_label("Add a chart").fill("curriculum/stage")
    page.get_by_label("Add a chart").press("Tab")
    expect(page.locator("figure.chart", has_text="curriculum/stage")).to_be_visible()
    assert list(run.config_json()["config"]["env"]["tasks"]) == ["short", "long"]
    assert len(complaints) == 1  # of what was refused
    complaints.clear()


def test_seeds_count_as_the_runs_that_they_are(tmp_path: Path) -> None:
    def start(seeds: int, **limits: int) -> None:
        request = RunRequest("train", "CartPole-v1", steps=5000, seeds=seeds)
        start_request(request, Home(str(tmp_path), Limits(**limits)))

    with pytest.raises(UsageError, match="15,000 steps are too many"):
        start(3, steps=14_000, runs=1000)
    with pytest.raises(UsageError, match="1001 is no number of seeds"):
        start(1001)
    assert not list_runs(tmp_path)
