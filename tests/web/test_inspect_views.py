"""The inspector's further panels in a real browser: branches, keys, networks, checkpoints, reviews."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import gymsolve
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.nn.policy import Policy
from gymsolve.nn.saliency import Asked, answers, gradients
from gymsolve.runs.inspections import list_inspections, open_inspection
from gymsolve.runs.loading import load_checkpoint
from gymsolve.runs.run import Run
from tests.chat_server import ANSWER, standing_in
from tests.web.conftest import Served, serving

expect.set_options(timeout=60_000)  # only ends what hangs
SMALL = {"steps": 600, "eval.every": 300, "eval.episodes": 2, "checkpoint.every": 300, "solved_at": 1e9}


@pytest.fixture(scope="module", name="asked")
def _asked() -> Iterator[tuple[str, list[dict[str, object]]]]:
    with standing_in() as found:
        yield found


@pytest.fixture(scope="module", name="served")
def _served(tmp_path_factory: pytest.TempPathFactory, asked: tuple[str, list[object]]) -> Iterator[Served]:
    """A server that knows a chat server on this machine."""
    settings = {"GYMSOLVE_CHAT_URL": f"{asked[0]}/v1", "GYMSOLVE_CHAT_MODEL": "<b>m</b>"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        with serving(tmp_path_factory.mktemp("runs")) as served:
            yield served
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(scope="module", name="cartpole")
def _cartpole(served: Served) -> Run:
    return gymsolve.train("CartPole-v1", SMALL, runs_dir=served.runs_dir).run


def inspect(page: Page, served: Served, run: Run) -> InspectedEpisode:
    """Open the page on seed 3 and wait for the whole episode; the episode as Python has it."""
    page.goto(served.address(f"/inspect?run={run.id}&seed=3"))
    panel = page.locator(".panel-branch")
    expect(panel.get_by_text("In step 0 the policy did")).to_be_visible()
    expect(panel.locator("[data-do=hand]")).to_be_enabled()
    (stored,) = [
        one for one in list_inspections(run) if one.facts["seed"] == 3 and not one.facts.get("parent")
    ][-1:]
    return InspectedEpisode(stored)


def test_a_forced_action_branches_off_an_equal_prefix(
    page: Page, served: Served, cartpole: Run, accessible
) -> None:
    episode = inspect(page, served, cartpole)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    panel = page.locator(".panel-branch")
    expect(panel.get_by_text("In step 2 the policy did")).to_be_visible()
    expect(panel.locator("[data-do=force]")).to_be_disabled()  # it is what the policy did
    other = 1 - int(episode.column("action")[2, 0])
    panel.get_by_label("Action").select_option(str(other))
    panel.locator("[data-do=force]").click()
    expect(panel.get_by_text("compared bit for bit")).to_be_visible()
    (stored,) = [one for one in list_inspections(cartpole) if one.facts.get("parent") == episode.stored.name]
    child = InspectedEpisode(stored)
    np.testing.assert_array_equal(child.obs["obs"][:3], episode.obs["obs"][:3])
    assert child.column("action")[2, 0] == other
    told = [
        float(cell.get_attribute("data-to-come") or "nan") for cell in panel.locator("[data-to-come]").all()
    ]
    assert told == [float(one.rewards[2:].sum()) for one in (episode, child)]
    expect(panel.locator("canvas[data-beside][data-state='2']")).to_have_count(2)
    accessible(page)


def test_a_person_takes_over_with_real_keys_and_gives_back(page: Page, served: Served, cartpole: Run) -> None:
    episode = inspect(page, served, cartpole)
    panel = page.locator(".panel-branch")
    panel.locator("[data-do=hand]").click()
    for step, key in enumerate(("ArrowLeft", "ArrowRight", "ArrowLeft"), start=1):
        panel.locator(f"[data-hand='{step - 1}']").wait_for()
        page.keyboard.press(key)
        panel.locator(f"[data-hand='{step}']").wait_for()
    page.keyboard.press("Escape")
    expect(panel.get_by_text("compared bit for bit")).to_be_visible()
    child = next(one for one in list_inspections(cartpole) if one.facts.get("parent") == episode.stored.name)
    assert InspectedEpisode(child).column("action")[:3, 0].tolist() == [0, 1, 0]
    assert page.locator("html").get_attribute("data-state") == "0"  # the arrows were the person's


def test_checkpoints_are_compared_on_one_seed(page: Page, served: Served, cartpole: Run) -> None:
    inspect(page, served, cartpole)
    panel = page.locator(".panel-across")
    panel.locator("[data-do=across]").click()
    expect(panel.locator("[data-disagrees]")).to_have_count(2)
    expect(panel.locator("canvas[data-beside]")).to_have_count(2)


def test_the_network_of_a_picture_policy_is_looked_into(page: Page, served: Served) -> None:
    few = {**SMALL, "env.num_envs": 2}
    run = gymsolve.train("MinAtar/Breakout-v1:cnn", few, runs_dir=served.runs_dir).run
    episode = inspect(page, served, run)
    panel = page.locator(".panel-network")
    panel.locator("[data-do=look]").click()
    shown = panel.locator("[data-log-prob]")
    shown.wait_for()
    saved = load_checkpoint(run, episode.facts["checkpoint"])
    policy = Policy.from_arrays(saved.policy, saved.policy_metadata)
    asked = Asked(episode.observation(0), np.array(episode.column("action")[:1]))
    assert float(shown.get_attribute("data-log-prob") or "nan") == pytest.approx(
        answers(policy, asked)[0], rel=1e-4
    )
    assert panel.locator("canvas[data-over=obs]").evaluate("canvas => canvas.width") == 10
    panel.locator("[data-way]").select_option("gradient")
    panel.locator("[data-answer]").select_option("value")
    strongest = np.abs(gradients(policy, asked)["obs"].value * gradients(policy, asked)["obs"].unit).max()
    expect(panel.locator("[data-value]")).to_be_visible()
    told = panel.locator("[data-strongest]").get_attribute("data-strongest")
    assert float(told or "nan") == pytest.approx(float(strongest), rel=1e-4)
    panel.locator("[data-way]").select_option("layers")
    panel.locator("canvas[data-maps]").wait_for()
    panel.locator("[data-way]").select_option("filters")
    panel.locator("canvas[data-filters]").wait_for()
    panel.locator("[data-way]").select_option("dead")
    assert panel.locator("[data-dead]").first.get_attribute("data-dead") is not None


def test_a_review_is_sent_after_a_click_that_says_where_to_and_stays_text(
    page: Page, served: Served, cartpole: Run, asked: tuple[str, list[dict[str, object]]], accessible
) -> None:
    address, heard = asked
    episode = inspect(page, served, cartpole)
    panel = page.locator(".panel-review")
    panel.get_by_label("Your question").fill("Why does it fall?")
    panel.locator("[data-do=prompt]").click()
    panel.get_by_text("The prompt:").click()
    expect(panel.locator("[data-prompt]")).to_contain_text("Why does it fall?")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel.locator("[data-do=copy]").click()
    expect(panel.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == panel.locator("[data-prompt]").text_content()
    assert heard == []
    panel.locator("[data-do=ask]").click()
    expect(panel.locator(".confirm")).to_contain_text(address.removeprefix("http://"))
    expect(panel.locator(".confirm")).to_contain_text("<b>m</b>")
    assert heard == []
    accessible(page)
    panel.locator("[data-do=send]").click()
    expect(panel.locator("[data-answer]")).to_have_text(ANSWER)
    assert len(heard) == 1
    assert panel.locator("[data-answer] *").count() == 0  # HTML in an answer is text
    page.reload()
    expect(page.locator(".panel-review [data-answer]")).to_have_text(ANSWER)
    assert (Path(open_inspection(cartpole, episode.stored.name).path) / "reviews.jsonl").exists()
