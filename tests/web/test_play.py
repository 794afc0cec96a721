"""People play in a real browser, and their scores are those that the same actions earn in Python."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import gymsolve
import gymsolve.web
from gymsolve.envs.families import find_family
from gymsolve.envs.open_render_env import open_play_env
from gymsolve.recipes import resolve
from gymsolve.runs.demos import list_demos
from gymsolve.runs.episodes import load_episode
from gymsolve.service.recipes import list_recipes
from tests.processes import children_of, soon_gone
from tests.web.conftest import Served, serving

HERE = Path(__file__).parent
QUICK = {"steps": 1024, "eval.every": 1024, "eval.episodes": 2, "solved_at": 1e9}
PAD = """() => {
  window.pad = {connected: true, mapping: 'standard', axes: [0, 0, 0, 0],
    buttons: Array.from({length: 16}, () => ({pressed: false, value: 0}))};
  navigator.getGamepads = () => [window.pad];
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that finds our own environments, and a run."""
    runs_dir = tmp_path_factory.mktemp("runs")
    gymsolve.train("CartPole-v1", QUICK, runs_dir=runs_dir)
    path = os.environ.get("PYTHONPATH", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{HERE}{os.pathsep}{path}" if path else str(HERE))
        with serving(runs_dir) as served:
            yield served


class Player:
    """A person at the page."""

    def __init__(self, page: Page, server: Served, what: str) -> None:
        self.page = page
        page.goto(server.address(f"/play?{what}"))
        self.stage = page.locator(".stage")

    def wait(self) -> "Player":
        expect(self.stage).to_have_attribute("data-frame", re.compile(r"\d"), timeout=120_000)
        return self

    def press(self, *events: str) -> None:
        """`+KeyA` goes down, `-KeyA` up, `KeyA` both."""
        for event in events:
            if event[0] == "+":
                self.page.keyboard.down(event[1:])
            elif event[0] == "-":
                self.page.keyboard.up(event[1:])
            else:
                self.page.keyboard.press(event)

    def click(self, what: str) -> None:
        self.page.locator(f'[data-do="{what}"], [data-mode="{what}"]').first.click()

    def sees(self, **facts: object) -> None:
        """Wait until the stage shows these facts."""
        for name, value in facts.items():
            expect(self.stage).to_have_attribute(f"data-{name}", str(value), timeout=60_000)

    def reads(self, name: str, text: str | re.Pattern[str]) -> None:
        """Wait until a number beside the picture is this."""
        expect(self.page.locator(f'[data-number="{name}"]')).to_have_text(text)

    def score(self, name: str = "return") -> float:
        return float(self.stage.get_attribute(f"data-{name}") or "nan")


def earn(name: str, seed: int, labels: list[str]) -> tuple[float, float, int]:
    """Return with and without shaping, and steps, of actions by their names until the episode ends."""
    stage = open_play_env(resolve(name).config.env)
    try:
        scene, shaped, steps, names = stage.reset(seed), 0.0, 0, list(stage.labels.names)
        for label in labels:
            if not (scene.terminated or scene.truncated):
                scene = stage.step(np.array([names.index(label)]))
                shaped, steps = shaped + scene.reward, steps + 1
        return scene.raw_return, shaped, steps
    finally:
        stage.close()


LEFT, RIGHT = ("ArrowLeft", "left"), ("ArrowRight", "right")
GAMES = {
    "CartPole-v1": [LEFT, RIGHT] * 40,
    "FrozenLake-v1": [("ArrowDown", "down"), ("ArrowRight", "right")] * 12,
    "ALE/Pong-v5": [("KeyA", "left"), ("ArrowRight", "right"), ("Space", "fire")] * 25,
    "VizdoomDefendCenter-v1": [
        *[("Space", "attack")] * 4,
        ("ArrowLeft", "turn left"),
        *[("Space", "attack")] * 6,
    ],
    "Retro/MeadowRun-Nes-v0": [
        *[RIGHT] * 3,
        *[("+ArrowRight", "right"), ("+KeyX", "right a"), ("-KeyX", ""), ("+KeyX", "right a"), ("-KeyX", "")],
        *[("-ArrowRight", ""), *[RIGHT] * 16],
    ],
}
"""Key events, and what each of them does in step mode; "" for nothing."""


@pytest.mark.parametrize("name", GAMES)
def test_keys_earn_what_the_same_actions_earn_in_python(server: Served, page: Page, name: str) -> None:
    player = Player(page, server, f"env={name}&seed=4&paused={'' if 'Lake' in name else '1'}")
    raw, shaped, steps = earn(name, 4, [label for _, label in GAMES[name] if label])
    player.wait()
    taken = 0
    for event, label in GAMES[name]:
        player.press(event)
        taken += bool(label)
        if taken == steps:
            break
    player.sees(step=steps)
    assert player.score() == pytest.approx(raw)
    assert player.score("shaped") == pytest.approx(shaped)
    if "Retro" in name:
        expect(page.locator('[data-part="progress"]')).to_have_text(re.compile(r"\d\.\d"))
    if "Vizdoom" in name:
        expect(page.locator('[data-part="shots"]')).to_contain_text("-0.")
        expect(page.locator(".keys")).to_contain_text("turn left")


def test_time_runs_by_itself_and_episodes_stop_after_the_number_asked_for(server: Served, page: Page) -> None:
    player = Player(page, server, "env=CartPole-v1&seed=1&episodes=2").wait()
    player.sees(waits="begin", step=0)
    for episode in (1, 2):
        player.press("+ArrowLeft")
        player.sees(episode=episode, end="terminated")
        player.press("-ArrowLeft")
        if episode == 1:
            player.sees(episode=2, waits="begin")
    player.sees(waits="done")
    assert page.locator(".played tbody tr").count() == 2
    player.click("random")
    expect(page.locator('[data-mode="random"]')).to_have_attribute("aria-pressed", "true")
    player.sees(waits="done")  # no mode goes on beyond it
    page.locator('[name="episodes"]').fill("1")
    player.click("episodes")
    player.sees(episode=3, end="terminated", who="random", waits="done")


def test_a_person_takes_over_from_the_policy_hands_back_and_keeps_the_episode(
    server: Served, page: Page, accessible: Callable[[Page], None]
) -> None:
    player = Player(page, server, "run=@last&seed=1&paused=1&record=1&episodes=1").wait()
    expect(page.locator('[data-do="checkpoint"]')).to_have_value("1024")
    player.click("step")
    player.sees(step=1, who="policy")
    player.click("takeover")
    player.press("ArrowLeft", "ArrowRight")
    player.sees(step=3, who="person")
    player.click("takeover")
    player.click("step")
    player.sees(step=4, who="policy")
    player.press("+Shift", "ArrowLeft", "-Shift")
    player.sees(step=5, who="person")
    player.reads("value", re.compile(r"\d"))
    accessible(page)
    player.click("pause")
    player.sees(waits="done")
    expect(page.locator(".played tbody")).to_contain_text("yes")
    kept = load_episode(list_demos(server.runs_dir)[-1].path)
    assert kept.who is not None
    assert kept.who[:6].tolist() == ["policy", "person", "person", "policy", "person", "policy"]
    assert kept.actions[[1, 2, 4]].tolist() == [0, 1, 0]


def test_keys_are_up_after_a_blur_and_may_be_others(server: Served, page: Page) -> None:
    player = Player(page, server, "env=MountainCar-v0&seed=1&paused=1").wait()
    held = page.locator('[data-key="left"]')
    assert held.evaluate("one => getComputedStyle(one).display") != "grid"  # its arrow is in the middle
    player.press("+ArrowLeft")
    player.sees(step=1)
    expect(held).to_have_attribute("aria-pressed", "true")
    player.reads("action", "left")
    page.evaluate("dispatchEvent(new Event('blur'))")
    expect(held).to_have_attribute("aria-pressed", "false")
    player.press("Period")
    player.sees(step=2)
    player.reads("action", "coast")
    player.press("-ArrowLeft")
    page.get_by_label(re.compile("Key for left")).click()
    player.press("KeyJ", "KeyJ")  # the first is the choice, the second plays
    player.sees(step=3)
    page.reload()  # it is remembered
    player.sees(step=0)
    player.press("KeyJ")
    player.sees(step=1)
    player.reads("action", "left")
    held.dispatch_event("pointerdown", {"pointerId": 1})  # a finger on the screen
    player.sees(step=2)


def test_sliders_and_sticks_set_numbers_and_pads_hold_buttons(server: Served, page: Page) -> None:
    page.add_init_script(f"({PAD})()")
    player = Player(page, server, "env=LunarLanderContinuous-v3&seed=1&paused=1").wait()
    page.evaluate("pad.axes[0] = 0.5")
    player.sees(step=1)
    player.reads("action", "main +0.00 side +0.50")
    page.locator("#level0").fill("0.25")
    player.click("step")
    player.sees(step=2)
    player.reads("action", "main +0.25 side +0.50")
    page.get_by_role("button", name="Let go").click()
    page.evaluate("pad.axes[0] = 0")
    page.evaluate("pad.buttons[7].value = 0.75")  # a trigger is a lever: gas, where there is one
    player.sees(step=3)
    player.reads("action", "main +0.75 side +0.00")
    page.evaluate("pad.buttons[7].value = 0")

    player = Player(page, server, "env=BipedalWalker-v3&seed=1&paused=1").wait()
    for step, (x, y) in enumerate([(0.5, 0), (-0.5, 0), (0, 1)], 1):  # the right stick's y points down
        page.evaluate("([x, y]) => { pad.axes[0] = x; pad.axes[3] = y; }", [x, y])
        player.sees(step=step)
        player.reads("action", f"hip 1 {x:+.2f} knee 1 +0.00 hip 2 +0.00 knee 2 {0 - y:+.2f}")
    page.evaluate("pad.axes[3] = 0")

    player = Player(page, server, "env=own_envs:Pad-v0&paused=1").wait()
    page.evaluate("pad.buttons[0].pressed = true")  # A
    player.sees(step=1, **{"return": 1})
    player.press("ArrowLeft")  # and LEFT, held together
    player.sees(step=2, **{"return": 12})
    player.reads("action", "a left")
    page.close()  # the pad would stay


def test_masks_and_tables_in_the_browser(server: Served, page: Page) -> None:
    player = Player(page, server, "env=own_envs:Masked-v0").wait()
    expect(page.locator(".seen")).to_contain_text("obs")
    player.press("Digit0")
    expect(page.locator(".says")).to_contain_text("0 is not allowed here")
    player.sees(step=0)
    player.press("Digit2")
    player.sees(step=1, **{"return": 2})


def test_what_goes_wrong_is_one_sentence_with_the_fix(server: Served, page: Page) -> None:
    player = Player(page, server, "env=own_envs:Broken-v0&paused=1").wait()
    player.press("KeyX", "KeyX", "KeyX")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("the wheel came off")
    page.get_by_role("button", name="Start again").click()
    player.sees(step=0)

    process = max(children_of(server.process.pid))  # those of closed tabs may still be there
    os.kill(process, signal.SIGKILL)
    expect(alert).to_contain_text("SIGKILL")
    assert soon_gone(process)
    page.get_by_role("button", name="Start again").click()
    page.locator('.stage[data-frame="1"]').wait_for()  # not the picture of the session before
    expect(alert).to_be_hidden()
    player.sees(step=0, waits="paused")
    player.stage.focus()
    player.press("KeyX")
    player.sees(step=1)

    page.goto(server.address("/play?env=Nowhere-v0"))
    told = re.compile(r"^\s*(?!env\.id).*Nowhere-v0.*\(env\.id\)", re.IGNORECASE)
    expect(alert).to_have_text(told, timeout=60_000)  # a sentence first, and then which setting it is about
    page.goto(server.address("/play"))
    page.get_by_label("Search").fill("nothing")
    page.get_by_role("link", name="Watch the run nothing").click()
    expect(alert).to_contain_text("nothing", timeout=60_000)


def test_what_there_is_to_play_has_pictures_families_and_a_search(
    server: Served, page: Page, accessible: Callable[[Page], None]
) -> None:
    page.goto(server.address("/play"))
    games = page.locator("a.choice")
    page.get_by_role("heading", name="Classic control").wait_for()
    whole = games.count()
    assert page.locator("a.choice .picture").count() == whole
    accessible(page)
    page.get_by_label("Search").fill("toy cliff")  # of a family, and a part of a name
    expect(games).to_have_count(1)
    expect(page.get_by_role("status")).to_contain_text("1 environment,")
    page.wait_for_function("() => document.querySelector('a.choice img').naturalWidth === 240")
    page.get_by_label("Search").press("Enter")
    page.wait_for_url("**/play?env=CliffWalking-v1")
    page.goto(f"{server.origin}/play?search=own_envs:Broken-v0")
    page.get_by_role("link", name="Play own_envs:Broken-v0").wait_for()
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_label("Search").fill("")
    expect(games).to_have_count(whole)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_keys_are_named_before_the_first_one_is_pressed(server: Served, page: Page) -> None:
    player = Player(page, server, "env=ALE/Pong-v5&paused=1").wait()
    hints = page.locator(".hints")
    expect(hints).to_contain_text("Space")
    for arrow, label in (("↑", "up"), ("↓", "down"), ("→", "right")):
        expect(hints.locator("li", has_text=label)).to_contain_text(arrow)
    player.press("ArrowUp")
    expect(hints).to_have_count(0)


def test_every_environment_with_a_recipe_has_its_family_and_a_picture_or_a_reason() -> None:
    """`python -m tools.env_pictures` draws what is missing."""
    table = json.loads((Path(gymsolve.web.__file__).parent / "environments.json").read_text())
    families = {recipe.env_id: find_family(recipe.env_id) for recipe in list_recipes().recipes}
    assert {name: facts["family"] for name, facts in table.items()} == {
        name: family.title or family.name for name, family in families.items()
    }
    without = {name for name, facts in table.items() if facts["picture"] is None}
    assert without <= {
        "Bandit-v0",
        "Retro/SuperMarioBros-Nes-v0",
    }  # no picture at all, and a game one has to own
    there = {path.name for path in (Path(gymsolve.web.__file__).parent / "static" / "environments").iterdir()}
    assert there == {facts["picture"] for facts in table.values()} - {None}
