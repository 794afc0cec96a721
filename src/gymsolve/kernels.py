"""The compiled kernels, and the reason where they cannot be used.

The NumPy engine needs them to train; without them it acts in NumPy, and torch trains.

Installing the package builds the kernels from its C files, for the machine that installs it. A build of
another version of the source is never used. This module does not import NumPy, since `gymsolve doctor` uses
it too.
"""

import functools
import hashlib
import importlib
import os
from pathlib import Path
from types import ModuleType
from typing import Literal, NamedTuple

from gymsolve.errors import UsageError

VARIABLE = "GYMSOLVE_KERNELS"
"""Set to `numpy` to do without the compiled kernels, to `c` to insist on them."""

_REBUILD = "With a C compiler: pip install --force-reinstall --no-deps gymsolve; in a clone, -e . instead"

_MODULE = "gymsolve._kernels"
_SOURCES = (
    "fast/kernels.c",
    "fast/convolutions.c",
    "fast/vectors.h",
    "envs/families/classic_control/classic.c",
)


class Kernels(NamedTuple):
    """The arithmetic in use, and the reason where it is not the compiled one."""

    kind: Literal["c", "numpy"]
    obstacle: str | None = None
    """The reason against the compiled ones, to follow "the compiled kernels"; None if there is none."""
    fix: str | None = None
    built: bool = False


def find_kernels() -> Kernels:
    """The kernels that a policy built now would compute with."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "c", "numpy"):
        raise UsageError(f"{wanted!r} is no kind of kernels.", where=VARIABLE, hint="Use c or numpy.")
    kernels = _compiled()
    if wanted == "numpy":
        return Kernels("numpy", built=kernels.built)
    if wanted == "c" and kernels.kind != "c":
        raise UsageError(f"the compiled kernels {kernels.obstacle}.", where=VARIABLE, hint=kernels.fix)
    return kernels


def load_kernels() -> ModuleType | None:
    """The compiled kernels, or None where NumPy is to be used."""
    if find_kernels().kind == "numpy":
        return None
    return importlib.import_module(_MODULE)


def require_kernels() -> ModuleType:
    """The compiled kernels; an error where they cannot be used."""
    kernels = load_kernels()
    if kernels is None:
        reason = find_kernels()
        raise UsageError(f"the compiled kernels {reason.obstacle or 'are turned off'}.", hint=reason.fix)
    return kernels


@functools.cache
def _compiled() -> Kernels:
    try:
        compiled = importlib.import_module(_MODULE)
    except ModuleNotFoundError:
        return Kernels("numpy", "are not built", _REBUILD)
    except ImportError as error:
        return Kernels("numpy", f"cannot be loaded ({error})", _REBUILD, built=True)
    paths = [Path(__file__).parent / name for name in _SOURCES]
    # An installed package may come without the source; it was built together with the rest.
    if all(path.exists() for path in paths):
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
        if digest != compiled.SOURCE:
            return Kernels("numpy", "were built from another version of their source", _REBUILD, built=True)
    return Kernels("c", built=True)
