"""Errors that nobody foresaw, faults of the machine, and terminals that are not there."""

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gymsolve.cli import main
from gymsolve.cli.crash_report import explain, redacted
from gymsolve.text import printable

BROKEN = """
import sys
from gymsolve.view import runs
from gymsolve.cli import main

def list_runs(*arguments, **options):
    raise {error}

runs.list_runs = list_runs
sys.argv = ["gymsolve", "runs", *{words!r}]
sys.exit(main())
"""


def broken(error: str, *words: str) -> str:
    """A gymsolve in which listing runs fails."""
    return BROKEN.format(error=error, words=list(words))


@pytest.fixture
def crashes(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where crash files go."""
    folder = place / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_an_unforeseen_error_is_a_sentence_with_a_file_to_send(shell, crashes, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "letmein-12345")
    monkeypatch.setenv("HARMLESS", "a-value-of-the-environment")
    error = "KeyError('api_key=hunter2 and letmein-12345')"
    answer = shell(code=broken(error, "word", "--runs-dir", "token=abcdef"))

    assert answer.code == 1
    (crash,) = crashes.iterdir()
    assert answer.err.startswith("error: gymsolve failed in a way that nobody foresaw: KeyError")
    assert len(answer.err.splitlines()) == 1
    assert str(crash) in answer.err
    text = crash.read_text()
    for held in ("# Versions\ngymsolve ", "numpy ", "'runs' 'word' '--runs-dir'", "Traceback", "KeyError"):
        assert held in text
    for secret in ("letmein", "hunter2", "abcdef", "a-value-of-the-environment"):
        assert secret not in text + answer.err
    assert stat.S_IMODE(crash.stat().st_mode) == 0o600


def test_a_program_hears_of_it_as_json(shell, crashes):
    answer = shell(code=broken("KeyError('x')", "--json"))

    assert (answer.code, answer.err) == (1, "")
    assert answer.json["error"]["exit_code"] == 1
    assert "gymsolve-crash-" in answer.json["error"]["hint"]


def test_debug_shows_the_traceback_of_the_unforeseen(shell, crashes):
    answer = shell(code=broken("KeyError('x')", "--debug"))

    assert answer.code == 1
    assert "Traceback" in answer.err
    assert "KeyError: 'x'" in answer.err


def test_nothing_is_hidden_from_who_calls_with_arguments(monkeypatch):
    monkeypatch.setattr("gymsolve.view.runs.list_runs", lambda *arguments, **options: {}["gone"])
    with pytest.raises(KeyError, match="gone"):
        main(["runs"])


def test_the_settings_of_a_training_are_in_the_file(shell, crashes):
    code = """
import sys
import gymsolve.training.session as session
from gymsolve.cli import main

def start_run(*arguments, **options):
    raise ZeroDivisionError

session.start_run = start_run
sys.argv = ["gymsolve", "train", "Bandit-v0", "--seed", "77", "-q"]
sys.exit(main())
"""
    assert shell(code=code).code == 1
    (crash,) = crashes.iterdir()
    settings = crash.read_text().partition("Settings: ")[2].splitlines()[0]
    assert json.loads(settings)["seed"] == 77


def test_a_run_in_the_background_answers_with_the_sentence(shell, crashes, place):
    (place / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'train' in sys.argv:\n"
        "    import gymsolve.training.planning.plan as plan\n"
        "    plan.plan_run = lambda *arguments: {}['gone']\n"
    )
    code = (
        f"import os, sys\nos.environ['PYTHONPATH'] = {str(place)!r}\n"
        "from gymsolve.cli import main\n"
        "sys.argv = ['gymsolve', 'train', 'Bandit-v0', '--detach']\n"
        "sys.exit(main())\n"
    )
    answer = shell(code=code)

    assert answer.code == 1
    assert answer.err.startswith("error: gymsolve failed in a way that nobody foresaw: KeyError")
    assert [path.name for path in crashes.iterdir() if "crash" in path.name]


FAULTS = [
    (MemoryError(), "there is not enough memory."),
    (MemoryError("Unable to allocate 3 GiB"), "there is not enough memory (Unable to allocate 3 GiB)."),
    (RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes"), "there is not enough memory"),
    (UnicodeEncodeError("ascii", "ä", 0, 1, "no"), "a text cannot be read or written in this encoding"),
    (OSError(errno.ENOSPC, "x", "place/file"), "place/file: the disk is full."),
    (PermissionError(errno.EACCES, "x", "place"), "place: permission denied."),
    (OSError(errno.EROFS, "x", "place"), "place: the file system is read-only."),
    (OSError(errno.ENAMETOOLONG, "x", "place"), "place: this name is too long for the file system."),
    (OSError(errno.EMFILE, "x"), "too many files are open."),
    (BlockingIOError(errno.EAGAIN, "x"), "the system refuses more processes."),
]


@pytest.mark.parametrize(("error", "sentence"), FAULTS, ids=lambda one: str(one)[:30])
def test_faults_of_the_machine_have_sentences_and_no_file(error, sentence, crashes):
    told = explain(error, [])

    assert str(told).startswith(sentence)
    assert told.exit_code == 1
    assert list(crashes.iterdir()) == []


def test_too_deep_a_recursion_has_a_sentence_and_a_file(crashes):
    told = explain(RecursionError("maximum recursion depth exceeded"), ["runs"])

    assert told.message == "something is nested too deeply to be read or computed."
    assert str(next(crashes.iterdir())) in str(told)


def test_where_no_crash_file_can_be_written_the_sentence_says_so(shell):
    answer = shell(code="import tempfile\ntempfile.tempdir = '/nowhere'\n" + broken("KeyError('x')"))

    assert answer.code == 1
    assert "A crash file could not be written" in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    "secret",
    [
        "token=S3CRET",
        "--password S3CRET",
        '"api_key": "S3CRET"',
        "https://me:S3CRET@host/x",
        "hf_S3CRETS3CRET",
        "'WANDB_API_KEY': 'S3CRET'",
        "env.kwargs.secret=S3CRET",
        "'--set' 'env.kwargs.auth_token=S3CRET'",
    ],
)
def test_secrets_are_left_out(secret):
    assert "S3CRET" not in redacted(f"before {secret} after")


def piped(place: Path, command: str) -> subprocess.CompletedProcess[str]:
    full = command.replace("gymsolve", f"{sys.executable} -m gymsolve")
    return subprocess.run(
        ["bash", "-c", full], cwd=place, capture_output=True, text=True, timeout=280, check=False
    )


GONE = "mkdir gone && cd gone && rmdir ../gone"
GONE_SAID = "the working directory has been deleted. Change to another one with: cd"
FULL = "error: the output cannot be written: no space left on device."
STREAMS = [
    ("gymsolve recipes > /dev/full", 1, FULL),
    ("PYTHONUNBUFFERED=1 gymsolve recipes > /dev/full", 1, FULL),
    ("gymsolve recipes --json > /dev/full", 1, FULL),
    ("gymsolve train Bandit-v0 --steps 64 -q > /dev/full", 1, f"{FULL} The run is complete; it is told by: "),
    ("gymsolve train Bandit-v0 --steps 64 -q --json > /dev/full", 1, f"{FULL} The run is complete"),
    ("gymsolve recipes >&-", 0, ""),
    ("gymsolve mcp <&-", 0, ""),
    ("gymsolve play FrozenLake-v1 --mode random --episodes 1 --no-browser <&- >&-", 0, ""),
    ("gymsolve runs show nothing 2>&-", 2, ""),
    ("PYTHONIOENCODING=ascii gymsolve runs show ä", 2, "error: "),
    (f"{GONE} && gymsolve runs", 1, f"error: {GONE_SAID}"),
    (f"{GONE} && gymsolve runs show x", 1, f"error: {GONE_SAID}"),
    (f"{GONE} && gymsolve train Bandit-v0", 1, f"error: {GONE_SAID}"),
    (f"{GONE} && gymsolve log add x", 1, f"error: {GONE_SAID}"),
    (f"{GONE} && gymsolve doctor", 1, f"error: {GONE_SAID}"),
    (f"{GONE} && gymsolve recipes", 0, ""),
    (f"{GONE} && GYMSOLVE_RUNS=/tmp gymsolve runs no-such-run", 0, ""),
    ("gymsolve runs show $'\\xff\\xfe'", 2, "error: "),
]


@pytest.mark.parametrize(("command", "code", "said"), STREAMS, ids=[command for command, *_ in STREAMS])
def test_streams_that_are_closed_full_or_narrow(place, command, code, said):
    done = piped(place, command)

    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == (code != 0 and bool(said))
    assert done.returncode == code


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
@pytest.mark.parametrize("words", ["train Bandit-v0 -q", "check Bandit-v0 --json"])
def test_a_limit_on_memory_that_leaves_no_room_is_named(place, words):
    """OpenBLAS ends a process that has too little for its buffers, with a line of its own."""
    done = piped(place, f"ulimit -v 150000 && gymsolve {words}")

    said = done.stdout if "--json" in words else done.stderr
    assert "there is not enough memory to import numpy: this process may use 146 MiB." in said
    assert "ulimit -v unlimited" in said
    assert "OpenBLAS" not in done.stderr
    assert done.returncode == 1
    assert list(place.iterdir()) == []


def test_reading_runs_needs_less_memory(place):
    done = piped(place, "ulimit -v 150000 && gymsolve runs --json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "to import a library"),
        (ImportError("numpy", name="x"), "nobody foresaw"),
        (RuntimeError("can't start new thread"), "the system refuses another thread."),
    ],
)
def test_libraries_that_find_no_memory(error, said, crashes):
    assert said in str(explain(error, []))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["recipes"], 141),
        (["--help"], 141),
        (["runs", "show", "x"], 2),
        (["recipes", "show", "x", "--json"], 2),
    ],
)
def test_a_reader_that_has_left_is_no_error(place, words, code):
    reader, writer = os.pipe()
    os.close(reader)  # before anything is written, so that nothing depends on who is faster
    command = [sys.executable, "-m", "gymsolve", *words]
    errors = place / "errors"
    with errors.open("wb") as stream:
        done = subprocess.run(command, cwd=place, stdout=writer, stderr=stream, timeout=280, check=False)
        assert done.returncode == code
        also = subprocess.run(command, cwd=place, stdout=writer, stderr=writer, timeout=280, check=False)
        assert also.returncode == code
    os.close(writer)
    assert "Traceback" not in errors.read_text()
    assert "ignored" not in errors.read_text()


def test_a_broken_pipe_that_is_not_ours_is_no_reader_that_left(shell, crashes):
    answer = shell(code=broken("BrokenPipeError(32, 'Broken pipe')"))

    assert answer.code == 1
    assert answer.err.startswith("error: ")
    assert len(list(crashes.iterdir())) == 1


def test_control_characters_are_spelled_out():
    assert printable("a\x1b[31mb\x07\x9b\u202e\udcff\tc\nd") == "a\\x1b[31mb\\x07\\x9b\\u202e\\udcff\tc\nd"
    assert json.loads(printable(json.dumps("a\x9b\udcff", ensure_ascii=False), json=True)) == "a\x9b\udcff"


def test_names_cannot_command_the_terminal(cli, trained, place):
    run = place / "runs" / trained
    told = json.loads((run / "run.json").read_text())
    evil = "\x1b]0;evil\x07\x1b[2J\x9b31m"
    (run / "run.json").write_text(json.dumps(told | {"name": evil, "env_id": evil, "reason": evil}))
    (place / "recipes").mkdir()
    (place / "recipes" / f"{os.urandom(2).hex()}\x1b[2J.yaml").write_text(
        'env: {id: "x\\e[2J"}\ndescription: "\\e[31m"\nvariants: {ppo: {}}\n'
    )
    for words in (
        ("runs",),
        ("runs", "show", trained),
        ("recipes",),
        ("recipes", "check"),
        ("report", trained),
        ("diagnose", trained),
        ("eval", trained, "--episodes", "1"),
        ("train", evil),
        ("runs", evil),
        ("train", "Bandit-v0", "--set", f"{evil}=1"),
    ):
        for flags in ((), ("--json",)):
            answer = cli(*words, *flags)
            assert not {"\x1b", "\x07", "\x9b"} & {*answer.out, *answer.err}, words


def test_commands_print_only_through_what_spells_out():
    folder = Path(main.__code__.co_filename).parent
    for path in (folder / "commands").glob("*.py"):
        words = path.read_text().replace("_print(", "")
        assert " print(" not in words, f"{path.name}: use say()"
