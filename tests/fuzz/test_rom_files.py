"""Files that pose as ROMs: `gymsolve roms import` names them and copies none."""

import os
import random
from pathlib import Path

import pytest
from nasty import call, rounds

BEGINNINGS = (b"", b"NES\x1a", b"NES\x1a" + b"\xff" * 12, b"SEGA", b"PK\x03\x04", b"\x1f\x8b", b"\0" * 512)
ENDINGS = (".nes", ".md", ".sfc", ".gb", ".a26", ".zip", ".bin", "")


def test_no_file_is_taken_for_a_rom_that_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("stable_retro")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "roms"
    folder.mkdir()
    os.mkfifo(folder / "pipe.nes")
    (folder / "zero.nes").symlink_to("/dev/zero")
    (folder / "folder.nes").mkdir()
    wrong = []
    for number in range(rounds(6)):
        chance = random.Random(number)
        file = folder / f"game{chance.choice(ENDINGS)}"
        size = chance.choice((0, 1, 15, 16, 17, 511, 5000, 40_000))
        file.write_bytes(chance.choice(BEGINNINGS) + chance.randbytes(size))
        words = ["roms", "import", str(chance.choice((file, folder)))]
        said = call([*words, *(["--json"] if chance.random() < 0.5 else [])])
        wrong += [str(said)] if said.fault else []
        file.unlink()
    assert not wrong, "\n\n".join(wrong[:5])
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
