"""One odd run among others: it is listed as damaged, with the reason, and everything else goes on."""

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from gymsolve.runs.index import list_runs
from gymsolve.runs.refs import find_run
from gymsolve.view.run_view import RunView
from gymsolve.view.runs_table import RunsTable

DEEP = "[" * 3000 + "]" * 3000
FIELDS = ("schema_version", "name", "env_id", "status", "created", "updated", "env_steps", "result", "parent")
FIELDS += ("reason", "seed", "steps", "pid", "host", "process_start", "command", "versions", "group")
VALUES = ("5", "[]", "{}", '"x"', "true", "-1", "1e999", "9" * 30, '{"run": 1}', DEEP)
FITTING = {
    *(("name", '"x"'), ("env_id", '"x"'), ("reason", '"x"'), ("host", '"x"'), ("process_start", '"x"')),
    *(("seed", "5"), ("seed", "-1"), ("steps", "5"), ("env_steps", "5"), ("pid", "5"), ("command", "[]")),
    *(("result", "{}"), ("result", '{"run": 1}'), ("versions", "{}"), ("schema_version", "1")),
    ("group", '"x"'),
}
TRAIN = ("train", "Bandit-v0", "--steps", "64", "--set", "eval.episodes=1", "-q")


@pytest.fixture
def odd(trained: str, place: Path):
    """A run beside a sound one, with a `run.json` of one's choice."""

    def make(text: str) -> str:
        folder = place / "runs" / "20200101-000000-odd-ppo-0000"
        shutil.copytree(place / "runs" / trained, folder)
        (folder / "run.json").write_text(text)
        return folder.name

    return make


def with_value(place: Path, name: str, key: str, value: str) -> str:
    info = json.loads((place / "runs" / name / "run.json").read_text())
    return json.dumps(info | {key: "ODD"}).replace('"ODD"', value)


@pytest.mark.parametrize(
    "text", ["5", "[]", "null", '"x"', "", "{", "{}", DEEP, '{"a": NaN}', '{"created": 5}']
)
def test_an_odd_run_json_damages_that_run_alone(text, odd, trained, cli, place):
    name = odd(text)
    listed = {row["id"]: row for row in cli("runs", "--json").json}
    assert listed[name]["status"] == "damaged"
    assert "run.json" in listed[name]["reason"]
    assert listed[trained]["status"] == "finished"
    # What else there is to do is looked at with two of them: it takes its time.
    more = (("resume", "@last", "--steps", "600", "-q"), TRAIN) if text in ("5", '{"created": 5}') else ()
    for words in (("runs",), ("runs", "show", trained), *more):
        assert cli(*words).code == 0, words
    for verb in (("eval",), ("resume",), ("runs", "show"), ("report",), ("diagnose",), ("stop",)):
        answer = cli(*verb, name)
        assert answer.code == 1, (verb, answer)
        assert "run.json" in answer.err, verb


def test_every_field_of_it_is_checked(odd, trained, cli, place):
    name = odd("{}")
    folder = place / "runs" / name
    for events in (True, False):
        for key in FIELDS:
            for value in VALUES:
                (folder / "run.json").write_text(with_value(place, trained, key, value))
                if (key, value) in FITTING:
                    continue
                status = next(run for run in list_runs("runs") if run.id == name).status
                # How a run ended stands in its events too.
                told = events and key in ("status", "reason", "env_steps", "result", "updated")
                readable = value not in (DEEP, "9" * 30, "1e999")
                assert status == ("finished" if told and readable else "damaged"), (key, value)
        (folder / "events.jsonl").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "text", ["5", "[]", '{"runs": [{"id": "x", "created": 5}]}', '{"runs": [5]}', '{"runs": {}}', DEEP]
)
def test_an_odd_index_is_built_anew(text, trained, cli, place):
    (place / "runs" / "index.json").write_text(text)
    assert cli(*TRAIN).code == 0
    index = json.loads((place / "runs" / "index.json").read_text())
    assert trained in {entry["id"] for entry in index["runs"]}


@pytest.mark.parametrize("where", ["../elsewhere", "/etc", "..", ".", "", "x" * 5000, "a\0b", "nobody"])
def test_last_does_not_lead_out_of_the_folder(where, trained, cli, place):
    shutil.copytree(place / "runs" / trained, place / "elsewhere")
    (place / "runs" / "@last").write_text(where)
    assert find_run("@last").id == trained
    assert find_run("@last").path.parent == place / "runs"


def test_names_that_nothing_could_have(trained, cli):
    for name in ("x" * 300, "x" * 5000, "a/" * 3000, "a\0b", "..", "/", "~", f"{trained}@{'9' * 5000}"):
        for verb in (("eval",), ("runs", "show"), ("resume",), ("report",), ("fix",)):
            answer = cli(*verb, name)
            assert answer.code == (0 if name.startswith(trained) and answer.code == 0 else 2), (
                verb,
                name,
                answer,
            )


def test_escape_sequences_stay_in_the_files(trained, cli, place):
    """Names, texts and labels of somebody else's run do not steer the terminal."""
    steer = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
    run = place / "runs" / trained
    for name, change in (
        ("run.json", {"reason": steer, "command": [steer]}),
        ("config.json", {"name": steer, "provenance": {steer: steer}}),
    ):
        data = json.loads((run / name).read_text())
        (run / name).write_text(json.dumps(data | change, ensure_ascii=name == "run.json"))
    event = {"time": "2026-01-02T03:04:05+00:00", "kind": "note", "text": steer, steer: steer}
    with (run / "events.jsonl").open("a") as file:
        file.write(json.dumps(event) + "\n" + json.dumps(event, ensure_ascii=False) + "\n")
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"env_steps": 512, f"eval/{steer}": 1.0}) + "\n")
    (run / "videos").mkdir(exist_ok=True)
    (run / "videos" / f"{steer}.mp4").write_text("")
    shutil.copytree(run, place / "runs" / steer.replace("/", ""))
    words = [("runs",), ("runs", "show", trained), ("report", trained), ("diagnose", trained)]
    words += [
        ("eval", trained, "--episodes", "1"),
        ("resume", trained, "--steps", "600"),
        ("runs", "compare", "x", "y"),
    ]
    for one in words:
        answer = cli(*one)
        assert not set(answer.out + answer.err) & set("\x1b\x07\x9b\u202e"), (one, answer)


def test_links_and_pipes_are_neither_followed_nor_waited_for(trained, cli, place):
    """In this process: what a command did not foresee would come through."""
    run, outside = place / "runs" / trained, place / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    for name in ("metrics.jsonl", "events.jsonl", "log.txt"):
        (run / name).unlink()
        (run / name).symlink_to(outside / "kept")
    (run / "checkpoints").rename(outside / "checkpoints")
    (run / "checkpoints").symlink_to(outside / "checkpoints")
    for words in (
        ("runs",),
        ("runs", "show", trained),
        ("eval", trained),
        ("resume", trained),
        ("report", trained),
    ):
        answer = cli(*words)
        assert answer.code == 0 or (words != ("runs",) and answer.err.startswith("error: ")), answer
    for name in ("metrics.jsonl", "events.jsonl", "log.txt", "config.json"):
        (run / name).unlink()
        os.mkfifo(run / name)
    for words in (("runs",), ("runs", "show", trained), ("resume", trained), ("diagnose", trained)):
        answer = cli(*words)
        assert answer.code == 0 or answer.err.startswith("error: "), answer
    (run / "run.json").unlink()
    os.mkfifo(run / "run.json")
    assert "damaged" in cli("runs").out
    assert (outside / "kept").read_text() == "kept"


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1"])
def test_another_environment_in_the_settings_is_no_evaluation(env_id, trained, cli, place):
    """With other observations a policy would break; with other ones of the same size it would play on."""
    path = place / "runs" / trained / "config.json"
    stored = json.loads(path.read_text())
    stored["config"]["env"]["id"] = env_id
    path.write_text(json.dumps(stored))
    for words in (
        ("eval", trained, "--episodes", "1"),
        ("record", trained),
        ("resume", trained, "--steps", "600"),
    ):
        answer = cli(*words)
        assert answer.code == 1, words
        assert "not fit" in answer.err, words


def test_the_command_of_a_run_can_be_given_to_a_shell_again(trained, cli, place):
    path = place / "runs" / trained / "run.json"
    command = ["gymsolve", "train", "CartPole-v1", "--set", "env.tasks={a: {}, b: {max_episode_steps: 9}}"]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"command": command}))
    told = cli("runs", "show", trained).out
    shown = next(line for line in told.splitlines() if line.startswith("  command "))
    assert shlex.split(shown)[1:] == command


def test_settings_without_a_source_are_told(trained, cli, place):
    path = place / "runs" / trained / "config.json"
    stored = json.loads(path.read_text())
    path.write_text(json.dumps(stored | {"provenance": dict.fromkeys(stored["provenance"])}))
    for words in (("report", trained), ("runs", "show", trained), ("diagnose", trained)):
        assert cli(*words).code == 0, words
    assert "unknown" in (place / "runs" / trained / "report.md").read_text()


def test_evaluations_without_a_number_of_episodes_are_told(trained, cli, place):
    path = place / "runs" / trained / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, "eval/episodes": None}) + "\n" for row in rows))
    assert cli("runs", "show", trained).code == 0


def test_an_alert_without_a_name_hides_no_run(trained, cli, place):
    run = find_run(trained, place / "runs")
    run.append_event("alert", env_steps=64, severity="warn")
    run.append_event("alert", env_steps=64, id="flat", severity="warn", because="gone")
    assert [alert["id"] for alert in RunView(run).alert_causes] == ["flat"]
    assert trained in str(RunsTable(place / "runs").look())
