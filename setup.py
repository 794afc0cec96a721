"""The compiled kernels; everything else about this project is in pyproject.toml.

Without a compiler the build goes on without them, and the engine computes with NumPy alone.
"""

import hashlib
import sys
from pathlib import Path

from setuptools import Extension, setup

SOURCE = "src/gymsolve/fast/kernels.c"
# For the machine that builds. No -ffast-math: a NaN must stay one.
FLAGS = ["-O3", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-march=native"]

digest = hashlib.sha256(Path(__file__).with_name("src").joinpath("gymsolve/fast/kernels.c").read_bytes())

setup(
    ext_modules=[
        Extension(
            "gymsolve.fast._kernels",
            [SOURCE],
            define_macros=[("SOURCE_DIGEST", f'"{digest.hexdigest()}"')],
            extra_compile_args=[] if sys.platform == "win32" else FLAGS,
            optional=True,
        )
    ]
)
