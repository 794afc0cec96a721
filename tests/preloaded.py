"""A Python that has imported gymsolve, and forks a copy of itself for each program that it is asked to start.

`quick_start.py` starts it and sends the requests. A copy becomes the program: it takes over arguments,
working directory, environment variables, open files, session and signals as a new Python would get them from
the process that asked, and that process becomes its parent. Only imports are done already.

Modules that need torch are imported but hidden until the program imports one of them: whether torch is loaded
decides how gymsolve starts its workers.
"""

import atexit
import contextlib
import ctypes
import errno
import fcntl
import gc
import importlib.abc
import importlib.machinery
import io
import os
import pkgutil
import resource
import runpy
import signal
import socket
import sys
import time
import types
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import quick_start
from quick_start import Request, receive

__all__ = ["main"]

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_HEAVY = "torch"
_ENCODINGS = [(stream.encoding, stream.errors) for stream in (sys.stdin, sys.stdout, sys.stderr)]
_UNBUFFERED = sys.stdout.write_through  # type: ignore[attr-defined]


def main(descriptor: int) -> None:
    """Preload, serve the requests of that socket, and run a program in every copy."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are meant for programs
    sys.path.remove(str(Path(__file__).parent))
    _preload()
    _keep_for_ever()
    if len([*Path("/proc/self/task").iterdir()]) != 1:
        sys.exit("an import started a thread, and a fork would lose it")
    request, requests = _serve(socket.socket(fileno=descriptor))
    quick_start.serve_with(requests)
    with contextlib.suppress(KeyError):
        sys.modules["numpy.random"].seed()  # Python does the same for its own generator
    signal.pthread_sigmask(signal.SIG_SETMASK, request.blocked)
    _run(request.command)


_imported: set[str] = set()
"""Names of all packages and modules at the top that are imported, hidden or not."""


def _keep_for_ever() -> None:
    """Let no copy collect what was imported, nor free it at its end.

    Either writes to memory that all share until then, which takes longer than many a program. What the
    program makes and imports itself ends as in every Python, unless a module that was imported here keeps it.
    """
    sys.stdout.flush()  # or each copy would print what imports have printed
    ctypes.CDLL(None).fflush(None)
    gc.collect()
    modules = [name for name in sys.modules if not _is_standard(name) and name != "__main__"]
    main = sys.modules["__main__"]
    freed = {id(thing) for thing in (main, vars(main), *gc.get_referrers(main, vars(main)))}
    everything = [thing for thing in gc.get_objects() if id(thing) not in freed]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(everything))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(sys.meta_path[:]))
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False
    atexit.register(_forget, modules)
    library = ctypes.CDLL(None)
    library.on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)  # before destructors of C++
    gc.freeze()


def _forget(modules: Sequence[str]) -> None:
    for name in modules:
        sys.modules.pop(name, None)
    ctypes.CDLL(None).fflush(None)


def _is_standard(name: str) -> bool:
    return name.split(".")[0] in sys.stdlib_module_names


# ------------------------------------------------------------------------------------- what it imports


def _preload() -> None:
    """Import all of gymsolve; hide what needs torch."""
    refuse = _Refuse()
    sys.meta_path.insert(0, refuse)
    names = list(_own_modules())
    left = [name for name in names if not _can_import(name)]
    sys.meta_path.remove(refuse)
    before = set(sys.modules)
    importlib.import_module(_HEAVY)
    for name in left:
        importlib.import_module(name)
    _imported.update(name.split(".")[0] for name in sys.modules)
    heavy = {name for name in set(sys.modules) - before if not _is_standard(name)}
    sys.meta_path.insert(0, _Hidden({name: sys.modules.pop(name) for name in heavy}))


def _own_modules() -> Iterator[str]:
    """All of gymsolve but what needs packages that not every environment does."""
    import gymsolve

    for module in pkgutil.walk_packages(gymsolve.__path__, "gymsolve.", onerror=lambda name: None):
        if ".families." not in module.name and not module.name.endswith(".__main__"):
            yield module.name


def _can_import(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != _HEAVY:
            raise
        return False
    return True


class _Refuse(importlib.abc.MetaPathFinder):
    """Says that torch is not installed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name == _HEAVY:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class _Hidden(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Puts hidden modules back when the program imports one of them."""

    def __init__(self, modules: dict[str, types.ModuleType]) -> None:
        self._modules = modules

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name in self._modules else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        sys.meta_path.remove(self)
        sys.modules.update(self._modules)
        self._spec = self._modules[spec.name].__spec__
        return self._modules[spec.name]

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._spec


# --------------------------------------------------------------------------------- how a copy is made


def _serve(requests: socket.socket) -> tuple[Request, socket.socket]:
    """Serve requests for ever; in each copy, return its request and the socket for its own requests."""
    while True:
        request = _copy(requests)
        ours, theirs = socket.socketpair()
        if os.fork():  # the copy runs the program, and its fork serves what the program starts
            theirs.close()
            return request, ours
        ours.close()
        _stay_unseen(request)
        requests = theirs


def _copy(requests: socket.socket) -> Request:
    """Serve requests; return in a copy that has taken over what its request says."""
    owner = os.getppid()
    _end_with_parent()
    while True:
        received = receive(requests)
        if received is None:  # the owner is gone
            os._exit(0)
        request, files = received
        between = os.fork()
        if not between:
            break
        os.waitpid(between, 0)
        for number in files:
            os.close(number)
    between = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == between:  # the kernel gives orphans to the owner, who asked for that
        time.sleep(0.0002)
    _take_over(request, files, requests, owner)
    return request


def _end_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_NAME, quick_start.NAME.encode())


def _prctl(option: int, value: Any) -> None:
    ctypes.CDLL(None).prctl(option, value)


def _stay_unseen(request: Request) -> None:
    """Keep nothing open that belongs to the program."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in {*request.targets, 0, 1, 2}:
        os.dup2(nothing, number)
        if number > 2:
            os.close(number)
    os.close(nothing)


def _take_over(request: Request, files: Sequence[int], requests: socket.socket, owner: int) -> None:
    """Become a process as the owner would have started it, and tell it how that went."""
    try:
        if os.getppid() != owner:
            raise ProcessLookupError(errno.ESRCH, "the owner is gone")
        os.chdir(request.folder)
        if _is_shadowed(request):
            quick_start.answer(requests, 0)
            os._exit(1)
        if request.new_session:
            os.setsid()
        if request.group >= 0:
            os.setpgid(0, request.group)
    except OSError as error:
        quick_start.answer(requests, -(error.errno or errno.EINVAL))
        os._exit(1)
    _take_limits(request)
    _take_variables(request.variables)
    _take_signals(request.ignored)
    if request.death_signal:
        _prctl(_PR_SET_PDEATHSIG, request.death_signal)
    _show_command(request.command)
    _prctl(_PR_SET_NAME, Path(sys.executable).name.encode())
    quick_start.answer(requests, os.getpid())
    requests.close()
    _take_files(request.targets, files)


def _is_shadowed(request: Request) -> bool:
    """Would a module of the working directory be imported instead of one that is imported already?"""
    if "-P" in quick_start.parse(request.command)[0]:
        return False
    here = [*Path().glob("*.py"), *(path.parent for path in Path().glob("*/__init__.py"))]
    return not {path.stem for path in here}.isdisjoint(_imported)


def _take_limits(request: Request) -> None:
    for kind, limits in request.limits.items():
        if resource.getrlimit(kind) != limits:
            resource.setrlimit(kind, limits)
    os.umask(request.umask)


def _take_variables(variables: Mapping[str, str]) -> None:
    for name in set(os.environ) - set(variables):
        del os.environ[name]
    os.environ.update(variables)


def _take_signals(ignored: Sequence[int]) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if number in ignored:
            signal.signal(number, signal.SIG_IGN)
        elif number == signal.SIGINT:
            signal.signal(number, signal.default_int_handler)
        else:
            python_ignores = number in (signal.SIGPIPE, signal.SIGXFSZ)
            signal.signal(number, signal.SIG_IGN if python_ignores else signal.SIG_DFL)


def _take_files(targets: Sequence[int], files: Sequence[int]) -> None:
    """Give each open file its number, and open the standard streams."""
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, max(targets) + 1) for number in files]
    for number in files:
        os.close(number)
    for target, number in zip(targets, moved, strict=True):
        os.dup2(number, target)
        os.close(number)
    for number in {0, 1, 2} - {*targets}:
        os.close(number)
    sys.stdin = sys.__stdin__ = _open_stream(0)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _open_stream(1)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _open_stream(2)  # type: ignore[misc]


def _open_stream(number: int) -> Any:
    """As Python opens its standard streams."""
    buffered = number == 0 or not _UNBUFFERED
    try:
        binary: Any = open(number, "wb" if number else "rb", -1 if buffered else 0, closefd=False)  # noqa: SIM115
    except OSError:
        return None
    (binary.raw if buffered else binary).name = ("<stdin>", "<stdout>", "<stderr>")[number]
    encoding, errors = _ENCODINGS[number]
    lines = buffered and (number == 2 or os.isatty(number))
    stream: Any = io.TextIOWrapper(
        binary, encoding, errors, newline="\n", line_buffering=lines, write_through=_UNBUFFERED
    )
    stream.mode = "w" if number else "r"
    return stream


def _show_command(command: Sequence[str]) -> None:
    """Replace what `ps` shows, which is the memory that the kernel put the arguments into."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    words = b"\0".join(map(os.fsencode, command))[: end - start - 1]
    ctypes.memmove(start, words.ljust(end - start, b"\0"), end - start)


def _run(command: Sequence[str]) -> None:
    """Run the program of a command line, in the module that code of `-c` runs in."""
    sys.orig_argv[:] = command
    options, kind, program, arguments = quick_start.parse(command)
    namespace = vars(sys.modules["__main__"])
    for name in quick_start.BOOT_NAMES:
        del namespace[name]
    sys.argv[:] = [kind, *arguments]
    if "-P" not in options:
        sys.path.insert(0, str(Path.cwd()) if kind == "-m" else "")
    if kind == "-m":
        runpy._run_module_as_main(program)  # type: ignore[attr-defined]
    else:
        exec(compile(program, "<string>", "exec"), namespace)
