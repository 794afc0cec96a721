"""The inspector in a real browser: how many pictures a second scrubbing draws, and what is kept in memory.

An episode of 10,000 steps has a picture of 320×240 for every state. The cursor moves with every frame of the
browser, forwards and by leaps; a picture counts when the canvas shows the state that the cursor was at.
"""

import io
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.browser.serving import open_browser, serving
from benchmarks.harness import tell
from benchmarks.machine import IDLE, wait_until_idle
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options

__all__ = ["LEAST_FPS", "measure_inspect"]

LEAST_FPS = 30.0
_STEPS, _QUICK_STEPS = 10_000, 1_000
_SECONDS, _QUICK_SECONDS = 10.0, 2.0
_SCRUB = """([seconds, stride]) => new Promise((resolve) => {
  const slider = document.querySelector('.scrub input');
  const canvas = document.querySelector('canvas.frame');
  const last = Number(slider.max);
  let state = 0;
  let drawn = 0;
  const watcher = new MutationObserver(() => { drawn += 1; });
  watcher.observe(canvas, {attributes: true, attributeFilter: ['data-state']});
  const began = performance.now();
  requestAnimationFrame(function move(now) {
    if (now - began > 1000 * seconds) {
      watcher.disconnect();
      const heap = performance.memory ? performance.memory.usedJSHeapSize : 0;
      const kept = Number(canvas.dataset.encoded) + Number(canvas.dataset.decoded);
      resolve({fps: drawn / (now - began) * 1000, heap, kept});
      return;
    }
    state = (state + stride) % (last + 1);
    slider.value = state;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    requestAnimationFrame(move);
  });
})"""


def measure_inspect(options: Options) -> None:
    store = Store(options.results, "inspect")
    steps = _QUICK_STEPS if options.quick else _STEPS
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        query = _make_episode(Path(folder), steps)
        for number in range(options.repeats):
            noise = wait_until_idle(options.patience)
            with serving(Path(folder), "web") as (address, process):
                place = f"{address.replace('/?', '/inspect?')}&{query}"
                found = _scrub(browser, place, _QUICK_SECONDS if options.quick else _SECONDS)
                found["server_mb"] = _peak_memory(process)
            facts = {"tool": OURS, "round": number, "noisy": noise > IDLE, **found}
            store.add({"case": f"scrub {steps} steps", **facts})
            met = min(found["fps"], found["leap_fps"]) >= LEAST_FPS
            tell(
                f"inspect: {found['fps']:.0f} pictures/s forwards, {found['leap_fps']:.0f} by leaps, "
                f"{found['kept']:.0f} pictures kept, page {found['page_mb']:.0f} MB, "
                f"server {found['server_mb']:.0f} MB, target {'met' if met else 'MISSED'}"
            )


def _scrub(browser: Any, address: str, seconds: float) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    page.wait_for_selector('canvas.frame[data-state="0"]', timeout=60_000)
    along = page.evaluate(_SCRUB, [seconds, 1])
    leaps = page.evaluate(_SCRUB, [seconds, 379])
    page.close()
    kept = max(along["kept"], leaps["kept"])
    return {"fps": along["fps"], "leap_fps": leaps["fps"], "kept": kept, "page_mb": leaps["heap"] / 1e6}


def _make_episode(folder: Path, steps: int) -> str:
    """A run with a long episode, as an inspection would have stored it; the address of the page for it."""
    import numpy as np
    from PIL import Image

    import gymsolve
    from gymsolve.runs.inspections import InspectionWriter

    small = {"steps": 64, "env.num_envs": 2, "algo.num_steps": 32, "eval.episodes": 1, "solved_at": 1e9}
    run = gymsolve.train("CartPole-v1", small, runs_dir=folder).run
    short = gymsolve.inspect(run)
    left_out = ("key", "fields", "state", "notes")
    facts = {key: value for key, value in short.facts.items() if key not in left_out}
    writer = InspectionWriter(run, "long", short.stored.fields, facts)
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (64, 24, 32, 3), dtype=np.uint8)
    pictures = []
    for one in coarse:
        held = io.BytesIO()
        Image.fromarray(one).resize((320, 240)).save(held, "JPEG", quality=80)
        pictures.append(held.getvalue())
    for state in range(steps + 1):
        writer.add_frame(pictures[state % len(pictures)])
    rows = np.resize(short.rows[:-1], steps + 1).copy()
    rows["terminated"] = 0
    writer.add_rows(rows.tobytes())
    stored = writer.finish("whole", {"length": steps, "end": "cut", "return": float(steps)})
    return f"run={run.id}&episode={stored.name}"


def _peak_memory(pid: int) -> float:
    """Most megabytes that a process has held."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) / 1024
    return float("nan")
