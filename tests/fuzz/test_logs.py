"""Logs of other tools, broken in every way that chance finds: one sentence or a diagnosis, never a traceback.

Seeded: the same rounds on every machine. GYMSOLVE_FUZZ_ROUNDS sets how many there are.
"""

import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from gymsolve.cli import main
from gymsolve.doctor.external_logs import places

LOGS = Path(__file__).parents[1] / "metrics" / "logs"
ROUNDS = int(os.environ.get("GYMSOLVE_FUZZ_ROUNDS", "60"))
TOKENS = (
    *(b"inf", b"-inf", b"nan", b"NaN", b"1e400", b"-1e308", b"1e308", b"9" * 400, b"0", b"-1", b"None"),
    *(b"", b",", b",,,,,,,,", b"\n", b"\r", b'"', b"'", b"\x00", b"\xff\xfe", b"#", b"{}", b"x" * 5000),
    *(b"[" * 3000, "∞".encode(), b"1_000", b"0x10", b"=1+1", b"\x1b[2J"),
)
NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e38, -1e38, 3e38, float("inf"), float("-inf"), float("nan"))
STEPS = (0, 1, -1, 7, 2048, 2**31, 2**62, -(2**63), 2**63 - 1)
TAGS = ("rollout/ep_rew_mean", "train/approx_kl", "train/entropy_loss", "charts/episodic_return")
TAGS += ("charts/episodic_length", "losses/entropy", "train/std", "time/fps", "", "x" * 3000, "a\nb")
JSONS = (*("1", "NaN", "1e999", "9" * 400, "-1", "null", "[]", "{}", '"Infinity"', '"x"', "true"), "[" * 5000)


def mutate(draw: random.Random, data: bytes) -> bytes:
    """A few random edits of bytes."""
    for _ in range(draw.randint(1, 8)):
        place = draw.randrange(len(data) + 1)
        end = min(len(data), place + draw.choice((1, 1, 4, 40, 400)))
        kind = draw.randrange(6)
        if kind == 0:
            data = data[:place] + draw.choice(TOKENS) + data[place:]
        elif kind == 1:
            data = data[:place] + draw.choice(TOKENS) + data[end:]
        elif kind == 2:
            data = data[:place] + draw.randbytes(end - place) + data[end:]
        elif kind == 3:
            data = data[:place] if draw.random() < 0.2 else data[:place] + data[end:]
        elif kind == 4:
            data = data[:end] + data[place:]
        else:
            data = replace_cell(draw, data)
    return data


def replace_cell(draw: random.Random, data: bytes) -> bytes:
    """Put something else into one cell of a table."""
    cells = data.split(b",")
    cells[draw.randrange(len(cells))] = draw.choice(TOKENS)
    return b",".join(cells)


def table(name: str) -> Callable[[random.Random, Path], Path]:
    """A CSV file of Stable-Baselines3, some of it in another encoding."""

    def make(draw: random.Random, folder: Path) -> Path:
        data = mutate(draw, (LOGS / "sb3_rate_too_high" / name).read_bytes())
        if draw.random() < 0.1:
            data = data.decode("latin-1").encode(draw.choice(("utf-16", "utf-32", "utf-8-sig")))
        (folder / name).write_bytes(data)
        return draw.choice((folder, folder / name))

    return make


def events(draw: random.Random, folder: Path) -> Path:
    """Event files: damaged real ones, or sound ones with absurd contents."""
    if draw.random() < 0.5:
        source = draw.choice(("sb3_tensorboard", "cleanrl_rate_too_low"))
        data = mutate(draw, (LOGS / source / "events.out.tfevents.0").read_bytes())
    else:
        data = b"".join(framed(one.SerializeToString()) for one in odd_events(draw))
        data = mutate(draw, data) if draw.random() < 0.3 else data
    (folder / "events.out.tfevents.1").write_bytes(data)
    if draw.random() < 0.2:
        (folder / "events.out.tfevents.2").write_bytes(data)
    return folder


def framed(record: bytes) -> bytes:
    return struct.pack("<QI", len(record), 0) + record + b"\0\0\0\0"


def odd_events(draw: random.Random) -> Iterator[Event]:
    for _ in range(draw.randint(1, 60)):
        tag, value = draw.choice(TAGS), draw.choice(NUMBERS)
        kind = draw.randrange(8)
        one = Summary.Value(tag=tag, simple_value=value)
        if kind == 0:
            one = Summary.Value(tag=tag, tensor=TensorProto(float_val=[value] * draw.randint(0, 2)))
        elif kind == 1:
            text = draw.choice((b"|param|value|\n|-|-|\n|env_id|A-v0|", b"|||||", b"\xff", b"|a|" * 1000))
            tensor = TensorProto(string_val=[text] * draw.randint(0, 2))
            one = Summary.Value(tag="hyperparameters/text_summary", tensor=tensor)
        seconds = draw.choice((draw.random() * 1e9, *NUMBERS))
        yield Event(step=draw.choice(STEPS), wall_time=seconds, summary=Summary(value=[one]))
        if kind == 2:
            again = SessionLog(status=SessionLog.START)
            yield Event(step=draw.choice(STEPS), wall_time=seconds, session_log=again)


def wandb_file(draw: random.Random, folder: Path) -> Path:
    """A file of W&B with absurd values, whole or damaged."""
    from wandb.proto import wandb_internal_pb2 as protocol

    data = b":W&B\0\0\0"
    for _ in range(draw.randint(1, 40)):
        record = protocol.Record()
        part = draw.randrange(6)
        if part == 0:
            record.config.update.add(
                key=draw.choice(("env", "algo", "run", "env_id", "steps")), value_json=draw.choice(JSONS)
            )
        elif part == 1:
            record.summary.update.add(key="result/threshold", value_json=draw.choice(JSONS))
        else:
            names = (*TAGS, "global_step", "_step", "_timestamp", "env_steps")
            for name in draw.sample(names, draw.randint(1, 6)):
                record.history.item.add(key=name, value_json=draw.choice((*JSONS, "12", "0.5")))
        body = record.SerializeToString()[:30000]
        data += struct.pack("<IHB", 0, len(body), draw.choice((1, 1, 1, 2, 3, 4))) + body
    path = folder / "run-abc.wandb"
    path.write_bytes(mutate(draw, data) if draw.random() < 0.5 else data)
    return draw.choice((path, folder))


@pytest.mark.parametrize(
    "make",
    [table("progress.csv"), table("monitor.csv"), events, wandb_file],
    ids=["progress", "monitor", "tb", "wandb"],
)
def test_a_broken_log_is_diagnosed_or_refused_in_one_sentence(make, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = make(random.Random(number), folder)
        as_json = number % 2 == 0
        code = main(["diagnose", str(path), *(["--json"] if as_json else [])])
        said = capsys.readouterr()
        assert code in (0, 1, 2), (number, path)
        if as_json:
            assert ("error" in json.loads(said.out)) == (code != 0), (number, path)
        elif code:
            assert said.err.startswith("error: "), (number, path)
        for file in folder.iterdir():
            file.unlink()


def test_pipes_and_links_are_neither_waited_for_nor_followed_round(tmp_path, capsys):
    for name in ("progress.csv", "monitor.csv", "0.monitor.csv", "events.out.tfevents.0", "run-a.wandb"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        os.mkfifo(folder / name)
        (folder / "loop").symlink_to(folder)
        (folder / "dangling").symlink_to("nowhere")
        assert main(["diagnose", str(folder)]) == 2
        assert "holds no log" in capsys.readouterr().err
        assert main(["diagnose", str(folder / name)]) == 1
        assert "is neither a file nor a folder" in capsys.readouterr().err
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    assert main(["diagnose", str(tmp_path / "zero.csv")]) == 1


def test_what_would_fill_the_memory_is_refused(tmp_path, capsys):
    with (tmp_path / "progress.csv").open("wb") as file:
        file.truncate(places.MOST_BYTES + 1)
    assert main(["diagnose", str(tmp_path)]) == 1
    assert "is too large to be read (256 MiB; at most 256)" in capsys.readouterr().err


def test_a_line_without_end_is_refused(tmp_path, capsys):
    (tmp_path / "progress.csv").write_bytes(b"time/total_timesteps,a\n1," + b"7" * 1_000_000 + b"\n")
    assert main(["diagnose", str(tmp_path)]) == 1
    assert "cannot be read as CSV" in capsys.readouterr().err
    (tmp_path / "progress.csv").unlink()
    (tmp_path / "monitor.csv").write_bytes(b"#" + b"[" * 3_000_000)
    assert main(["diagnose", str(tmp_path)]) == 1
