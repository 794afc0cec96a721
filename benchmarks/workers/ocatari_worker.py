"""Plays Pong or Breakout with OCAtari, in its own virtual environment, and writes down what it sees.

For every frame: the console's memory, and the box of every object that OCAtari finds. Half of the games are
random, half follow the ball, so that long rallies and many bricks are among the frames.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from ocatari.core import OCAtari  # noqa: E402

_CHASE = {"Pong": (54, 51, 3, 2), "Breakout": (99, 72, 3, 2)}
"""Bytes of the ball and of the player, and the actions that lower and raise the latter."""
_HELD = 4


def main() -> None:
    game, mode, frames, target = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    env = OCAtari(f"ALE/{game}-v5", mode=mode, hud=False, frameskip=1, repeat_action_probability=0.0)
    rng = np.random.default_rng(0)
    memory: list[bytes] = []
    found: list[list[Any]] = []
    chasing, action = False, 0
    env.reset(seed=0)
    for frame in range(frames):
        if frame % _HELD == 0:
            action = _follow(game, _ram(env), rng) if chasing else int(rng.integers(env.action_space.n))
        _, _, terminated, truncated, _ = env.step(action)
        memory.append(_ram(env).tobytes())
        found.append(
            [[one.category, *map(int, one.xywh)] for one in env.objects if one.category != "NoObject"]
        )
        if terminated or truncated or frame == frames // 2:
            chasing = frame >= frames // 2 or not chasing
            env.reset()
    target.write_text(json.dumps({"memory": [one.hex() for one in memory], "found": found}))


def _ram(env: Any) -> Any:
    return env.get_ram()


def _follow(game: str, ram: Any, rng: Any) -> int:
    ball, player, down, up = _CHASE[game]
    if rng.random() < 0.05 or (game == "Breakout" and not ram[101]):
        return 1
    offset = int(ram[ball]) - int(ram[player]) - int(rng.integers(12))
    return down if offset < -2 else up if offset > 2 else 0


main()
