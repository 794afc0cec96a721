"""Watching runs: from the command to the first page, and a run with many records until it is drawn."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.browser.serving import open_browser, serving
from benchmarks.harness import tell
from benchmarks.machine import IDLE, wait_until_idle
from benchmarks.throughput import Options

__all__ = ["copy_runs", "measure_watching"]

_KEPT = Path(__file__).parents[2] / "tests" / "runs" / "known_good" / "cartpole"
_FOLDERS = {"1 run": 1, "2,000 runs": 2000}
_RECORDS = 4000
"""Twice what a run writes."""
_SECONDS = 1.0
_DRAWN = "least => document.querySelector('.plot')?.chart?.columns[0].length >= least"


def measure_watching(options: Options) -> Iterator[dict[str, Any]]:
    """Seconds until pages show what was asked for."""
    with open_browser() as browser, tempfile.TemporaryDirectory() as folder:
        for name, many in _FOLDERS.items():
            runs = Path(folder) / str(many)
            copy_runs(runs, 1 if options.quick else many)
            yield _timed(options, f"command to the table, {name}", _first_page, browser, runs)
        run = _many_records(Path(folder) / "long", _RECORDS)
        yield _timed(options, f"a run of {_RECORDS:,} records, drawn", _long_run, browser, run)


def _timed(
    options: Options, case: str, call: Callable[[Any, Path], float], browser: Any, place: Path
) -> dict[str, Any]:
    busy = wait_until_idle(options.patience)
    seconds = call(browser, place)
    tell(f"browser: {case:48} {seconds:8.2f} s")
    return {"case": case, "value": seconds, "unit": "s", "most": _SECONDS, "noisy": busy > IDLE}


def _first_page(browser: Any, runs: Path) -> float:
    """From the start of `gymsolve web` to a row of the table, in a browser that is open."""
    page = browser.new_page()
    page.goto("about:blank")
    began = time.perf_counter()
    with serving(runs, "web") as (address, _):
        page.goto(address)
        page.locator("tbody tr").first.wait_for()
        seconds = time.perf_counter() - began
        page.close()
    return seconds


def _long_run(browser: Any, run: Path) -> float:
    """From the click on a run to its curve of returns, all records considered."""
    page = browser.new_page()
    with serving(run.parent, "web") as (address, _):
        page.goto(address)
        link = page.locator("tbody tr a").first
        link.wait_for()
        began = time.perf_counter()
        link.click()
        page.wait_for_function(_DRAWN, arg=500)
        seconds = time.perf_counter() - began
        page.close()
    return seconds


def copy_runs(folder: Path, many: int) -> None:
    for number in range(many):
        name = f"20260101-{number:06d}-CartPole-v1-ppo-{number:04x}"
        shutil.copytree(_KEPT, folder / name)
        info = folder / name / "run.json"
        info.write_text(json.dumps(json.loads(info.read_text()) | {"id": name}))


def _many_records(folder: Path, many: int) -> Path:
    """A run whose records are those of a real one, again and again, each with steps of its own."""
    copy_runs(folder, 1)
    (run,) = folder.iterdir()
    path = run / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    with path.open("w") as file:
        for number in range(many):
            row = rows[number % len(rows)] | {"env_steps": 1000 * (number + 1)}
            file.write(json.dumps(row) + "\n")
    return run
