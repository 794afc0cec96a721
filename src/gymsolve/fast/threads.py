"""How many threads NumPy's matrix products use.

A second thread makes small products many times slower. The usual way to say so, an environment
variable, works only before NumPy is first imported; a command that has imported it can still ask the
OpenBLAS that NumPy's wheels bring along.
"""

import ctypes
from pathlib import Path

import numpy as np

__all__ = ["set_blas_threads"]


def set_blas_threads(count: int) -> bool:
    """Use `count` threads from now on; False when this NumPy has no OpenBLAS of its own."""
    folder = Path(np.__file__).parent
    places = (folder.parent / "numpy.libs", folder / ".dylibs")
    found = [path for place in places for path in place.glob("*openblas*")]
    for path in found:
        # Already loaded by NumPy, so this is the same library, not a second copy.
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads"):
            try:
                library[name](ctypes.c_int(count))
            except AttributeError:  # the other kind of build
                continue
            return True
    return False
