"""`gymsolve play --no-browser` at a real terminal: keys, what is shown and kept, and how it is left."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from gymsolve.envs.open_render_env import open_play_env
from gymsolve.recipes import resolve
from gymsolve.runs.demos import list_demos
from gymsolve.runs.episodes import load_episode
from tests.cli.conftest import Cli

ARROWS = {"left": "\x1b[D", "down": "\x1b[B", "right": "\x1b[C", "up": "\x1b[A"}
WAIT = 120.0
"""Seconds after which something hangs."""


class Console:
    """A terminal, and the command that runs in it."""

    def __init__(self, *words: str) -> None:
        self._ours, self._theirs = pty.openpty()
        self.before = termios.tcgetattr(self._theirs)
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gymsolve", "play", *words, "--no-browser"],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C is a signal
            env={**os.environ, "TERM": "xterm"},
        )

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def see(self, text: str) -> None:
        """Wait until a text was shown since the last one."""
        deadline = time.monotonic() + WAIT
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            if select.select([self._ours], [], [], 0.1)[0]:
                self.shown += os.read(self._ours, 65536).decode()
        self.shown = self.shown.partition(text)[2]

    def end(self) -> int:
        """The exit code; and the terminal has to be what it was."""
        code = self.process.wait(WAIT)
        assert termios.tcgetattr(self._theirs) == self.before
        return code

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT)
        os.close(self._ours)
        os.close(self._theirs)


@contextmanager
def at(*words: str) -> Iterator[Console]:
    console = Console(*words)
    try:
        yield console
    finally:
        console.close()


def test_keys_play_what_the_same_actions_play_and_episodes_are_kept(tmp_path: Path) -> None:
    keys = ["down", "left", "down", "right", "up", "right", "down", "down"] * 6
    stage = open_play_env(resolve("FrozenLake-v1").config.env)
    scenes, names = [stage.reset(4)], list(stage.labels.names)
    while not (scenes[-1].terminated or scenes[-1].truncated):
        scenes.append(stage.step(np.array([names.index(keys[len(scenes) - 1])])))
    stage.close()
    played = keys[: len(scenes) - 1]
    with at("FrozenLake-v1", "--seed", "4", "--record", "--runs-dir", str(tmp_path)) as console:
        console.see("← left  ↓ down  → right  ↑ up")
        console.see("your turn")
        assert not termios.tcgetattr(console._theirs)[3] & (termios.ICANON | termios.ECHO)
        console.press("x7\x1b[3~")  # no keys of this game: the last one is Delete
        for number, key in enumerate(played, 1):
            console.press(ARROWS[key])
            console.see(f"step {number}  ")
            console.see(f"{key} (person)")
        console.see(
            f"episode 1: return {scenes[-1].raw_return:g} after {len(played)} steps (terminated), kept in"
        )
        console.press(ARROWS["down"])
        console.see("step 0")
        console.press(ARROWS["up"])
        console.see("up (person)")
        console.press("\x03")
        assert console.end() == 0
    whole, cut = sorted(
        (load_episode(one.path) for one in list_demos(tmp_path)), key=lambda one: one.facts["end"]
    )[::-1]
    assert whole.actions.tolist() == [names.index(key) for key in played]
    np.testing.assert_array_equal(whole.obs["obs"], np.concatenate([scene.obs["obs"] for scene in scenes]))
    assert (cut.facts["end"], cut.actions.tolist()) == ("cut", [names.index("up")])


def test_somebody_takes_over_and_a_signal_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with at("CliffWalking-v1", "--mode", "untrained", "--runs-dir", str(tmp_path)) as console:
        console.see("(untrained)")
        console.press("\t")
        console.see("You act; Tab hands back.")
        console.press(ARROWS["up"])
        console.see("up (person)")
        console.press("\t")
        console.see("(untrained)")
        console.process.terminate()
        assert console.end() == 128 + signal.SIGTERM


def test_without_a_terminal_letters_are_keys_and_the_end_of_input_ends_it(tmp_path: Path) -> None:
    def play(typed: str, *words: str) -> str:
        command = [sys.executable, "-m", "gymsolve", "play", "Blackjack-v1", "--no-browser", *words]
        return subprocess.run(
            command, input=typed, capture_output=True, text=True, timeout=WAIT, check=True, cwd=tmp_path
        ).stdout

    shown = play("s", "--seed", "1")
    assert "s stick  h hit" in shown
    assert shown.count("(person)") == 1
    assert "step 1  return 1  stick (person)  press a key for the next episode\nepisode 1: return 1 " in shown
    assert "episode 2: return" in play("", "--mode", "random", "--episodes", "2")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["CartPole-v1"], "draws no text"),
        ([], "name what to play"),
        (["FrozenLake-v1", "--mode", "policy"], "an environment has no policy"),
    ],
)
def test_what_cannot_be_played_here_is_refused_in_a_sentence(
    cli: Cli, words: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path(os.devnull).open() as nothing:  # pytest's own standard input has no number
        monkeypatch.setattr(sys, "stdin", nothing)
        answer = cli("play", *words, "--no-browser")
    assert answer.code == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1
