"""Numbers cut out of lines of JSON, without parsing the rest: a page reads 10⁵ records while somebody waits.

Only for lines that are spaced as gymsolve writes them. Whoever reads others parses them (`records.py`).
"""

import math
from collections.abc import Sequence
from typing import Any

from gymsolve.runs.files import to_json
from gymsolve.runs.records import parse_record

_NEAR = 200
"""Bytes by which a name may move from line to line: numbers have more digits or fewer."""


class Key:
    """A name in lines of JSON, looked for about where it was before."""

    __slots__ = ("_high", "_low", "_size", "_text", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._text = f"{to_json(name)}: ".encode(errors="replace")
        self._size = len(self._text)
        self._low, self._high = 0, _NEAR

    def end(self, line: bytes) -> int:
        """Where its value ends, with what stands behind it; 0 where the name is not in the line."""
        begin = line.find(self._text, self._low, self._high)
        if begin < 0:
            begin = self._search(line)
        return (line.find(b",", begin) + 1 or len(line)) if begin >= 0 else 0

    def value(self, line: bytes) -> float | None:
        """Its number, NaN for null; None where the name is not in the line, or has something else."""
        begin = line.find(self._text, self._low, self._high)
        if begin < 0:
            begin = self._search(line)
            if begin < 0:
                return None
        begin += self._size
        try:
            return float(line[begin : line.find(b",", begin)])
        except ValueError:  # the last of its line, or no number
            return _last(line, begin)

    def _search(self, line: bytes) -> int:
        begin = line.find(self._text)
        if begin >= 0:
            self._low, self._high = max(0, begin - _NEAR), begin + _NEAR
        return begin


def _last(line: bytes, begin: int) -> float | None:
    if line.startswith(b"null", begin):
        return math.nan
    try:
        return float(line[begin:-2]) if line.find(b",", begin) < 0 else None
    except ValueError:
        return None


def cut_record(line: bytes, keys: Sequence[Key]) -> dict[str, Any] | None:
    """Some numbers of a record, the first one a count; a line that is not spaced as ours is parsed."""
    first = keys[0].value(line)
    if first is None or not (line.endswith(b"}\n") and 0 <= first < 1 << 53):
        return parse_record(line)
    found: dict[str, Any] = {keys[0].name: int(first)}
    for key in keys[1:]:
        value = key.value(line)
        if value is not None and math.isfinite(value):
            found[key.name] = value
    return found
