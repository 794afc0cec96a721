"""Unforeseen errors, as one sentence and a file to send.

The file holds what is needed to find the mistake: versions, the command line, the traceback, and the settings
where they were known (`settings_known`). It holds no environment variables, and `redacted` takes passwords,
keys and tokens out of the rest. Faults of the machine (memory, disk, permissions) have sentences of their own
and need no file.
"""

import os
import platform
import re
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gymsolve.cli.memory_limit import is_about_memory, too_little
from gymsolve.errors import GymsolveError, UnforeseenError
from gymsolve.runs.files import is_known_fault, os_sentence

_PACKAGES = ("gymsolve", "numpy", "torch", "gymnasium", "pydantic", "typer", "ruamel.yaml", "safetensors")
_SECRET = (
    r"(?:api[_-]?key|access[_-]?key|token|secret|passw(?:or)?d|passphrase|credential|authorization|auth)"
)
_PATTERNS = (
    # name=value, "name": "value", --name value
    (re.compile(rf"(?i)([\w.-]*{_SECRET}[\w-]*[\"']?\s*[:=]\s*[\"']?)([^\s\"',}}\]]+)"), r"\1***"),
    (re.compile(rf"(?i)(--[\w-]*{_SECRET}[\w-]*[\"']?,?\s+[\"']?)([^\s\"',}}\]]+)"), r"\1***"),
    (re.compile(r"(://[^/\s:@]*:)[^/\s@]+@"), r"\1***@"),
    (re.compile(r"\b(?:hf_|ghp_|gho_|github_pat_|sk-|xox[abp]-|AKIA)[\w-]{8,}"), "***"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "***"),  # a key of W&B
)
_PRIVATE = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST_SECRET = 6
_LONGEST_MESSAGE = 300


def explain(error: Exception, arguments: Sequence[str]) -> GymsolveError:
    """The error as one sentence; where it may be a mistake in gymsolve, with a file to send."""
    machine = _fault_of_the_machine(error)
    if machine is not None:
        return machine
    hint = "`--debug` shows the traceback."
    try:
        crash = write_crash_file(error, arguments)
    except (OSError, MemoryError) as second:
        reason = str(second) if isinstance(second, MemoryError) else second.strerror or second
        hint = f"A crash file could not be written ({reason}); {hint}"
    else:
        hint = f"Please report it and attach {crash} (it holds no environment variables); {hint}"
    return UnforeseenError(_describe(error), hint=hint)


def names_a_place(error: Exception) -> bool:
    """True for a path that cannot be read or written."""
    return isinstance(error, OSError) and is_known_fault(error) and error.filename is not None


def _fault_of_the_machine(error: Exception) -> GymsolveError | None:
    if isinstance(error, ImportError) and is_about_memory(error):
        return too_little("to import a library")
    if is_about_memory(error):
        return GymsolveError(
            f"there is not enough memory{_in_brackets(error)}.",
            hint="Fewer copies (env.num_envs), shorter rollouts (algo.num_steps) or a smaller network "
            "(net.hidden) need less.",
        )
    if type(error).__name__ == "OutOfMemoryError":  # torch's, which is not imported here
        return GymsolveError(
            "the GPU has not enough memory.",
            hint="Use --set device=cpu, more minibatches (algo.num_minibatches) or a smaller network.",
        )
    if "can't start new thread" in str(error):
        return GymsolveError(
            "the system refuses another thread.",
            hint="End other programs, or raise the limits of this shell: ulimit -u and ulimit -v",
        )
    if isinstance(error, UnicodeError):
        return GymsolveError(
            f"a text cannot be read or written in this encoding{_in_brackets(error)}.",
            hint="Save files as UTF-8; PYTHONUTF8=1 makes Python use it everywhere.",
        )
    if isinstance(error, OSError):
        return os_sentence(error) if is_known_fault(error) else None
    return None


def _describe(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "something is nested too deeply to be read or computed."
    place = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in place if f"{os.sep}gymsolve{os.sep}" in frame.filename]
    frame = ours[-1] if ours else place[-1] if place else None
    where = "" if frame is None else f" at {Path(frame.filename).name}:{frame.lineno}"
    name = f"{type(error).__name__}{_in_brackets(error)}"
    return f"gymsolve failed in a way that nobody foresaw: {name}{where}."


def _in_brackets(error: Exception) -> str:
    text = " ".join(redacted(str(error)).split())
    if len(text) > _LONGEST_MESSAGE:
        text = f"{text[:_LONGEST_MESSAGE]}…"
    return f" ({text})" if text else ""


def write_crash_file(error: BaseException, arguments: Sequence[str]) -> Path:
    """Write versions, command line and traceback to a new file that only its owner can read."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    handle, name = tempfile.mkstemp(prefix=f"gymsolve-crash-{stamp}-", suffix=".txt")
    os.close(handle)
    text = redacted(_crash_text(error, arguments))
    Path(name).write_text(text, encoding="utf-8", errors="backslashreplace")
    return Path(name)


def _crash_text(error: BaseException, arguments: Sequence[str]) -> str:
    versions = "".join(f"{name} {_version(name)}\n" for name in _PACKAGES)
    system = f"python {platform.python_version()}\nsystem {platform.platform()}\n"
    # Notes on the error, such as the settings, are part of this.
    trace = "".join(traceback.format_exception(error))
    command = " ".join(map(repr, ["gymsolve", *arguments]))
    return f"# Versions\n{versions}{system}\n# Command\n{command}\n\n# Traceback\n{trace}"


def _version(package: str) -> str:
    with suppress(PackageNotFoundError):
        return version(package)
    return "not installed"


def redacted(text: str) -> str:
    """The text without keys, tokens and passwords, and without the values of such environment variables."""
    for name, value in os.environ.items():
        if _PRIVATE.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    home = str(Path("~").expanduser())
    return text.replace(home, "~") if len(home) > 1 else text


@contextmanager
def settings_known(settings: Any) -> Iterator[None]:
    """Add the settings to an unforeseen error inside, for the crash file."""
    try:
        yield
    except GymsolveError:
        raise
    except Exception as error:  # raised again, with a note
        error.add_note(f"Settings: {settings.model_dump_json()}")
        raise
