"""An inspected episode has the numbers of the policy, of the environment and of the functions of training."""

import csv
import io
import json
import os
import re
import shutil
import signal
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from inspect_cases import CASES, brute_advantages, brute_returns, replay, train_case
from playwright.sync_api import expect

import gymsolve
from gymsolve.apps.inspector.branching import branch_off
from gymsolve.apps.inspector.episode_credit import episode_credit
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.inspector.recorder import EpisodeRecorder, Question
from gymsolve.apps.inspector.takeover import Hand
from gymsolve.errors import CheckpointError, GymsolveError, UnknownRunError, UsageError
from gymsolve.experience.table import rollout_columns
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.inspections import InspectionWriter, list_inspections
from gymsolve.runs.run import Run
from tests.processes import children_of


@pytest.fixture(scope="module")
def own_modules():
    """Processes of the server find the environments of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        yield


@pytest.fixture(scope="module")
def runs(own_modules, server):
    """A small run of every kind among those of the server, trained when it is first asked for."""

    class Trained(dict):
        def __missing__(self, name):
            self[name] = train_case(name, server.runs_dir)
            return self[name]

    return Trained()


def say(number):
    return pytest.approx(number, rel=2e-5, abs=2e-5)


@pytest.mark.parametrize("name", CASES)
def test_an_episode_is_what_an_evaluation_plays(name, runs):
    """Seen, done and earned exactly; expected and remembered up to rounding, since batches differ."""
    run = runs[name]
    episode, again = gymsolve.inspect(run), replay(run, 0)
    assert len(episode) == len(again["reward"]) == again["episode"].length
    assert np.array_equal(episode.column("action"), np.array(again["action"]).reshape(len(episode), -1))
    assert np.array_equal(episode.rewards.astype(np.float32), np.array(again["reward"], np.float32))
    for state, seen in enumerate(again["obs"]):
        found = episode.observation(state)
        assert all(np.array_equal(found[key][0], array) for key, array in seen.items())
    assert episode.values == say(np.array(again["value"]))
    assert episode.facts["return"] == pytest.approx(again["episode"].raw_return)
    assert episode.facts["end"] == ("terminated" if again["terminated"] else "truncated")
    if episode.memory is not None:
        assert episode.memory[:-1] == say(np.array(again["memory"]))
        assert episode.column("memory_norm")[0] == 0.0 < episode.column("memory_norm")[-1]
    if episode.masks is not None:
        assert np.array_equal(episode.masks, np.array(again["mask"]))
        assert (episode.column("params")[~episode.masks] == 0.0).all()
    if episode.components:
        assert np.column_stack([*episode.components.values()]) == say(np.array(again["components"]))
        assert sum(episode.components.values()) == say(episode.rewards)
    scored = gymsolve.evaluate(run, episodes=1, run_seeds=True)
    assert scored.mean == pytest.approx(episode.facts["return"])


@pytest.mark.parametrize("name", CASES)
def test_probabilities_entropy_and_log_probabilities_belong_together(name, runs):
    episode = gymsolve.inspect(runs[name], deterministic=False, seed=3)
    again = np.array(replay(runs[name], 3, sampled=True)["action"])
    assert np.array_equal(episode.column("action"), again.reshape(len(episode), -1))
    params, action = episode.column("params").astype(np.float64), episode.column("action")
    spec = episode.spec.action
    if spec.kind == "box":
        std = np.array(episode.facts["std"])
        z = (action - params) / std
        dense = (-0.5 * z**2 - np.log(std) - 0.5 * np.log(2 * np.pi)).sum(axis=1)
        assert episode.column("log_prob") == say(dense)
        spread = (np.log(std) + 0.5 * np.log(2 * np.pi * np.e)).sum()
        assert episode.column("entropy") == say(np.full(len(episode), spread))
        return
    parts = np.split(params, np.cumsum(spec.nvec)[:-1], axis=1)
    picked = [np.log(part[np.arange(len(action)), action[:, i]]) for i, part in enumerate(parts)]
    assert episode.column("log_prob") == say(sum(picked))
    spread = [-(part * np.log(np.where(part > 0, part, 1.0))).sum(axis=1) for part in parts]
    assert episode.column("entropy") == say(sum(spread))
    assert all(part.sum(axis=1) == say(np.ones(len(episode))) for part in parts)


@pytest.mark.parametrize("name", [name for name in CASES if name != "reinforce"])
@pytest.mark.parametrize("changes", [{}, {"gamma": 0.5, "gae_lambda": 0.3, "reward_scale": 2.5}])
def test_credit_is_what_brute_force_gives(name, changes, runs):
    episode = gymsolve.inspect(runs[name])
    own = {key: getattr(episode.settings, key) for key in ("gamma", "gae_lambda", "reward_scale")} | changes
    limit = episode.settings.reward_limit or np.inf
    rewards = np.clip(episode.rewards * own["reward_scale"], -limit, limit)
    ended, found = episode.facts["end"] == "terminated", episode.credit(**changes)
    gamma, values = own["gamma"], episode.values.astype(np.float64)
    advantages = brute_advantages(rewards, values, ended, gamma, own["gae_lambda"])
    to_go = brute_returns(rewards, values[-1], ended, gamma)
    assert found["advantage"] == say(advantages)
    assert found["return"] == say(advantages + values[:-1])
    assert found["td_error"] == say(brute_advantages(rewards, values, ended, gamma, 0.0))
    assert found["return_to_go"] == say(to_go)
    assert found["advantage_value"] == say(to_go - values[:-1])
    assert found["advantage_mean"] == say(to_go - to_go.mean())


def test_reinforce_is_credited_as_it_learns(runs):
    """Its running mean is in the checkpoint; a tenth of it moves to what this episode gives."""
    episode = gymsolve.inspect(runs["reinforce"])
    before = episode.settings.mean_return
    assert before is not None
    to_go = brute_returns(episode.rewards, 0.0, True, episode.settings.gamma)
    assert episode.credit()["advantage"] == say(to_go - (0.9 * before + 0.1 * to_go.mean()))
    assert "no value function" in episode.facts["notes"][0]


def test_the_table_is_that_of_a_checkpoint_with_more_columns(runs):
    run = runs["ppo"]
    last = max(list_checkpoints(run), key=int)
    header = (run.path / "checkpoints" / last / "rollout.csv").read_text().splitlines()[0].split(",")
    episode = gymsolve.inspect(run)
    rows = list(csv.DictReader(io.StringIO(episode.to_csv())))
    assert list(rows[0])[: len(header)] == header
    table = episode.table()
    assert len(rows) == len(episode)
    for name in ("reward", "value", "advantage", "return", "td_error", "obs_2"):
        assert [float(row[name]) for row in rows] == pytest.approx(table[name].tolist(), rel=1e-8)
    assert {row["label"] for row in rows} <= {"left", "right"}
    plain = rollout_columns(episode.rollout(), episode_credit(episode.rollout(), episode.settings))
    assert all(np.array_equal(table[name], column) for name, column in plain.items())
    mixed = gymsolve.inspect(runs["dict"])
    written = list(csv.DictReader(io.StringIO(mixed.to_csv())))  # one of its actions is called `a, b`
    assert [row["label"] for row in written] == mixed.labels


def test_an_episode_is_played_once_and_read_afterwards(runs):
    run = runs["buttons"]
    first = gymsolve.inspect(run, seed=11)
    stamp = (first.stored.path / "rows.bin").stat().st_mtime_ns
    second = gymsolve.inspect(run, seed=11)
    assert second.stored.name == first.stored.name
    assert (second.stored.path / "rows.bin").stat().st_mtime_ns == stamp
    assert gymsolve.inspect(run, seed=12).stored.name != first.stored.name
    assert first.column("lives").tolist() == [2, 2, 2, 1, 1, 1, 1, 1, 1]
    assert not first.facts["camera"]
    assert len(first.frames) == 0


def test_frames_and_pictures_come_back(runs):
    drawn, mixed = gymsolve.inspect(runs["continuous"]), gymsolve.inspect(runs["dict"])
    assert len(drawn.frames) == len(drawn) + 1
    assert drawn.frames[0].shape == drawn.frames[-1].shape == (480, 480, 3)
    assert (drawn.frames[0] != drawn.frames[30]).any()
    size = (mixed.stored.path / "planes.idx").stat().st_size // 8
    assert size == len(mixed) + 1  # three frames in a stack, each kept once
    html = mixed._repr_html_()
    assert "<script" not in html
    assert "&lt;b&gt;right&lt;/b&gt;" in html
    assert "<b>right</b>" not in html
    assert "<svg" in drawn._repr_html_()
    assert "data:image/jpeg;base64," in drawn._repr_html_()
    assert gymsolve.inspect(runs["bandit"])._repr_html_()


def test_whoever_watches_may_stop_an_episode(runs):
    heard = []

    def watching(writer, states):
        heard.append(states)
        return states < 30

    with EpisodeRecorder(runs["continuous"]) as examiner:
        stopped = examiner.play(Question(seed=5), watching)
    assert heard == [16, 32]
    assert len(InspectedEpisode(stopped)) == 32
    assert stopped.facts["state"] == "stopped"
    assert stopped.states == 33
    whole = gymsolve.inspect(runs["continuous"], seed=5)  # one that was stopped is not taken for the whole
    assert len(whole) == 40
    cut = gymsolve.inspect(runs["continuous"], seed=5, steps=20)
    assert cut.facts["end"] == "cut"
    assert cut.credit()["return_to_go"] == say(
        brute_returns(
            cut.rewards * cut.settings.reward_scale, float(cut.values[-1]), False, cut.settings.gamma
        )
    )


def test_of_several_tasks_one_is_inspected(runs, server):
    """The second task pays nothing but for the fall, and has a scale of its own."""
    run = train_case("tasks", server.runs_dir)
    usual, other = (gymsolve.inspect(run, task=task) for task in (None, "fall"))
    assert set(usual.rewards) == {1.0}
    assert other.rewards.tolist() == [0.0] * (len(other) - 1) + [-1.0]
    assert other.facts["task"] == "fall"
    assert usual.settings.reward_scale != other.settings.reward_scale
    with pytest.raises(UsageError, match=r"no task 'x'\. Its tasks are: usual, fall"):
        gymsolve.inspect(run, task="x")
    with EpisodeRecorder(run) as examiner:  # other futures are those of the same task
        branch = branch_off(examiner, other.stored, {2: (1 - int(other.column("action")[2, 0]),)})
        assert (branch.child.facts["task"], set(branch.child.rewards[:-1].tolist())) == ("fall", {0.0})
        hand = Hand(examiner, other.stored, 3)
        hand.press(["left"], {})
        assert hand.scene.reward == 0.0
        hand.close()


def test_wrong_requests_are_one_sentence(runs, tmp_path):
    run = runs["ppo"]
    with pytest.raises(UsageError, match="gamma and gae_lambda lie between 0 and 1"):
        gymsolve.inspect(run).credit(gamma=1.5)
    with pytest.raises(UsageError, match="1 to 1,000,000 steps"):
        gymsolve.inspect(run, steps=0)
    with pytest.raises(UnknownRunError, match="has no checkpoint '77'"):
        gymsolve.inspect(f"{run.path}@77")
    with pytest.raises(GymsolveError, match="has no checkpoint yet"):
        gymsolve.inspect(_copy(run, tmp_path, lambda path: shutil.rmtree(path / "checkpoints")))


def test_a_changed_environment_and_a_missing_one_are_told(runs, tmp_path):
    def other(path: Path) -> None:
        text = (path / "config.json").read_text()
        (path / "config.json").write_text(text.replace('"id": "CartPole-v1"', '"id": "Acrobot-v1"'))

    def missing(path: Path) -> None:
        text = (path / "config.json").read_text()
        (path / "config.json").write_text(text.replace('"id": "CartPole-v1"', '"id": "NoSuch-v9"'))

    with pytest.raises(CheckpointError, match=r"does not fit Acrobot-v1: .* was .* and is"):
        gymsolve.inspect(_copy(runs["ppo"], tmp_path / "a", other))
    with pytest.raises(GymsolveError, match="NoSuch-v9"):
        gymsolve.inspect(_copy(runs["ppo"], tmp_path / "b", missing))


def _copy(run, folder, change):
    place = folder / run.id
    shutil.copytree(run.path, place)
    change(place)
    return str(place)


def test_episodes_of_a_run_are_listed_newest_first(runs):
    found = [one.facts["created"] for one in list_inspections(runs["buttons"])]
    assert found == sorted(found, reverse=True)
    assert len(found) >= 2


# ------------------------------------------------------------------------------------------ the page


def test_a_run_judged_by_samples_is_shown_so_until_the_likeliest_are_chosen(runs, server, page):
    run = Run(server.runs_dir / "judged-by-samples")
    shutil.copytree(runs["ppo"].path, run.path)
    stored = json.loads((run.path / "config.json").read_text())
    stored["config"]["eval"]["deterministic"] = False
    (run.path / "config.json").write_text(json.dumps(stored))
    chosen = page.locator("select[name=actions]")
    page.goto(server.address(f"/inspect?run={run.id}"))
    expect(chosen).to_have_value("sampled")
    show(page, server, run, sampled=0)
    page.wait_for_url(re.compile("episode="))
    page.reload()
    expect(chosen).to_have_value("likeliest")
    page.goto(server.address(f"/run/{run.id}"))
    page.get_by_role("button", name="Watch it play").click()
    expect(page.locator(".player")).to_contain_text("actions sampled", timeout=60_000)


def show(page, server, run, **query):
    """The inspector, once its episode is there to the end."""
    page.goto(server.address(f"/inspect?{urlencode({'run': run.id, **query})}"))
    page.locator(".panel-episodes").wait_for()
    page.locator("form.picker button.main:enabled").wait_for()


PLAYED_BY_THE_SERVER = ("ppo", "dict")
"""One policy of each engine: a process of its own for every kind would take seconds each, to do the same."""


def numbers_in(page, attribute):
    found = page.locator(f"[{attribute}]")
    return [float(found.nth(i).get_attribute(attribute)) for i in range(found.count())]


@pytest.mark.parametrize("name", [name for name in CASES if name != "reinforce"])
def test_the_page_shows_the_numbers_that_python_computes(name, runs, server, page):
    """The page has the episode played by a process of the server, or opens what Python has played."""
    state = 0 if name == "bandit" else 5
    if name not in PLAYED_BY_THE_SERVER:
        gymsolve.inspect(runs[name], seed=21)
    show(page, server, runs[name], seed=21, step=state)
    assert len(list_inspections(runs[name])) >= 1
    stored = len(list_inspections(runs[name]))
    episode = gymsolve.inspect(runs[name], seed=21)
    assert len(list_inspections(runs[name])) == stored  # nothing was played again
    told = {
        one.get_attribute("data-number"): one.get_attribute("title")
        for one in page.locator("b[data-number][title]").all()
    }
    columns = episode.credit()
    for column in ("advantage", "td_error", "return_to_go"):
        assert float(told[column]) == float(columns[column][state])
    for column, field in (("value", "value"), ("entropy", "entropy"), ("reward_seen", "reward")):
        assert float(told[column]) == float(episode.column(field)[state])
    assert page.locator("[data-number=label]").inner_text() == episode.labels[state]
    if episode.memory is not None:
        assert float(told["memory_norm"]) == float(episode.column("memory_norm")[state])
    action, params = episode.spec.action, episode.column("params")[state]
    shown = numbers_in(page, "data-mean" if action.kind == "box" else "data-probability")
    assert shown == [float(p) for p in (params[1::2] if action.kind == "multi_binary" else params)]
    page.locator(".panel-observation td").first.wait_for()
    for attribute, entries in (("data-raw", episode.obs), ("data-seen", episode.seen)):
        wanted = [entries[key][state].ravel() for key in episode.spec.obs if key in entries]
        assert numbers_in(page, attribute) == [float(v) for part in wanted for v in part]


def test_a_stack_of_pictures_is_shown_after_the_actions_that_led_to_it(runs, server, page):
    show(page, server, runs["dict"], seed=21, step=2)
    episode = gymsolve.inspect(runs["dict"], seed=21)
    said = page.locator(".stack figcaption b").all_inner_texts()
    numbers = episode.column("action")[:, 0]
    assert said == ["start", *(f"{numbers[t]} {episode.labels[t]}" for t in (0, 1))]
    script = "one => [...one.getContext('2d').getImageData(0, 0, 12, 12).data].filter((_, i) => i % 4 === 1)"
    seen = [one.evaluate(script) for one in page.locator(".stack canvas").all()]
    assert np.array_equal(np.array(seen), episode.picture("screen", 2).reshape(3, -1))
    masks = episode.masks
    assert page.locator(".bar.illegal").count() == int((~masks[2]).sum())


def test_through_an_episode_by_keys_breakpoints_and_other_discounts(runs, server, page, accessible):
    run = runs["ppo"]
    show(page, server, run, seed=21)
    episode = gymsolve.inspect(run, seed=21)
    last = len(episode)
    page.locator("main").focus()
    there = min(11, last)
    moves = {"End": last, "Home": 0, "ArrowRight": 1, "Shift+ArrowRight": there, "ArrowLeft": there - 1}
    for key, state in moves.items():
        page.keyboard.press(key)
        page.locator(f'html[data-state="{state}"]').wait_for()
    page.wait_for_url(f"**step={there - 1}*")
    page.locator(f'canvas.frame[data-state="{there - 1}"]').wait_for()

    page.get_by_label("Discount γ, exact").fill("0.5")
    page.keyboard.press("Tab")
    changed = episode.credit(gamma=0.5)
    cell = f'[data-step="{there - 1}"] [data-column="advantage"]'
    wanted = float(changed["advantage"][there - 1])
    page.locator(f'{cell}[data-value="{js_number(wanted)}"]').wait_for()
    with page.expect_download() as caught:
        page.get_by_role("link", name="CSV").click()
    assert Path(caught.value.path()).read_text() == episode.to_csv(gamma=0.5)

    page.keyboard.press("Escape")
    page.get_by_label("Where").select_option("action")
    page.get_by_label("Action", exact=True).select_option("left")
    lefts = [t for t, label in enumerate(episode.labels) if label == "left"]
    assert page.locator(f'[data-hits="{len(lefts)}"]').count() == 1
    page.get_by_role("button", name="To the start").click()
    page.keyboard.press("ArrowRight")  # the button has the focus, and no use for that key
    page.locator('html[data-state="1"]').wait_for()
    page.get_by_role("button", name="To the start").click()
    assert page.locator("h1").inner_text().startswith(f"CartPole-v1: return {last} {last} steps")
    page.get_by_role("button", name="Next", exact=True).click()
    page.locator(f'html[data-state="{next(t for t in lefts if t > 0)}"]').wait_for()

    page.get_by_role("button", name="advantage", exact=True).click()
    lowest = int(np.argmin(changed["advantage"]))
    assert int(page.locator(".steps .rows .line").first.get_attribute("data-step")) == lowest
    accessible(page)


def js_number(value):
    """A float as JavaScript writes it, for numbers of usual size."""
    return repr(int(value)) if value == int(value) else repr(value)


def test_several_episodes_can_be_stopped_killed_and_compared(runs, server, page):
    run = runs["continuous"]
    show(page, server, run, seed=100)
    page.get_by_role("spinbutton", name="Episodes").fill("100")
    page.get_by_role("button", name="Inspect", exact=True).click()
    page.get_by_role("button", name="Pause", exact=True).first.click()
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Pause", exact=True).first.wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator("form.picker button.main:enabled").wait_for()
    played = [one for one in list_inspections(run) if one.facts["seed"] >= 100]
    assert 1 <= len(played) < 100

    page.get_by_role("button", name="Inspect", exact=True).click()
    page.get_by_role("button", name="Pause", exact=True).first.click()
    for child in children_of(server.process.pid):
        os.kill(child, signal.SIGKILL)
    page.get_by_role("alert").get_by_text("was killed (SIGKILL)").wait_for()
    page.get_by_role("spinbutton", name="Episodes").fill("3")
    page.get_by_role("button", name="Inspect", exact=True).click()
    page.locator("form.picker button.main:enabled").wait_for()
    whole = [
        one for one in list_inspections(run) if one.facts["state"] == "whole" and one.facts["deterministic"]
    ]
    best = max(whole, key=lambda one: one.facts["return"])
    page.get_by_role("button", name="Best").click()
    page.wait_for_url(f"**episode={best.name}*")


def test_ten_thousand_steps_are_scrubbed_with_few_pictures_kept(runs, server, page):
    """A long episode with a picture per state; the page holds some hundreds of them, whatever was shown."""
    short, states = gymsolve.inspect(runs["continuous"]), 10_001
    facts = {
        key: value for key, value in short.facts.items() if key not in ("key", "fields", "state", "notes")
    }
    writer = InspectionWriter(runs["continuous"], "long", short.stored.fields, facts)
    frame = short.frames.encoded(0)
    for _ in range(states):
        writer.add_frame(frame)
    rows = np.resize(short.rows[:-1], states).copy()
    rows["terminated"] = rows["truncated"] = 0
    writer.add_rows(rows.tobytes())
    stored = writer.finish("whole", {"length": states - 1, "end": "cut", "return": 0.0})
    show(page, server, runs["continuous"], episode=stored.name)
    slider = page.locator(".scrub input")
    most = {"encoded": 0, "decoded": 0}
    for state in [*range(0, 10_001, 400), 9_990, 3]:
        slider.fill(str(state))
        shown = page.locator(f'canvas.frame[data-state="{state}"]')
        shown.wait_for()
        most = {name: max(most[name], int(shown.get_attribute(f"data-{name}"))) for name in most}
    assert most["encoded"] <= 800
    assert most["decoded"] <= 24
    assert page.locator(".steps .rows .line").count() < 40


def test_the_page_says_what_is_wrong(runs, server, page, tmp_path):
    empty = Path(_copy(runs["buttons"], tmp_path, lambda path: shutil.rmtree(path / "checkpoints")))
    shutil.move(empty, place := server.runs_dir / empty.name.replace("Buttons", "Empty"))
    page.goto(server.address(f"/inspect?run={place.name}"))
    page.get_by_role("alert").get_by_text("has no checkpoint").wait_for()
    for address, status in (
        ("/api/inspect/..%2f..", 404),
        ("/api/inspect/.hidden", 404),
        (f"/api/inspect/{runs['buttons'].id}/..%2f..%2fconfig.json", 404),
        (f"/api/inspect/{runs['buttons'].id}/none/rows?from=0&to=1", 404),
        (f"/api/inspect/{runs['buttons'].id}/none/rows?from=x&to=1", 400),
        (f"/api/inspect/{runs['ppo'].id}/{gymsolve.inspect(runs['ppo']).stored.name}/credit?gamma=2", 400),
        (f"/api/inspect/{runs['ppo'].id}/{gymsolve.inspect(runs['ppo']).stored.name}/credit?gamma=nan", 400),
    ):
        answer = page.request.get(server.origin + address)
        assert answer.status == status, (address, answer.text())
