"""Encodes pictures as an mp4 that plays in browsers: h264, yuv420p, index at the front.

The encoder is a process that gets raw frames through a pipe. A file appears under its name only when it
is complete.
"""

import io
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import imageio_ffmpeg
import numpy as np
from PIL import Image

from gymsolve.envs.processes import signals_blocked
from gymsolve.errors import GymsolveError
from gymsolve.runs.files import os_errors, replace_bytes
from gymsolve.runs.videos import poster_of
from gymsolve.spec import Array

_POSTER_AT = 1.0
"""Seconds after which something is to be seen."""
_INSTALL = "Install it with: pip install imageio-ffmpeg"


class VideoEncoderError(GymsolveError):
    """The encoder is missing or failed."""


class Film:
    """An mp4 that is being made; leaving the block by an error leaves no file."""

    def __init__(
        self,
        path: Path,
        width: int,
        height: int,
        fps: float,
        *,
        out_fps: float | None = None,
        poster_at: float = _POSTER_AT,
    ) -> None:
        """In a run, a still picture of the second `poster_at` stands beside the video."""
        self.path, self.width, self.height = path, width, height
        self._poster, self._poster_at = b"", poster_at
        self.fps, self.frames = fps, 0
        """Frames per second as they come in; a player may be given `out_fps` instead, by repeating some."""
        self._temporary = path.with_name(f".{path.name}-{os.urandom(4).hex()}.tmp")
        # A file and not a pipe, which could fill up and block both sides.
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            with signals_blocked():  # the recording process hears them, and then ends this one
                self._process = subprocess.Popen(
                    self._command(out_fps),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=self._complaints,
                    start_new_session=True,
                )
        except OSError as error:
            self._complaints.close()
            message, where = f"the video encoder cannot be started: {error.strerror}.", error.filename
            raise VideoEncoderError(message, where=str(where or "ffmpeg"), hint=_INSTALL) from error

    def _command(self, out_fps: float | None) -> list[str]:
        size = ["-s", f"{self.width}x{self.height}"]
        source = ["-f", "rawvideo", "-pix_fmt", "rgb24", *size, "-r", f"{self.fps:g}", "-i", "-"]
        coding = ["-an", "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p"]
        rate = [] if out_fps is None else ["-r", f"{out_fps:g}"]
        place = ["-movflags", "+faststart", "-f", "mp4", str(self._temporary)]
        return [_find_encoder(), "-v", "error", "-y", *source, *coding, *rate, *place]

    def add(self, picture: Array, times: int = 1) -> None:
        """Show a picture [height, width, 3] for one frame or several."""
        assert picture.shape == (self.height, self.width, 3), picture.shape
        assert self._process.stdin is not None
        if self.seconds <= self._poster_at:
            self._poster = np.ascontiguousarray(picture).tobytes()
        data = np.ascontiguousarray(picture).data
        try:
            for _ in range(times):
                self._process.stdin.write(data)
        except BrokenPipeError as error:
            raise self._failure() from error
        self.frames += times

    @property
    def seconds(self) -> float:
        """Seconds that the video lasts so far."""
        return self.frames / self.fps

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                with suppress(BrokenPipeError):  # data that was not written yet is not needed
                    self._process.stdin.close()
            self._complaints.close()
            self._temporary.unlink(missing_ok=True)

    def _finish(self) -> None:
        try:
            self._process.communicate()
        except BrokenPipeError as error:
            raise self._failure() from error
        if self._process.returncode != 0:
            raise self._failure()
        with os_errors(self.path):
            self._temporary.replace(self.path)
        poster = poster_of(self.path)
        if poster is not None:
            held = io.BytesIO()
            Image.frombytes("RGB", (self.width, self.height), self._poster).save(held, "JPEG", quality=80)
            replace_bytes(poster, held.getvalue())

    def _failure(self) -> VideoEncoderError:
        self._process.wait()
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else f"it ended with code {self._process.returncode}"
        return VideoEncoderError(f"the video could not be encoded: {why.rstrip('.')}.", where=str(self.path))


def _find_encoder() -> str:
    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:
        raise VideoEncoderError("no video encoder was found.", where="ffmpeg", hint=_INSTALL) from error
