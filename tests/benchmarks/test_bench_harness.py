"""Workers of the benchmark: what they answer is taken down, and none outlives whoever started it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.harness import call_worker, worker_environment
from processes import is_running, soon_gone

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
ROOT = Path(__file__).parents[2]
SLEEPER = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"


def python(source, *arguments):
    return [sys.executable, "-c", source, *arguments]


def wait_for(path):
    deadline = time.monotonic() + 120
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline, "the worker never started"
        time.sleep(0.01)
    return int(path.read_text())


def test_the_last_object_that_a_worker_prints_is_its_answer():
    source = 'print(\'{"first": 1}\'); print("noise"); print(\'{"last": 2}\')'
    told = call_worker(python(source), {}, worker_environment(None), timeout=280)
    assert told["last"] == 2
    assert "first" not in told
    assert told["wall"] > 0


def test_a_worker_that_breaks_is_quoted():
    told = call_worker(python("raise SystemExit('no such game')"), {}, worker_environment(None), timeout=280)
    assert told == {"error": "no such game"}


def call_until_it_has_begun(source, place):
    """Call a worker that never answers, each time with more patience, until it has told its process."""
    for timeout in (1, 4, 16, 64):
        told = call_worker(python(source, str(place)), {}, worker_environment(None), timeout=timeout)
        assert told == {"error": f"gave no answer within {timeout} s"}
        if place.exists() and place.read_text():
            return int(place.read_text())
    pytest.fail("the worker never began")


def test_a_worker_that_takes_too_long_is_ended(tmp_path):
    assert not is_running(call_until_it_has_begun(SLEEPER, tmp_path / "pid"))


def test_children_of_a_worker_that_ended_are_ended_too(tmp_path):
    source = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen({python('import time; time.sleep(600)')!r})\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
    )
    told = call_worker(python(source, str(tmp_path / "pid")), {}, worker_environment(None), timeout=280)
    assert told == {"error": "ended with code 0"}  # at once, although the child has its standard output
    assert soon_gone(int((tmp_path / "pid").read_text()))


def test_an_interrupted_benchmark_leaves_nobody_behind(tmp_path):
    source = (  # whatever is started in a script's background would be deaf to interrupts
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from benchmarks.harness import call_worker, worker_environment\n"
        f"call_worker({python(SLEEPER, str(tmp_path / 'pid'))!r}, {{}}, worker_environment(None), 600)\n"
    )
    watcher = subprocess.Popen(python(source), cwd=ROOT, stderr=subprocess.DEVNULL)
    worker = wait_for(tmp_path / "pid")
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(120) != 0
    assert soon_gone(worker)
