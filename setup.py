"""The compiled kernels; everything else about this project is in pyproject.toml.

Without a compiler the build goes on without them, and the engine computes with NumPy alone.
"""

import hashlib
import platform
import sys
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("src/gymsolve")
SOURCES = [
    "fast/kernels.c",
    "fast/convolutions.c",
    "fast/vectors.h",
    "envs/families/classic_control/classic.c",
]
# For the machine that builds. No -ffast-math: a NaN must stay one.
FLAGS = ["-O3", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math"]
if platform.machine() in ("x86_64", "AMD64"):
    FLAGS += ["-march=native", "-mprefer-vector-width=512"]
elif platform.machine() in ("aarch64", "arm64"):
    FLAGS += ["-mcpu=native"]

texts = [Path(__file__).parent.joinpath(FOLDER, name).read_bytes() for name in SOURCES]
digest = hashlib.sha256(b"".join(texts))

setup(
    ext_modules=[
        Extension(
            "gymsolve._kernels",
            [str(FOLDER / name) for name in SOURCES if name.endswith(".c")],
            define_macros=[("SOURCE_DIGEST", f'"{digest.hexdigest()}"')],
            extra_compile_args=[] if sys.platform == "win32" else FLAGS,
            depends=["setup.py", str(FOLDER / "fast/vectors.h")],
            optional=True,
        )
    ]
)
