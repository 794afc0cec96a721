"""Play the title of Meadow Run and keep the start of each level beside the ROM: `Level1-1.state`, …

python states.py      needs stable-retro; run it after build.py changed the ROM
"""

import gzip
import hashlib
import io
from pathlib import Path
from typing import Any

from gymsolve.envs.families.retro.game import load_retro

FOLDER = Path(__file__).resolve().parent.parent
LEVELS = 4


def main() -> None:
    retro = load_retro()
    cartridge = (FOLDER / "rom.nes").read_bytes()[16:]  # without the header that describes it
    (FOLDER / "rom.sha").write_text(hashlib.sha1(cartridge).hexdigest() + "\n")
    for level in range(LEVELS):
        game = retro.make(
            FOLDER.name,
            state=retro.State.NONE,
            inttype=retro.data.Integrations.ALL,
            use_restricted_actions=retro.Actions.ALL,
            render_mode="rgb_array",
        )
        game.reset()
        choose_level(game, level)
        write_state(FOLDER / f"Level1-{level + 1}.state", game.em.get_state())
        game.close()


def choose_level(game: Any, level: int) -> None:
    """From the title to the first moment in which the runner can move."""
    press(game, 30)
    for _ in range(level):
        press(game, 3, "DOWN")
        press(game, 3)
    press(game, 3, "START")
    while press(game, 1)["time"] != 399:
        pass


def press(game: Any, frames: int, button: str = "") -> dict[str, Any]:
    for _ in range(frames):
        info: dict[str, Any] = game.step([name == button for name in game.buttons])[4]
    return info


def write_state(path: Path, state: bytes) -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        file.write(state)
    path.write_bytes(packed.getvalue())


if __name__ == "__main__":
    main()
