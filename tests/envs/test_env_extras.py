"""Which extras an environment still needs: what `make solve` installs before it trains."""

import sys

import pytest

from gymsolve.envs.extras import main


@pytest.mark.parametrize(
    ("name", "absent", "told"),
    [
        ("CartPole-v1", ("ale_py", "minigrid"), ""),
        ("ALE/Pong-v5", (), ""),
        ("ALE/Pong-v5:ppo_calm", ("ale_py",), "atari\n"),
        ("ALE/Freeway-v5", ("ale_py",), "atari\n"),
        ("ALE/Pong-v5", ("cv2",), "images\n"),
        ("MiniGrid-DoorKey-5x5-v0", ("minigrid",), "minigrid\n"),
        ("MinAtar/Freeway-v1", ("minatar",), "minatar\n"),
        ("Retro/MeadowRun-Nes-v0", ("stable_retro",), "retro\n"),
        ("HalfCheetah-v5", ("mujoco",), "mujoco\n"),
        ("no such thing", (), ""),
        ("CartPole-v1:nothing", (), ""),
    ],
)
def test_only_what_is_missing_is_named(name, absent, told, monkeypatch, capsys):
    for module in absent:
        monkeypatch.setitem(sys.modules, module, None)  # Python's own way to say that it cannot be imported
    main(name)
    assert capsys.readouterr().out == told
