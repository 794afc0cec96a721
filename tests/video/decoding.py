"""Pictures out of an mp4, with the real decoder."""

import re
import subprocess
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np


def decode(path: Path) -> tuple[dict[str, Any], Any]:
    """What the file says of itself, and all its pictures [T, H, W, 3]."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run([*command], capture_output=True, check=True)
    line = re.search(r"Video: (\w+).*?, (\w+)\(.*?, (\d+)x(\d+)[ ,].*?([\d.]+) fps", done.stderr.decode())
    assert line is not None, done.stderr.decode()
    width, height = int(line[3]), int(line[4])
    about = {"codec": line[1], "pix_fmt": line[2], "size": (width, height), "fps": float(line[5])}
    return about, np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3)
