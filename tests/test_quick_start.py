"""A program that starts as a copy of a preloaded Python is the program that a new Python would be."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from processes import children_of, is_running, soon_gone
from quick_start import NAME, _Preloaded, quick_fork_exec, real_fork_exec

BEGINNING = "from multiprocessing.spawn import spawn_main\n"
"""How code begins that a copy may run."""
FACTS = """
import json, os, resource, signal, sys, threading
open_files = sorted(os.listdir("/proc/self/fd"))
print(json.dumps({
    "parent": os.getppid(), "leads": [os.getpid() in (os.getsid(0),), os.getpid() in (os.getpgid(0),)],
    "folder": os.getcwd(), "variables": dict(os.environ), "umask": os.umask(0),
    "arguments": [sys.argv, sys.orig_argv, open("/proc/self/cmdline").read().strip(chr(0)).split(chr(0))],
    "name": open("/proc/self/comm").read(), "path": sys.path, "main": sorted(vars(sys.modules["__main__"])),
    "streams": [
        [s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.write_through, s.fileno(), str(s.buffer)]
        for s in (sys.stdin, sys.stdout, sys.stderr)
    ],
    "handlers": [str(signal.getsignal(number)).split(" at ")[0] for number in sorted(signal.valid_signals())],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "limits": resource.getrlimit(resource.RLIMIT_NOFILE), "files": len(open_files),
    "threads": threading.active_count(), "torch": "torch" in sys.modules, "input": sys.stdin.read(),
}))
"""


@contextmanager
def starting_by(function: Callable[..., int]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subprocess._fork_exec", function)
        patch.setattr("_posixsubprocess.fork_exec", function)
        yield


@pytest.fixture(params=[real_fork_exec, quick_fork_exec], ids=["new", "copy"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Programs start in one way and in the other."""
    with starting_by(request.param):
        yield


def command(code: str) -> list[str]:
    return [sys.executable, "-c", BEGINNING + code, "word", "two words"]


def run(code: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(code), capture_output=True, text=True, check=False, **options)


def facts(**options: Any) -> Any:
    done = run(FACTS, **options)
    assert not done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "options",
    [
        {"input": "something to read"},
        {"start_new_session": True, "cwd": "/", "env": {**os.environ, "HOME": "/nowhere", "NEW": "1"}},
        {"process_group": 0, "stdin": subprocess.DEVNULL},
    ],
    ids=["as it is", "in a session of its own", "in a group of its own"],
)
def test_a_copy_gets_what_a_new_python_gets(options):
    with starting_by(quick_fork_exec):
        facts()  # an earlier test may have killed the preloaded Python with everything else
    limits, umask = resource.getrlimit(resource.RLIMIT_NOFILE), os.umask(0o027)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    ignored = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[0] // 2, limits[1]))
    try:
        with starting_by(real_fork_exec):
            new = facts(**options)
        with starting_by(quick_fork_exec):
            copy = facts(**options)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        signal.signal(signal.SIGUSR2, ignored)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.umask(umask)
    assert new.pop("files") + 1 == copy.pop("files")  # the socket through which it starts copies itself
    assert copy == new
    assert copy["parent"] == os.getpid()
    assert not copy["torch"]


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("import sys; sys.exit(3)", 3),
        ("raise ValueError('no')", 1),
        ("import sys; sys.exit('a last word')", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_it_ends_alike(code, ends):
    with starting_by(real_fork_exec):
        new = run(code)
    with starting_by(quick_fork_exec):
        copy = run(code)
    assert copy.returncode == new.returncode == ends
    assert copy.stdout == new.stdout
    assert copy.stderr.splitlines()[-1:] == new.stderr.splitlines()[-1:]


LAST_ACTS = """
import atexit, pathlib, sys, threading
class Last:
    def __del__(self):
        print("deleted")
last = Last()
def leave_a_cycle():
    cycle = [Last()]
    cycle.append(cycle)
leave_a_cycle()
file = open(sys.argv[1] + ".txt", "w")
file.write("was not closed")
atexit.register(print, "at exit")
threading.Thread(target=lambda: print("thread")).start()
"""


@pytest.mark.usefixtures("way")
def test_nothing_is_lost_at_the_end(tmp_path):
    done = run(LAST_ACTS, cwd=tmp_path)
    assert sorted(done.stdout.split("\n")) == ["", "at exit", "deleted", "deleted", "thread"]
    assert (tmp_path / "word.txt").read_text() == "was not closed"


@pytest.mark.usefixtures("way")
def test_whoever_starts_it_can_look_after_it():
    code = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read(); os.abort()"
    with subprocess.Popen(command(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert int(program.stdout.readline()) == program.pid
        assert program.pid in children_of(os.getpid())
        assert program.poll() is None
        program.stdin.close()
        assert program.wait() == -signal.SIGABRT


@pytest.mark.usefixtures("way")
def test_open_files_keep_their_numbers():
    reader, writer = os.pipe()
    code = f"import os; os.write({writer}, b'here'); os.close({writer})"
    done = run(code, pass_fds=[writer])
    os.close(writer)
    assert (done.returncode, os.read(reader, 100)) == (0, b"here")
    os.close(reader)


@pytest.mark.usefixtures("way")
def test_what_it_starts_is_a_child_of_its_own_and_ends_as_it_wants(tmp_path):
    inner = BEGINNING + "import os, time; print(os.getppid(), flush=True); time.sleep(600)"
    outer = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {inner!r}], stdout=subprocess.PIPE, text=True)
print(os.getpid() == int(child.stdout.readline()), child.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen(command(outer), stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        parent, child = program.stdout.readline().split()
        assert parent == "True"
        assert children_of(program.pid) == [int(child)]
        program.kill()
    assert is_running(int(child))  # nobody told it to end
    os.kill(int(child), signal.SIGKILL)
    assert soon_gone(int(child))


def preloaded_ones() -> list[int]:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    alive = [int(pid) for pid in children if is_running(int(pid))]
    return [pid for pid in alive if Path(f"/proc/{pid}/comm").read_text().strip() == NAME]


def test_another_one_is_preloaded_when_the_first_was_killed():
    with starting_by(quick_fork_exec):
        facts()
        before = preloaded_ones()  # copies of others that are orphans may be among them
        assert before
        for process in before:
            os.kill(process, signal.SIGKILL)
            assert soon_gone(process)
        assert facts()["parent"] == os.getpid()  # by a new Python
        assert facts()["parent"] == os.getpid()
        after = preloaded_ones()
        assert after
        assert not set(after) & set(before)


TORCH = """
import sys
before = set(sys.modules)
import torch
import torch.nn.functional as functional
assert not any(name.startswith("torch") for name in before)
assert sys.modules["torch"].__spec__.origin == torch.__file__
assert {"torch", "torch.nn", "torch.nn.functional"} <= set(sys.modules)
print(functional.relu(torch.tensor([-1.0, 2.0])).tolist(), torch.get_num_threads())
"""


@pytest.mark.usefixtures("way")
def test_torch_is_there_once_it_is_imported():
    done = run(TORCH)
    assert (done.stdout, done.stderr) == ("[0.0, 2.0] 1\n", "")


def test_what_an_interpreter_reads_when_it_starts_needs_a_new_one():
    code = "import sys; print(sys.flags.hash_randomization, sys.flags.optimize)"
    variables = {"PYTHONHASHSEED": "0", "PYTHONOPTIMIZE": "2"}
    with starting_by(quick_fork_exec):
        assert run(code, env={**os.environ, **variables}).stdout == "0 2\n"


def test_other_variables_of_the_first_program_leave_the_next_ones_copies(monkeypatch):
    own = _Preloaded()
    monkeypatch.setattr("quick_start._preloaded", own)
    with starting_by(quick_fork_exec):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", "/nowhere")
            first = facts()
        second = facts()
    own.forget()
    assert "/nowhere" in first["path"]
    assert "/nowhere" not in second["path"]
    assert first["files"] + 1 == second["files"]  # a copy has a socket to start copies with


CV2 = """
import json, os, subprocess, sys
import cv2
print(os.environ["LD_LIBRARY_PATH"])
sys.stdout.flush()
subprocess.run(json.loads(sys.argv[1]), check=True)
"""


def test_programs_are_copies_also_after_cv2_was_imported():
    with starting_by(quick_fork_exec):
        before = facts()
        words = json.dumps(command(FACTS))
        done = subprocess.run([*command(CV2)[:-2], words], capture_output=True, text=True, check=True)
    changed, _, after = done.stdout.partition("\n")
    assert changed != os.environ.get("LD_LIBRARY_PATH")
    assert json.loads(after)["variables"]["LD_LIBRARY_PATH"] == changed
    assert json.loads(after)["files"] == before["files"]  # with the socket of a copy


def test_libraries_in_another_folder_need_a_new_python(tmp_path):
    with starting_by(quick_fork_exec):
        copy = facts()
        new = facts(env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert new["files"] + 1 == copy["files"]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("options", [[], ["-P"]], ids=["with the working directory", "without it"])
def test_a_module_of_the_working_directory_may_hide_another(options, tmp_path):
    (tmp_path / "gymsolve.py").write_text("print('of the working directory')")
    words = [sys.executable, *options, "-m", "gymsolve", "--version"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("gymsolve " if options else "of the working directory")
