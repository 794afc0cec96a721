"""What a very long run costs its readers: makes a run with a large `metrics.jsonl` and times each command.

    python -m benchmarks.long_run [--megabytes 143] [--folder FOLDER]

The records are those of a short training, repeated with a hundredth of noise as if 50M steps had been
recorded every 16 updates, which is what versions up to 0.1.0 wrote.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["lengthen", "main"]

_STEPS = 50_000_000
_COMMANDS = (("report",), ("diagnose",), ("runs", "show"))


def lengthen(metrics: Path, size: int, steps: int = _STEPS) -> int:
    """Repeat the training records of a run until the file has about `size` bytes; returns how many it has.

    Records with the costly measures stay as rare as they are in a run: one in a thousand, some fifty.
    """
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    usual = [row for row in rows if "train/loss" in row and "train/step_rms" not in row]
    measured = [row for row in rows if "train/step_rms" in row]
    judged = [row for row in rows if "eval/mean_reward" in row]
    count = max(len(rows), round(size / (len(json.dumps(usual[-1])) + 1)))
    rng = random.Random(0)
    with metrics.open("w") as file:
        for index in range(count):
            if index % (count // 20) == 0 and index:
                file.write(json.dumps(_moved(judged[-1], index, count, steps, rng)) + "\n")
            pool = measured if index % max(1, count // 50) == 0 else usual
            file.write(json.dumps(_moved(pool[index % len(pool)], index, count, steps, rng)) + "\n")
    return count


def _moved(row: dict[str, Any], index: int, count: int, steps: int, rng: random.Random) -> dict[str, Any]:
    """A record at its place in the long run."""
    share = (index + 1) / count
    noisy = {name: _noisy(value, rng) for name, value in row.items()}
    place = {"env_steps": int(share * steps), "vec_steps": int(share * steps) // 8, "progress": share}
    place |= {"updates": int(share * steps) // 40}
    return noisy | place | ({"time/elapsed": 3600 * share} if "time/elapsed" in row else {})


def _noisy(value: Any, rng: random.Random) -> Any:
    return (
        value * (1 + 0.01 * rng.random()) if isinstance(value, float) and value not in (0.0, 1.0) else value
    )


def _timed(*words: str) -> str:
    """Seconds by the clock and of the processor, and peak memory, of a command."""
    script = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    began = time.perf_counter()
    told = subprocess.run([sys.executable, "-c", script, *words], check=True, capture_output=True, text=True)
    processor, memory = map(float, told.stdout.split())
    return f"{time.perf_counter() - began:6.1f} s {processor:6.1f} s of a core {memory:6.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=143)
    parser.add_argument("--folder", type=Path, help="Keep the run here.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or Path(scratch)
        gymsolve = [sys.executable, "-m", "gymsolve"]
        where = ["--runs-dir", str(folder)]
        for seed in ("0", "1"):
            words = ["train", "CartPole-v1:a2c", "--steps", "40k", "--seed", seed, "--quiet"]
            words += ["--set", "video.enabled=false", "--set", "solved_at=1000"]
            subprocess.run([*gymsolve, *words, *where], check=True, stdout=subprocess.DEVNULL)
        runs = sorted(path.parent for path in folder.glob("*/run.json"))
        records = [lengthen(run / "metrics.jsonl", int(asked.megabytes * 1e6)) for run in runs]
        print(f"{records[0]:,} records, {(runs[0] / 'metrics.jsonl').stat().st_size / 1e6:.0f} MB")
        for command in _COMMANDS:
            print(f"{' '.join(command):<12} {_timed(*gymsolve, *command, runs[0].name, *where)}")
        names = [run.name for run in runs]
        print(f"{'runs compare':<12} {_timed(*gymsolve, 'runs', 'compare', *names, *where)}")


if __name__ == "__main__":
    main()
