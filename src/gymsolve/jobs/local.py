"""This machine as a place: every job is a command of gymsolve in a process and session of its own.

The process reports its run, or the error that prevented it, in a file that the environment variable ANSWER
names (`startup_report.py`). ANSWER is no option, so that the run stores the command that a person would type.

A job is a folder: `job.json` (the request), `answer.json`, `output.txt` and `alive`, a file that the process
keeps locked until it ends. The lock tells every later process whether the job still runs, even if its starter
was killed right after it started the process.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from gymsolve.errors import BadNumber, EnvFaultError, GymsolveError, UsageError
from gymsolve.jobs.place import Begun, Cursor, Ended
from gymsolve.jobs.request import RunRequest, flag_words
from gymsolve.jobs.startup_report import ANSWER, GROUP
from gymsolve.runs.files import (
    HeldError,
    lock_descriptor,
    open_plain,
    os_errors,
    parse_json,
    read_file,
    read_json,
    replace_json,
)

LONGEST_START = 300.0
"""Seconds until a start counts as failed: importing torch from a slow disk alone may take a minute."""
_TAIL = 5
"""Lines of output that an error quotes."""
_GRACE = 10.0
"""Seconds for a process to end in order before it is killed."""


class LocalPlace:
    """Processes of this machine.

    With a folder for `jobs`, another process can go on with them after this one; without, each job has a
    temporary folder that `list` does not find.
    """

    def __init__(
        self, jobs: Path | None = None, *, runs_dir: Path | str | None = None, limit: float = LONGEST_START
    ) -> None:
        self.jobs, self.runs_dir, self.limit = jobs, runs_dir, limit

    def submit(self, request: RunRequest, *, group: str | None = None) -> "LocalJob":
        if self.jobs is not None:
            with os_errors(self.jobs):
                self.jobs.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="gymsolve-start-", dir=self.jobs))
        own = {ANSWER: str(folder / "answer.json")} | ({} if group is None else {GROUP: group})
        words = [*request.words(), *flag_words("--runs-dir", self.runs_dir)]
        alive = os.open(folder / "alive", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock_descriptor(alive, folder / "alive")
            with (folder / "output.txt").open("wb") as stream:
                # From here on the folder is a job; its lock tells whether it runs.
                replace_json(folder / "job.json", {"request": request.to_json(), "group": group})
                process = spawn(words, stream, own, keep=(alive,))
        finally:
            os.close(alive)  # the process holds the lock now
        replace_json(folder / "pid.json", {"pid": process.pid})
        return LocalJob(folder, request, group, self, process)

    def list(self) -> "Sequence[LocalJob]":
        stored = () if self.jobs is None else sorted(self.jobs.glob("*/job.json"))
        return [self._read_job(path) for path in stored]

    def _read_job(self, path: Path) -> "LocalJob":
        stored = parse_json(read_file(path), exact=True)
        return LocalJob(path.parent, RunRequest.from_json(stored["request"]), stored["group"], self)


class LocalJob:
    """A process that starts or trains a run."""

    def __init__(
        self,
        folder: Path,
        request: RunRequest,
        group: str | None,
        place: LocalPlace,
        process: "subprocess.Popen[bytes] | None" = None,
    ) -> None:
        self.folder, self.request, self.group, self.place = folder, request, group, place
        self._process = process
        """None for a job that another process has started."""
        self._deadline = time.monotonic() + place.limit
        self._stopping = self._kept = False
        self._begun: Begun | None = None
        self._ended: Ended | None = None

    @property
    def key(self) -> str:
        return self.folder.name

    def poll(self) -> Begun | Ended | None:
        if self._ended is None:
            self._look()
        return self._ended or self._begun

    def _look(self) -> None:
        alive = self._is_alive()  # before reading: the answer may be its last act
        if self._begun is None:
            try:
                self._begun = self._read_answer(alive)
            except GymsolveError as error:
                self.kill()
                self._ended = Ended(None, error)
                return
        if self._begun is not None and not alive:
            self._ended = Ended(self._begun)
        elif self._begun is not None and self._stopping and not self._begun.run.stop_requested():
            with contextlib.suppress(UsageError):  # it has ended meanwhile
                self._begun.run.request_stop()

    def _read_answer(self, alive: bool) -> Begun | None:
        """The run once it has begun; raises the error that prevented it. None while it starts."""
        answer = self.folder / "answer.json"
        if not answer.exists():
            if alive and time.monotonic() < self._deadline:
                return None
            raise self._unanswered(alive)
        report = read_json(answer)
        if "error" not in report:
            return Begun(report["run"], Path(report["path"]), report["pid"], tuple(report["doubts"]))
        error = _rebuild(report["error"])
        if isinstance(error, EnvFaultError) and error.hint is None:
            error.hint = self._keep_output()  # a process that died may have printed why
        raise error

    def _unanswered(self, alive: bool) -> GymsolveError:
        code = None if self._process is None else self._process.poll()
        if alive:
            happened = f"the run has not begun within {self.place.limit:g} seconds, and its process was ended"
        elif code is None:
            happened = "the process ended before the run began"
        elif code < 0:
            happened = f"the process was killed ({signal.Signals(-code).name}) before the run began"
        else:
            happened = f"the process ended with exit code {code} before the run began"
        lines = (self.folder / "output.txt").read_text(errors="replace").strip().splitlines()[-_TAIL:]
        quote = f" It said: {' / '.join(line.strip() for line in lines)}" if lines else ""
        return GymsolveError(f"{happened}.{quote}", where=self.request.verb, hint=self._keep_output())

    def _keep_output(self) -> str:
        """Keep the output also after the job is forgotten; returns a sentence with its place."""
        self._kept = True
        return f"All of its output is in {self.folder / 'output.txt'}."

    def _is_alive(self) -> bool:
        if self._process is not None:
            return self._process.poll() is None
        return _is_locked(self.folder / "alive")

    def stop(self) -> None:
        self._stopping = True
        self.poll()

    def kill(self) -> None:
        """End the process and its children: an environment that hangs would hang for ever."""
        if self._process is not None:
            pid = self._process.pid
            self._process.terminate()
        else:
            path = self.folder / "pid.json"
            if not self._is_alive() or not path.exists():  # its number may be another process's by now
                return
            pid = int(read_json(path)["pid"])
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        while self._is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody of its session is left
            os.killpg(pid, signal.SIGKILL)

    def sync(self, cursor: Cursor) -> Cursor:
        return cursor  # its files are here

    def forget(self) -> None:
        if self._kept:
            (self.folder / "job.json").unlink(missing_ok=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.place.jobs is not None:
            with contextlib.suppress(OSError):  # there are others
                self.place.jobs.rmdir()


def jobs_at_once(threads: int, jobs: int) -> int:
    """How many jobs train at once: one per core, or fewer where each has several threads."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(jobs, cores // max(1, threads)))


def spawn(
    words: Sequence[str], stream: IO[bytes], own: Mapping[str, str], keep: Sequence[int] = ()
) -> "subprocess.Popen[bytes]":
    """Run `gymsolve WORDS…` in a session of its own, with `own` variables and the open files `keep`."""
    # A process in the background cannot answer the question that this variable asks for.
    inherited = {name: value for name, value in os.environ.items() if name != "GYMSOLVE_CONFIRM"}
    process = subprocess.Popen(
        # -P as in the installed script: a file of the working directory must not shadow a package.
        [sys.executable, "-P", "-m", "gymsolve", *words],
        env=inherited | dict(own),
        stdin=subprocess.DEVNULL,
        stdout=stream,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=keep,
    )
    # A process that nobody waits for would stay in the table of processes after its end.
    threading.Thread(target=process.wait, daemon=True, name=f"wait for {process.pid}").start()
    return process


def _is_locked(path: Path) -> bool:
    descriptor = open_plain(path, os.O_RDWR)
    try:
        lock_descriptor(descriptor, path, timeout=0.0)
    except HeldError:
        return True
    finally:
        os.close(descriptor)
    return False


def _rebuild(fields: dict[str, Any]) -> GymsolveError:
    """The error as the new process raised it."""
    kinds = {kind.__name__: kind for kind in _kinds(GymsolveError)}
    bad = None if fields["bad"] is None else BadNumber.from_json(fields["bad"])
    return kinds[fields["kind"]](fields["message"], where=fields["where"], hint=fields["hint"], bad=bad)


def _kinds(kind: type[GymsolveError]) -> list[type[GymsolveError]]:
    return [kind, *(inner for child in kind.__subclasses__() for inner in _kinds(child))]
