"""An episode as a prompt: what it says, what is sent of it, to whom, and what is kept."""

import json

import pytest

import gymsolve
from chat_server import ANSWER, standing_in
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.inspector.recorder import Question, inspect_run
from gymsolve.apps.review.chat import Endpoint, find_endpoint
from gymsolve.apps.review.review import newest_episode, prepare, review
from gymsolve.errors import GymsolveError, UsageError
from gymsolve.runs.inspections import open_inspection
from gymsolve.runs.reviews import read_reviews

SMALL = {"steps": 600, "eval.every": 600, "eval.episodes": 2, "solved_at": 1e9}


@pytest.fixture(scope="module", name="played")
def _played(tmp_path_factory):
    run = gymsolve.train("CartPole-v1", SMALL, runs_dir=tmp_path_factory.mktemp("runs")).run
    return run, inspect_run(run, Question(seed=1)).stored.name


@pytest.fixture(name="server")
def _server():
    with standing_in() as found:
        yield found


def test_the_prompt_has_the_episode_in_numbers(played):
    run, name = played
    prompt = prepare(run, name, "Why does it fall?\n")
    episode = InspectedEpisode(open_inspection(run, name))
    for part in (
        "Why does it fall?",
        "## Settings\n",
        "## Alerts",
        "## Value and return to go",
        "seed 1",
    ):
        assert part in prompt.text
    head, *rows = prompt.text.partition("## Steps")[2].partition("\n\n")[0].splitlines()[1:]
    names = head.split("|")
    assert names[:3] == ["step", "action", "p"]
    assert "pole angle" in names
    assert len(rows) == len(episode) or len(rows) <= 120
    first = dict(zip(names, rows[0].split("|"), strict=True))
    assert first["action"] == episode.labels[0]
    assert float(first["value"]) == pytest.approx(float(episode.values[0]), rel=0.01)
    assert float(first["pole angle"]) == pytest.approx(float(episode.obs["obs"][0, 2]), rel=0.01)
    assert prompt.picture[:4] == b"\x89PNG"
    assert "The picture shows states 0," in prompt.text
    assert prepare(run, name, "Why does it fall?").digest == prompt.digest
    assert not prepare(run, name, picture=False).picture


def test_a_long_episode_is_thinned_to_its_ends_and_what_stands_out(tmp_path):
    few = {"steps": 512, "eval.episodes": 1, "solved_at": 1e9}
    run = gymsolve.train("MountainCar-v0:ppo", few, runs_dir=tmp_path).run
    episode = inspect_run(run, Question(seed=1, camera=False))
    prompt = prepare(run, episode.stored.name)
    steps = [
        int(row.split("|")[0]) for row in prompt.text.partition("## Steps")[2].splitlines()[2:] if "|" in row
    ]
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (0, len(episode) - 1)
    assert 40 < len(steps) < len(episode)
    advantage = abs(episode.credit()["advantage"])
    assert int(advantage.argmax()) in steps
    assert len(prompt.text) < 30_000
    assert not prompt.picture


def test_an_episode_of_one_step_without_frames_and_labels_is_a_prompt_too(tmp_path):
    run = gymsolve.train("Bandit-v0", {"video.enabled": False}, runs_dir=tmp_path).run
    episode = inspect_run(run, Question())
    prompt = prepare(run, episode.stored.name)
    assert "## Steps (1 of 1)" in prompt.text
    assert not prompt.picture


def test_what_was_shown_is_sent_and_the_answer_stays_with_the_episode(played, server):
    run, name = played
    address, heard = server
    prompt = prepare(run, name, "Why?")
    endpoint = find_endpoint(f"{address}/v1/messages", "m", environ={})
    with pytest.raises(UsageError, match="not the one that was shown"):
        review(run, prompt, endpoint, prepare(run, name).digest)
    with pytest.raises(UsageError, match="no chat server is configured"):
        review(run, prompt, None, prompt.digest)
    with pytest.raises(GymsolveError, match="status 401"):
        review(run, prompt, Endpoint(f"{address}/refused/v1/messages", "m", "anthropic"), prompt.digest)
    assert read_reviews(open_inspection(run, name)) == []
    told = review(run, prompt, endpoint, prompt.digest)
    (kept,) = read_reviews(open_inspection(run, name))
    assert kept == told
    assert (kept.answer, kept.model, kept.question, kept.tokens) == (ANSWER, "m", "Why?", 7)
    assert kept.host == address.removeprefix("http://")
    asked = heard[-1]["body"]["messages"][0]["content"]
    assert asked[0]["text"] == prompt.text
    assert asked[1]["source"]["media_type"] == "image/png"
    assert newest_episode(run).name == name


def test_the_command_prints_the_prompt_and_sends_nothing_without_a_yes(played, server, capsys, monkeypatch):
    from gymsolve.cli import main

    run, name = played
    address, heard = server
    monkeypatch.setenv("GYMSOLVE_CHAT_URL", f"{address}/v1")
    monkeypatch.setenv("GYMSOLVE_CHAT_MODEL", "m")
    here = ("--runs-dir", str(run.path.parent))

    def call(*words):
        code = main(["review", run.id, *words, *here])
        return code, capsys.readouterr().out

    code, said = call()
    assert (code, said.strip()) == (0, prepare(run, name).text.strip())
    code, said = call("--send", "--json")
    assert code == 2
    assert "--yes" in json.loads(said)["error"]["hint"]
    assert heard == []
    code, said = call("--send", "--yes", "--no-picture")
    assert (code, said.strip()) == (0, ANSWER)
    assert len(heard[0]["body"]["messages"][0]["content"]) == 1
    code, said = call("--episode", "../x")
    assert code == 2
