"""One worker process: launched when others are quiet, watched while it runs, its answer taken down.

A worker is a script below `workers/`. It gets a job as JSON on its command line and prints one JSON
object as its last line. `launched` in the job is this machine's monotonic clock at the launch, so that
a worker can tell how long its start took.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from benchmarks.machine import IDLE, CpuWatch, wait_until_idle
from benchmarks.peers import HERE, PeerMissingError, peer_python
from benchmarks.store import OURS, Record

__all__ = ["call_worker", "measure", "python_of", "tell", "worker_environment"]

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def measure(tool: str, worker: str, job: Mapping[str, Any], *, threads: int | None, timeout: float) -> Record:
    """Run one worker and return what it told, how noisy the machine was, or the reason it failed."""
    try:
        python = python_of(tool)
    except PeerMissingError as error:
        return {"tool": tool, "error": str(error)}
    before = wait_until_idle(job.get("patience", 60.0))
    watch = CpuWatch()
    environment = worker_environment(threads, own=tool.startswith(OURS))
    told = call_worker([str(python), str(HERE / "workers" / worker)], job, environment, timeout)
    others = watch.others_share()
    noise = {"busy_before": round(before, 3), "others": round(others, 3), "noisy": max(before, others) > IDLE}
    return {"tool": tool, **told, **noise}


def python_of(tool: str) -> Path:
    """Our own interpreter for `gymsolve…`, a peer's for a peer."""
    return Path(sys.executable) if tool.startswith(OURS) else peer_python(tool)


def call_worker(
    command: list[str], job: Mapping[str, Any], environment: Mapping[str, str], timeout: float
) -> Record:
    """The worker's answer, or `error` with the last thing it said."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        # Files, not pipes: a process that outlives the worker would hold a pipe open.
        worker = subprocess.Popen(
            [*command, json.dumps({**job, "launched": began})],
            stdout=said,
            stderr=complained,
            env=environment,
            start_new_session=True,
        )
        try:
            worker.wait(timeout)
        except subprocess.TimeoutExpired:
            return {"error": f"gave no answer within {timeout:g} s"}
        finally:
            wall = time.monotonic() - began
            _end(worker)
        answered, errors = _text(said), _text(complained)
    lines = [line for line in answered.splitlines() if line.startswith("{")]
    if worker.returncode or not lines:
        last = [line for line in errors.splitlines() if line.strip()]
        return {"error": last[-1][:300] if last else f"ended with code {worker.returncode}"}
    return {**json.loads(lines[-1]), "wall": wall}


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _end(worker: "subprocess.Popen[bytes]") -> None:
    """With its children, also those that it left behind."""
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def worker_environment(threads: int | None, *, own: bool = True) -> dict[str, str]:
    """Threads as given, None leaves every library its own choice; peers see none of our packages.

    Bytecode is kept, as it is of installed packages: no worker should compile sources while it is timed.
    """
    left_out = (*_THREADS, "PYTHONDONTWRITEBYTECODE", *(() if own else ("PYTHONPATH",)))
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    if threads is not None:
        environment |= dict.fromkeys(_THREADS, str(threads))
    return environment


def tell(*words: object) -> None:
    """Progress for whoever watches; standard output is left to results."""
    print(*words, file=sys.stderr, flush=True)
