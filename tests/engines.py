"""Tests of both engines; the NumPy engine learns only where the kernels are compiled."""

import pytest

from gymsolve.kernels import find_kernels

needs_kernels = pytest.mark.skipif(find_kernels().kind != "c", reason="there are no compiled kernels")
either_engine = pytest.mark.parametrize("engine", [pytest.param("numpy", marks=needs_kernels), "torch"])
