"""Command lines that make little sense: each is answered, none ends in a traceback.

Trainings that come of it get a tiny budget, and what would train for long, ask the network or start processes
is left out.
"""

import random
from pathlib import Path

import pytest
import typer.core
from nasty import NUMBERS, TEXTS, call, rounds, word

from gymsolve.cli.app import command_tree
from gymsolve.recipes.schema import leaf_paths

LEFT_OUT = {"bench", "push", "pull", "tune-speed", "check", "mcp install", "inspect", "web", "play"} | {
    "sweep start",
    "sweep resume",
}
"""Other processes, the network, seconds of measuring, files of other programs, servers that go on."""
ENDLESS = {"--detach", "--open", "--profile", "--publish", "--help", "--confirm"}
FOREIGN = [
    *(
        "--algo",
        "--env",
        "--lr",
        "--learning-rate",
        "--device",
        "--total-timesteps",
        "--n-envs",
        "-n",
        "-f",
        "--gpu",
    ),
    *(
        "--batch-size",
        "--gamma",
        "--env-id",
        "--track=1",
        "--seed=1",
        "--verbose",
        "--n-eval-episodes",
        "--cuda",
    ),
]
BRIEF = [
    *("--set", "max_seconds=0.2", "--set", "eval.max_seconds=0.2", "--set", "video.enabled=false"),
    *("--set", "eval.asynchronous=false", "--set", "env.backend=sync", "--steps", "64", "-q"),
]


def commands() -> dict[str, typer.core.TyperCommand]:
    """Every command by its words, such as `runs show`."""
    root = command_tree()
    found = {}
    for name, command in root.commands.items():
        inner = command.commands if isinstance(command, typer.core.TyperGroup) else {}
        found |= {f"{name} {below}": one for below, one in inner.items()} or {name: command}
    return {name: command for name, command in found.items() if name not in LEFT_OUT}


COMMANDS = commands()


def options(rng: random.Random, name: str) -> list[str]:
    """Some options of a command, with values of any kind."""
    known = [
        (max(one.opts, key=len), one.is_flag)
        for one in COMMANDS[name].params
        if isinstance(one, typer.core.TyperOption) and not ENDLESS & {*one.opts}
    ]
    words: list[str] = []
    for option, flag in rng.choices(known, k=rng.randrange(4)) if known else ():
        if option == "--set":
            path = rng.choice([*leaf_paths(rng.choice(("ppo", "a2c", "reinforce", None))), *TEXTS])
            words += ["--set", f"{path}={rng.choice([*NUMBERS, *TEXTS])}"]
        elif option == "--limit" or option == "--max-seconds":
            words += [option, rng.choice(("0", "-1", "1", "x", "1e400", "nan"))]
        else:
            words += [option] if flag else [option, word(rng)]
    return words


def line(rng: random.Random, run: str) -> list[str]:
    """One command line."""
    name = rng.choice(list(COMMANDS))
    words = name.split() if rng.random() < 0.97 else [word(rng)]
    target = {"train": "Bandit-v0"}.get(name, run)
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3))):
        words.append(target if rng.random() < 0.5 else word(rng))
    words += options(rng, name)
    if rng.random() < 0.1:
        words += [rng.choice(FOREIGN), word(rng)]
    if rng.random() < 0.05:
        words.insert(rng.randrange(len(words) + 1), word(rng))
    if name == "fix":
        words.append("--dry-run")
    if name == "record":
        words += ["--max-seconds", "0.1"]
    return words + (BRIEF if words[0] in ("train", "resume", "fork") else [])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small run, which commands may look at."""
    folder = tmp_path_factory.mktemp("lines")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("GYMSOLVE_RUNS", raising=False)
        assert call(["train", "Bandit-v0", "--set", "solved_at=100", *BRIEF]).code == 0
    return folder


def test_no_command_line_ends_in_a_traceback(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("GYMSOLVE_MEMORY", "0.5")
    for name in ("GYMSOLVE_RUNS", "GYMSOLVE_RECIPES", "GYMSOLVE_DEBUG", "GYMSOLVE_CONFIRM"):
        monkeypatch.delenv(name, raising=False)
    run = (place / "runs" / "@last").read_text().strip()
    rng = random.Random(20)
    said = [call(line(rng, run)) for _ in range(rounds(150))]
    wrong = [str(one) for one in said if one.fault]
    assert not wrong, f"{len(wrong)} of {len(said)}:\n\n" + "\n\n".join(wrong[:10])
    assert {one.code for one in said} >= {0, 2}


@pytest.mark.parametrize("value", ["9" * 300, "x" * 5000, "\x1b[2J", "\x00", "\udcff", "", "-1", "[" * 3000])
@pytest.mark.parametrize(
    "path", ["algo.gamma", "env.num_envs", "env.id", "net.hidden", "env.kwargs.x", "seed"]
)
def test_one_absurd_setting(place, monkeypatch, path, value):
    monkeypatch.chdir(place)
    said = call(["recipes", "show", "Bandit-v0", "--set", f"{path}={value}"])
    assert said.fault is None, str(said)
