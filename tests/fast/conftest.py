"""Acting is the same in NumPy and by the compiled kernels; only the kernels learn."""

from collections.abc import Iterator

import pytest
from fast_pairs import computing_with

from engines import needs_kernels


@pytest.fixture(scope="module", params=["numpy", pytest.param("c", marks=needs_kernels)])
def either_kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    with computing_with(request.param):
        yield request.param
