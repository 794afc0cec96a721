"""Both arithmetics of the NumPy engine go through the same tests."""

from collections.abc import Iterator

import pytest
from fast_pairs import computing_with, needs_compiler


@pytest.fixture(scope="module", params=["numpy", pytest.param("c", marks=needs_compiler)])
def either_kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    with computing_with(request.param):
        yield request.param
