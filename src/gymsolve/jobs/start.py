"""Starting and resuming runs in a process of their own, which outlives whoever asked for it.

`start_run` runs `python -m gymsolve train …`, waits until that process has made the folder of the run and
returns the run's id; training goes on in the background. The process has its own session and none of its
starter's pipes. It answers with the run, or the error that prevented it, in a file; the environment variable
ANSWER names that file, so that the command line is the one that a person would type, and the run remembers it
as such. The other side of it is `jobs/startup_report.py`.
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
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gymsolve.answers import Answer
from gymsolve.errors import BadNumber, EnvFaultError, GymsolveError, UsageError
from gymsolve.jobs.cancellation import require_wanted
from gymsolve.jobs.startup_report import ANSWER, GROUP
from gymsolve.runs.files import read_json, to_json
from gymsolve.runs.run import Run

_LIMIT = 300.0
"""Seconds until a start counts as failed: importing torch from a slow disk alone may take a minute."""
_GLANCE = 0.05
_TAIL = 5
"""Lines of output that an error quotes."""

Settings = Mapping[str, Any] | Sequence[str]


@dataclass(frozen=True)
class StartedRun(Answer):
    """A run that trains in a process of its own."""

    run: str
    path: str
    pid: int


def start_run(  # noqa: PLR0913 - the options of `gymsolve train`
    env: str,
    overrides: Settings = (),
    *,
    seed: int | None = None,
    seeds: int | None = None,
    steps: int | str | None = None,
    start_from: str | None = None,
    track: str | Sequence[str] | None = None,
    profile: bool = False,
    runs_dir: Path | str | None = None,
    limit: float = _LIMIT,
) -> StartedRun:
    """Train `ENV[:VARIANT]` in the background; arguments are those of `gymsolve.train`.

    With `seeds`, so many of them from `seed` on: the answer then names their group (`group:ID`) instead of a
    run. Returns once the run has begun. Raises what `gymsolve train` would say if it cannot begin, also after
    `limit` seconds; nothing trains then.
    """
    words = train_words(env, overrides, seed=seed, seeds=seeds, steps=steps, start_from=start_from)
    return _launch([*words, *_common(track, runs_dir, profile=profile)], limit)


def train_words(
    env: str,
    overrides: Settings = (),
    *,
    seed: int | None = None,
    seeds: int | None = None,
    steps: int | str | None = None,
    start_from: str | None = None,
) -> list[str]:
    """The command that starts such a run, as words."""
    numbers = [*flag_words("--seed", seed), *flag_words("--steps", steps), *flag_words("--seeds", seeds)]
    return ["train", env, *setting_words(overrides), *numbers, *flag_words("--from", start_from)]


def resume_run(  # noqa: PLR0913 - the options of `gymsolve resume`
    ref: str,
    overrides: Settings = (),
    *,
    steps: int | str | None = None,
    fresh_optimizer: bool = False,
    track: str | Sequence[str] | None = None,
    profile: bool = False,
    trust: bool = False,
    runs_dir: Path | str | None = None,
    limit: float = _LIMIT,
) -> StartedRun:
    """Continue `RUN[@CHECKPOINT]` in the background; like `start_run` in everything else."""
    words = [*resume_words(ref, overrides, steps=steps), *_common(track, runs_dir, profile=profile)]
    words += [*(["--fresh-optimizer"] if fresh_optimizer else []), *(["--trust"] if trust else [])]
    return _launch(words, limit)


def resume_words(ref: str, overrides: Settings = (), *, steps: int | str | None = None) -> list[str]:
    """The command that continues a run, as words."""
    return ["resume", ref, *setting_words(overrides), *flag_words("--steps", steps)]


def fork_run(  # noqa: PLR0913 - the options of `gymsolve fork`
    ref: str,
    overrides: Settings = (),
    *,
    seed: int | None = None,
    steps: int | str | None = None,
    track: str | Sequence[str] | None = None,
    profile: bool = False,
    trust: bool = False,
    runs_dir: Path | str | None = None,
    limit: float = _LIMIT,
) -> StartedRun:
    """Begin a new run in the state of `RUN[@CHECKPOINT]`, in the background; like `start_run` otherwise."""
    words = fork_words(ref, overrides, seed=seed, steps=steps)
    words += [*_common(track, runs_dir, profile=profile), *(["--trust"] if trust else [])]
    return _launch(words, limit)


def fork_words(
    ref: str, overrides: Settings = (), *, seed: int | None = None, steps: int | str | None = None
) -> list[str]:
    """The command that branches off a run, as words."""
    numbers = [*flag_words("--seed", seed), *flag_words("--steps", steps)]
    return ["fork", ref, *setting_words(overrides), *numbers]


def start_fix(run: Run, alert: str | None, seeds: int, max_seconds: float | None = None) -> StartedRun:
    """Try the remedy of an alert in the background; a `fix` event of the run tells what came of it."""
    words = ["fix", str(run.path), *([alert] if alert else []), "--seeds", str(seeds), "--json"]
    words += flag_words("--max-seconds", max_seconds)
    output = run.path / "fix.log"
    with output.open("wb") as stream:
        process = _spawn(words, stream, {})
    return StartedRun(run.id, str(run.path), process.pid)


def setting_words(overrides: Settings) -> list[str]:
    if isinstance(overrides, Mapping):  # values are read as YAML, and JSON is YAML
        for path in overrides:
            if "=" in path or path != path.strip():  # it would name another setting, or hide its value
                raise UsageError(f"{path!r} names no setting.", hint="Such as algo.gamma.")
        overrides = [f"{path}={to_json(value)}" for path, value in overrides.items()]
    return [word for one in overrides for word in ("--set", one)]


def flag_words(name: str, value: object) -> list[str]:
    return [] if value is None else [name, str(value)]


def _common(track: str | Sequence[str] | None, runs_dir: Path | str | None, *, profile: bool) -> list[str]:
    names = track if track is None or isinstance(track, str) else ",".join(track)
    return [
        *flag_words("--track", names),
        *(["--profile"] if profile else []),
        *flag_words("--runs-dir", runs_dir),
    ]


# ------------------------------------------------------------------------------------- the starter


@dataclass
class Starting:
    """A process that has not said yet whether its run has begun."""

    words: Sequence[str]
    process: "subprocess.Popen[bytes]"
    place: Path
    limit: float
    deadline: float

    def poll(self) -> StartedRun | None:
        """The run once it has begun; raises what prevented it. None while nothing was said."""
        ended = self.process.poll() is not None  # asked before looking: its last act may be the answer
        answer, output = self.place / "answer.json", self.place / "output.txt"
        if answer.exists():
            return self._take(read_json(answer), output)
        if not ended and time.monotonic() < self.deadline:
            return None
        raise _unanswered(self.process, self.words, self.limit, output)

    def _take(self, told: dict[str, Any], output: Path) -> StartedRun:
        error = _rebuild(told["error"]) if "error" in told else None
        if isinstance(error, EnvFaultError) and error.hint is None:
            error.hint = f"All of its output is in {output}."  # a process that died may have said why
            raise error
        shutil.rmtree(self.place, ignore_errors=True)
        if error is not None:
            raise error
        return StartedRun(**told)


def begin(words: Sequence[str], limit: float = _LIMIT, *, group: str | None = None) -> Starting:
    """Run `gymsolve WORDS…` in the background, as one of a group if one is named."""
    place = Path(tempfile.mkdtemp(prefix="gymsolve-start-"))
    own = {ANSWER: str(place / "answer.json")} | ({} if group is None else {GROUP: group})
    with (place / "output.txt").open("wb") as stream:
        process = _spawn(words, stream, own)
    return Starting(words, process, place, limit, time.monotonic() + limit)


def _spawn(words: Sequence[str], stream: IO[bytes], own: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Run `gymsolve WORDS…` in a session of its own, with `own` variables."""
    # Nobody is there to answer the question that this variable asks for.
    inherited = {name: value for name, value in os.environ.items() if name != "GYMSOLVE_CONFIRM"}
    process = subprocess.Popen(
        # -P as in the installed script: a file of the working directory must not shadow a package.
        [sys.executable, "-P", "-m", "gymsolve", *words],
        env=inherited | dict(own),
        stdin=subprocess.DEVNULL,
        stdout=stream,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    # Somebody has to take note when the process ends, or it would stay in the table of processes.
    threading.Thread(target=process.wait, daemon=True, name=f"wait for {process.pid}").start()
    return process


def _launch(words: Sequence[str], limit: float) -> StartedRun:
    """Run `gymsolve WORDS…` in the background and wait until its run has begun."""
    starting = begin(words, limit)
    try:
        while (started := starting.poll()) is None:
            require_wanted()
            time.sleep(_GLANCE)
    except BaseException:
        end_process(starting.process)  # whoever stops waiting must not leave a training that nobody knows of
        raise
    return started


def _unanswered(
    process: "subprocess.Popen[bytes]", words: Sequence[str], limit: float, output: Path
) -> GymsolveError:
    code = process.poll()
    if code is None:
        happened = f"the run has not begun within {limit:g} seconds, and its process was ended"
    elif code < 0:
        happened = f"the process was killed ({signal.Signals(-code).name}) before the run began"
    else:
        happened = f"the process ended with exit code {code} before the run began"
    lines = output.read_text(errors="replace").strip().splitlines()[-_TAIL:]
    said = f" It said: {' / '.join(line.strip() for line in lines)}" if lines else ""
    return GymsolveError(f"{happened}.{said}", where=words[0], hint=f"All of its output is in {output}.")


def end_process(process: "subprocess.Popen[bytes]") -> None:
    """End the process, and whomever it has started: an environment that hangs would hang for ever."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody of its session is left
        os.killpg(process.pid, signal.SIGKILL)


def _rebuild(told: dict[str, Any]) -> GymsolveError:
    """The error as the new process raised it."""
    kinds = {kind.__name__: kind for kind in _kinds(GymsolveError)}
    bad = None if told["bad"] is None else BadNumber.from_json(told["bad"])
    return kinds[told["kind"]](told["message"], where=told["where"], hint=told["hint"], bad=bad)


def _kinds(kind: type[GymsolveError]) -> list[type[GymsolveError]]:
    return [kind, *(inner for child in kind.__subclasses__() for inner in _kinds(child))]
