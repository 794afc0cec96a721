"""TensorBoard event files in the run's `tensorboard/`, over the steps that the run is measured in.

Written with TensorBoard's own writer, so a run on the NumPy engine stays without torch. TensorBoard shows no
mp4, so of a video it gets a small GIF of the beginning.
"""

import json
import struct
import subprocess
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from gymsolve.metrics.trackers.tracker import RunFacts, alert_text, histograms

_FLUSH_SECONDS = 10
_GIF_SECONDS, _GIF_RATE, _GIF_WIDTH = 20, 10, 240
"""A GIF of an episode of CartPole then has some hundred KiB."""


class TensorBoardSink:
    """Scalars, the distribution of actions, videos, settings and alerts."""

    def open(self, facts: RunFacts, config: Mapping[str, Any]) -> str | None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._event, self._summary, self._histogram = Event, Summary, HistogramProto
        self._metadata, self._tensor = SummaryMetadata, TensorProto
        self._axis, self._step = facts.axis, facts.begins
        self._writer = EventFileWriter(str(facts.path / "tensorboard"), flush_secs=_FLUSH_SECONDS)
        if facts.begins:
            # What an earlier sitting wrote beyond the checkpoint was set aside: readers drop it too.
            again = SessionLog(status=SessionLog.START)
            self._writer.add_event(Event(wall_time=time.time(), step=facts.begins + 1, session_log=again))
        else:
            self._write(0, [self._text("config", json.dumps(config, indent=2))])
        return None

    def record(self, record: Mapping[str, Any]) -> None:
        self._step = int(record[self._axis])
        values = [
            self._summary.Value(tag=name, simple_value=float(value))
            for name, value in record.items()
            if name != self._axis
        ]
        for name, bars in histograms(record).items():
            values.append(self._summary.Value(tag=name, histo=self._bars(*bars)))
        self._write(self._step, values)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "alert":
            text = f"**{data['title']}** ({data['severity']}) {alert_text(data)}"
            self._write(self._step, [self._text(f"alert/{data['id']}", text)])

    def video(self, path: Path, steps: int) -> None:
        film = _gif(path)
        width, height = struct.unpack("<HH", film[6:10])
        image = self._summary.Image(height=height, width=width, colorspace=3, encoded_image_string=film)
        self._write(steps, [self._summary.Value(tag=f"video/{path.stem}", image=image)])

    def close(self, status: str, result: Mapping[str, Any]) -> None:
        self._writer.close()

    def _write(self, step: int, values: list[Any]) -> None:
        summary = self._summary(value=values)
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=summary))

    def _bars(self, shares: list[float], edges: list[float]) -> Any:
        """One bucket per share, between its edges."""
        middles = [(low + high) / 2 for low, high in pairwise(edges)]
        mean = sum(middle * share for middle, share in zip(middles, shares, strict=True))
        squares = sum(middle * middle * share for middle, share in zip(middles, shares, strict=True))
        facts = {"min": middles[0], "max": middles[-1], "num": 1.0, "sum": mean, "sum_squares": squares}
        return self._histogram(bucket_limit=edges, bucket=[0.0, *shares], **facts)

    def _text(self, tag: str, text: str) -> Any:
        plugin = self._metadata.PluginData(plugin_name="text")
        tensor = self._tensor(dtype="DT_STRING", string_val=[text.encode()])
        return self._summary.Value(tag=tag, metadata=self._metadata(plugin_data=plugin), tensor=tensor)


def _gif(path: Path) -> bytes:
    """The beginning of a video, small."""
    from imageio_ffmpeg import get_ffmpeg_exe

    shrink = f"fps={_GIF_RATE},scale='min({_GIF_WIDTH},iw)':-1"
    words = ("-v", "error", "-i", str(path), "-t", str(_GIF_SECONDS), "-vf", shrink, "-f", "gif", "-")
    command = [get_ffmpeg_exe(), *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
