"""Programs of gymsolve that start in milliseconds: copies of a Python that has imported it (`preloaded.py`).

A new Python spends up to two seconds of computing on imports, and the tests start hundreds of programs. With
`quick_fork_exec` in place (`conftest.py`), `python -m gymsolve …` and processes of multiprocessing start as
copies, whether a test starts them or gymsolve does. A copy has a process id of its own, and whoever starts it
is its parent. A new Python starts nevertheless

- in tests that are about the start itself, which carry the marker `real_start`;
- where a copy could not stand for it: other command lines, a `preexec_fn`, a user id, other values of
  variables that an interpreter or a library reads when it starts (PYTHONPATH, OMP_NUM_THREADS, LANG …), or a
  module in the working directory that hides one which is imported already.
"""

import _posixsubprocess
import ctypes
import itertools
import os
import pickle
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "BOOT_NAMES",
    "DEATH_SIGNAL",
    "NAME",
    "OPTIONS",
    "Request",
    "answer",
    "begin",
    "parse",
    "quick_fork_exec",
    "real_fork_exec",
    "receive",
    "serve_with",
]

OPTIONS = ("-P", "-B")
"""Options of Python that copies understand: no working directory in the path, no files of compiled code."""
NAME = "preloaded"
"""How /proc calls a process that is only there to be copied."""
_SPAWN = "from multiprocessing.spawn import spawn_main"
_READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "OMP_", "MKL_", "OPENBLAS_", "KMP_", "TORCH", "MALLOC_")
"""How the names of variables begin that an interpreter or a library reads when it starts."""
_LIBRARIES = "LD_LIBRARY_PATH"
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); import preloaded; preloaded.main(int(sys.argv[2]))"
BOOT_NAMES = ("sys", "preloaded")
_ROOM = 100_000
"""Characters of a command line that a copy can show in /proc."""
_HEADER, _ANSWER = struct.Struct("=II"), struct.Struct("=q")
_MOST_FILES = 64
DEATH_SIGNAL = "GYMSOLVE_TEST_DEATH_SIGNAL"
"""A variable with the number of the signal that a program gets when its starter ends, however that ends."""
_PR_SET_CHILD_SUBREAPER = 36
_SIGNALS = signal.valid_signals()
_LIMITS = [value for name, value in vars(resource).items() if name.startswith("RLIMIT_")]
_ARGUMENTS = (
    *("args", "executables", "close_fds", "keep", "cwd", "env"),
    *("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite", "errpipe_read", "errpipe_write"),
    *("restore_signals", "start_new_session", "process_group", "gid", "groups", "uid", "umask", "preexec_fn"),
)
real_fork_exec = _posixsubprocess.fork_exec


@dataclass(frozen=True)
class Request:
    """A program to start, and what it gets from the process that starts it."""

    command: Sequence[str]
    folder: str
    variables: Mapping[str, str]
    targets: Sequence[int]
    """Which numbers the open files get that come with the request."""
    new_session: bool
    group: int
    blocked: set[int]
    ignored: set[int]
    limits: Mapping[int, tuple[int, int]]
    umask: int
    death_signal: int


def send(to: socket.socket, request: Request, files: Sequence[int]) -> None:
    body = pickle.dumps(request)
    socket.send_fds(to, [_HEADER.pack(len(body), len(files))], list(files))
    to.sendall(body)


def receive(requests: socket.socket) -> tuple[Request, list[int]] | None:
    """The next request with its open files; None when nobody can send one any more."""
    header, files, _, _ = socket.recv_fds(requests, _HEADER.size, _MOST_FILES)
    if not header:
        return None
    size, count = _HEADER.unpack(header)
    body = requests.recv(size, socket.MSG_WAITALL)
    return (pickle.loads(body), files) if len(body) == size and len(files) == count else None


def answer(requests: socket.socket, number: int) -> None:
    """Tell the program's process id; 0 if no copy can stand for it; below zero, an error of the system."""
    requests.sendall(_ANSWER.pack(number))


class _Preloaded:
    """The preloaded Python of this process."""

    def __init__(self, requests: socket.socket | None = None) -> None:
        self._requests = requests
        self._process_id = os.getpid()
        self._variables = _read_at_start(os.environ)
        self._lock = threading.Lock()
        self._usable = sys.platform == "linux"
        self._process: subprocess.Popen[bytes] | None = None

    def serves(self, command: Sequence[Any], variables: Mapping[str, str]) -> bool:
        """Can a copy stand for a new Python with that command line? A fork of this process has no copies."""
        return (
            self._usable
            and os.getpid() == self._process_id
            and _is_ours([os.fsdecode(word) for word in command])
            and _read_at_start(variables) == self._variables
        )

    def start(self, command: Sequence[Any], files: Mapping[int, int], **given: Any) -> int | None:
        """Start a program whose files have these numbers; its process id, or None if that is not possible."""
        request = Request(
            [os.fsdecode(word) for word in command],
            targets=list(files),
            blocked=signal.pthread_sigmask(signal.SIG_BLOCK, ()),
            ignored={number for number in _SIGNALS if signal.getsignal(number) == signal.SIG_IGN},
            limits={kind: resource.getrlimit(kind) for kind in _LIMITS},
            umask=_umask(),
            **given,
        )
        with self._lock, _adopting_orphans():
            if self._requests is None:
                self._process, self._requests = _start_preloaded(self._variables)
            try:
                send(self._requests, request, list(files.values()))
                number = _ANSWER.unpack(self._requests.recv(_ANSWER.size))[0]
            except BaseException as error:  # whoever asks next must not read the answer to this request
                self.forget()
                if isinstance(error, (OSError, struct.error)):  # it was killed, as whole sessions are
                    return None
                raise
        if number < 0:
            raise OSError(-number, os.strerror(-number))
        return int(number) or None

    def forget(self) -> None:
        """Start another one for the next program, unless this one could not begin."""
        assert self._requests is not None
        self._requests.close()
        self._requests = None
        if self._process is None:
            self._usable = False
        else:
            self._process.kill()
            self._usable = self._process.wait() < 0


def _is_ours(words: Sequence[str]) -> bool:
    if words[0] != sys.executable:
        return False
    _, kind, program, _ = parse(words)
    return program.startswith({"-m": "gymsolve", "-c": _SPAWN}.get(kind, "no program"))


def parse(words: Sequence[str]) -> tuple[set[str], str, str, list[str]]:
    """Options, `-m` or `-c`, the module or code, and the arguments of a command line of Python."""
    first = next((place for place, word in enumerate(words) if place and word not in OPTIONS), len(words))
    kind, program, *arguments = [*words[first:], "", ""]
    return set(words[1:first]), kind, program, arguments[: len(words) - first - 2]


def _read_at_start(variables: Mapping[str, str]) -> dict[str, str]:
    """Of the folders of libraries only those that exist: to import cv2 adds one that does not."""
    read = {name: value for name, value in variables.items() if name.startswith(_READ_AT_START)}
    folders = [name for name in read.pop(_LIBRARIES, "").split(os.pathsep) if name and Path(name).is_dir()]
    return read | ({_LIBRARIES: os.pathsep.join(folders)} if folders else {})


def _inherited_variables() -> list[bytes]:
    """Those that libraries written in C have set, too: os.environ does not know them."""
    words = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    return list(itertools.takewhile(lambda word: word is not None, words))


def _umask() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)


@contextmanager
def _adopting_orphans() -> Iterator[None]:
    """Orphans among our descendants become our children: so copies do, as processes that we start are."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _start_preloaded(read_at_start: Mapping[str, str]) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        words = [str(Path(__file__).parent), str(theirs.fileno()), " " * _ROOM]
        command = [sys.executable, "-P", "-c", _BOOT, *words]
        others = {name: value for name, value in os.environ.items() if not name.startswith(_READ_AT_START)}
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=nothing,
            stdout=nothing,
            env={**others, **read_at_start},
        )
    return process, ours


_preloaded = _Preloaded()


def begin() -> None:
    """Copies stand for programs with the variables of now, whatever the first program is given."""
    global _preloaded
    _preloaded = _Preloaded()


def serve_with(requests: socket.socket) -> None:
    """Make a copy start programs in the same way, through this socket."""
    global _preloaded
    _preloaded = _Preloaded(requests)
    subprocess._fork_exec = _posixsubprocess.fork_exec = quick_fork_exec  # type: ignore[attr-defined]


def quick_fork_exec(*arguments: Any) -> int:
    """`_posixsubprocess.fork_exec`, which subprocess and multiprocessing start all processes with."""
    given = dict(zip(_ARGUMENTS, arguments, strict=False))
    words = _inherited_variables() if given["env"] is None else given["env"]
    variables = dict(os.fsdecode(word).split("=", 1) for word in words)
    death_signal = int(variables.pop(DEATH_SIGNAL, 0))
    usual = given["close_fds"] and given["umask"] < 0
    usual = usual and all(given[name] is None for name in ("gid", "groups", "uid", "preexec_fn"))
    folder = Path.cwd() if given["cwd"] is None else Path(os.fsdecode(given["cwd"]))
    if usual and folder.is_dir() and _preloaded.serves(given["args"], variables):
        streams = (given["p2cread"], given["c2pwrite"], given["errwrite"])
        files = {number: number if other < 0 else other for number, other in enumerate(streams)}
        files |= {number: number for number in given["keep"] if number != given["errpipe_write"]}
        started = _preloaded.start(
            given["args"],
            files,
            folder=str(folder.absolute()),
            variables=variables,
            new_session=bool(given["start_new_session"]),
            group=given["process_group"],
            death_signal=death_signal,
        )
        if started is not None:
            return started
    return real_fork_exec(*arguments)
