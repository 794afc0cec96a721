"""Requests that make little sense, through the server, the tools for agents and Python: each is answered."""

import random
from pathlib import Path

import pytest
from doors import Tools, ask_tools, open_pages
from nasty import NUMBERS, TEXTS, call, rounds

import gymsolve
from gymsolve.errors import GymsolveError

BRIEF = {"eval.episodes": 1, "video.enabled": False, "solved_at": 100.0, "env.num_envs": 2}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doors") / "runs"
    gymsolve.train("Bandit-v0", BRIEF, steps=64, runs_dir=folder)
    return folder


def the_run(runs: Path) -> str:
    return (runs / "@last").read_text().strip()


def test_no_request_of_a_page_fails_inside(runs: Path) -> None:
    chance = random.Random(3)
    with open_pages(runs) as pages:
        assert pages.all_of(the_run(runs), "none") == []
        found = [pages.odd(chance, the_run(runs)) for _ in range(rounds(100))]
    wrong = [one for one in found if one]
    assert not wrong, "\n\n".join(wrong[:10])


def test_no_call_of_an_agent_fails_inside(runs: Path) -> None:
    tools = Tools(random.Random(4), the_run(runs))
    wrong = ask_tools(runs, [*tools.reading(), *(tools.odd() for _ in range(rounds(150)))])
    assert not wrong, "\n\n".join(wrong[:10])


def test_python_refuses_in_a_sentence(runs: Path) -> None:
    chance, values = random.Random(5), [*TEXTS, *NUMBERS, None, 3, 0.5, [], {}, b"x", object()]
    verbs = {
        "open": lambda value: gymsolve.open_run(value, runs_dir=runs),
        "open elsewhere": lambda value: gymsolve.open_run("x", runs_dir=str(value)),
        "policy": lambda value: gymsolve.load_policy(value),
        "evaluate": lambda value: gymsolve.evaluate("x", runs_dir=str(value)),
        "train": lambda value: gymsolve.train("no such environment", {str(value): value}, runs_dir=runs),
        "environment": lambda value: gymsolve.train(value, BRIEF, steps=value, runs_dir=runs),
        "steps": lambda value: gymsolve.train("Bandit-v0", {"algo.gamma": value}, steps="x", runs_dir=runs),
        "from": lambda value: gymsolve.train("Bandit-v0", steps=64, start_from=value or "x", runs_dir=runs),
        "resume": lambda value: gymsolve.resume(value, steps=value, runs_dir=runs),
    }
    wrong = []
    for _ in range(rounds(150)):
        name, value = chance.choice(list(verbs)), chance.choice(values)
        try:
            verbs[name](value)
        except GymsolveError:
            pass
        except OSError as error:
            wrong += [] if error.filename else [f"{name} {value!r:.100}: {error}"]  # a path, and why not
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what this looks for
            wrong.append(f"{name} {value!r:.100}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong[:20])


def test_the_folder_of_runs_may_be_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    for place in ("a\0b", "\udcff", "x" * 300, "file", "file/below", "/proc/self/mem", "/dev/null", " "):
        for words in (["runs"], ["log"], ["log", "add", "x"], ["demos"], ["runs", "show", "x"], ["doctor"]):
            said = call([*words, "--runs-dir", place])
            assert said.fault is None, str(said)
