"""Watching runs: from the command to the first page, and a run with many records until it is drawn."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import tell, worker_environment
from benchmarks.machine import IDLE, wait_until_idle
from benchmarks.throughput import Options

__all__ = ["measure_watching"]

_KEPT = Path(__file__).parents[2] / "tests" / "runs" / "known_good" / "cartpole"
_BROWSERS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
_FOLDERS = {"1 run": 1, "2,000 runs": 2000}
_RECORDS = 100_000
_SECONDS = 1.0
_DRAWN = "least => document.querySelector('.plot')?.chart?.columns[0].length >= least"


def measure_watching(options: Options) -> Iterator[dict[str, Any]]:
    """Seconds until pages show what was asked for."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=program, args=["--disable-dev-shm-usage"])
        for name, many in _FOLDERS.items():
            runs = Path(folder) / str(many)
            _copy_runs(runs, 1 if options.quick else many)
            yield _timed(options, f"command to the table, {name}", _first_page, browser, runs)
        run = _many_records(Path(folder) / "long", 2000 if options.quick else _RECORDS)
        yield _timed(options, f"a run of {_RECORDS:,} records, drawn", _long_run, browser, run)
        browser.close()


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
    with _serving(runs) as address:
        page.goto(address)
        page.locator("tbody tr").first.wait_for()
        seconds = time.perf_counter() - began
        page.close()
    return seconds


def _long_run(browser: Any, run: Path) -> float:
    """From the click on a run to its curve of returns, all records considered."""
    page = browser.new_page()
    with _serving(run.parent) as address:
        page.goto(address)
        link = page.locator("tbody tr a").first
        link.wait_for()
        began = time.perf_counter()
        link.click()
        page.wait_for_function(_DRAWN, arg=500)
        seconds = time.perf_counter() - began
        page.close()
    return seconds


@contextmanager
def _serving(runs: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "gymsolve", "web", "--no-open", "--runs-dir", str(runs)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=worker_environment(None), start_new_session=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
        process.stdout.close()


def _copy_runs(folder: Path, many: int) -> None:
    for number in range(many):
        name = f"20260101-{number:06d}-CartPole-v1-ppo-{number:04x}"
        shutil.copytree(_KEPT, folder / name)
        info = folder / name / "run.json"
        info.write_text(json.dumps(json.loads(info.read_text()) | {"id": name}))


def _many_records(folder: Path, many: int) -> Path:
    """A run whose records are those of a real one, again and again, each with steps of its own."""
    _copy_runs(folder, 1)
    (run,) = folder.iterdir()
    path = run / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    with path.open("w") as file:
        for number in range(many):
            row = rows[number % len(rows)] | {"env_steps": 1000 * (number + 1)}
            file.write(json.dumps(row) + "\n")
    return run
