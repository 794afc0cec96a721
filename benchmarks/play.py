"""Play in a real browser: are steps on time, and how long does a key take to become one?

An environment that costs nothing shows 60 pictures of 320×240 a second. A step is late when it begins more
than half a period after its deadline. The time of a key runs from the browser's event to the environment's
step. Both are measured on an idle machine and with one core kept busy.
"""

import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.browser.serving import open_browser, serving
from benchmarks.harness import tell
from benchmarks.machine import IDLE, wait_until_idle
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options

__all__ = ["LATE", "WAIT_MS", "measure_play"]

LATE, WAIT_MS = 0.05, 1000 / 60 + 10
"""Share of late steps, and milliseconds from a key to its step, that are allowed."""
_SECONDS, _QUICK_SECONDS = 20.0, 4.0
_PAUSE = 0.02, 0.15
"""Seconds between two keys."""
_WORKERS = Path(__file__).parent / "workers"
_PICTURE = "moving_picture:MovingPicture-v0"
_BUSY = "while True: pass"
_STATS = """() => new Promise((resolve) => {
  const stage = document.querySelector('.stage');
  delete stage.dataset.stats;
  new MutationObserver((_, watcher) => {
    if (!stage.dataset.stats) return;
    watcher.disconnect();
    resolve(stage.dataset.stats);
  }).observe(stage, {attributes: true, attributeFilter: ['data-stats']});
  dispatchEvent(new Event('gymsolve-stats'));
})"""


def measure_play(options: Options) -> None:
    store = Store(options.results, "play")
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), "play", _PICTURE, modules=_WORKERS) as (address, _),
        open_browser() as browser,
    ):
        for number in range(options.repeats):
            for busy in (False, True):
                noise = wait_until_idle(options.patience)
                case = "one core busy" if busy else "idle"
                with _load(busy):
                    found = _play(browser, address, _QUICK_SECONDS if options.quick else _SECONDS)
                store.add({"case": case, "tool": OURS, "round": number, "noisy": noise > IDLE, **found})
                met = found["late"] <= LATE and found["wait_p95_ms"] <= WAIT_MS
                tell(
                    f"play, {case:14} {found['late']:6.1%} of {found['steps']} steps late, key to step "
                    f"{found['wait_p50_ms']:.1f} ms (95 %: {found['wait_p95_ms']:.1f}), "
                    f"{found['fps']:.1f} pictures/s, target {'met' if met else 'MISSED'}"
                )


def _play(browser: Any, address: str, seconds: float) -> dict[str, float]:
    """Tap keys for some seconds; what came of it."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    page.wait_for_selector(".stage[data-frame]", timeout=120_000)
    rng = random.Random(0)
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(1000)  # the first steps are those of a browser that still loads
    before, began = _stats(page), time.perf_counter()
    frames = int(page.get_attribute(".stage", "data-frame"))
    while time.perf_counter() - began < seconds:
        page.keyboard.press(rng.choice(("ArrowLeft", "ArrowRight")), delay=20)
        page.wait_for_timeout(1000 * rng.uniform(*_PAUSE))
    spent = time.perf_counter() - began
    frames = int(page.get_attribute(".stage", "data-frame")) - frames
    after = _stats(page)
    page.close()
    waits = sorted(after["waits"][len(before["waits"]) :])
    steps = after["steps"] - before["steps"]
    return {
        "steps": steps,
        "steps_per_second": steps / spent,
        "late": (after["late"] - before["late"]) / max(steps, 1),
        "keys": len(waits),
        "wait_p50_ms": waits[len(waits) // 2],
        "wait_p95_ms": waits[int(0.95 * len(waits))],
        "wait_max_ms": waits[-1],
        "fps": frames / spent,
    }


def _stats(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.evaluate(_STATS))
    return found


@contextlib.contextmanager
def _load(busy: bool) -> Iterator[None]:
    """Keep one core busy, or none."""
    process = subprocess.Popen([sys.executable, "-c", _BUSY]) if busy else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()
