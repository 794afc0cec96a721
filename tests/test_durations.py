"""No test file may take so long that a run of all tests waits for it."""

from durations import LIMIT, read_durations


def test_no_file_takes_longer_than_its_limit():
    """Split a file that does: its tests run in one process, one after the other."""
    assert not {name: seconds for name, seconds in read_durations().items() if seconds > LIMIT}
