"""Durations as people write them: `90`, `10min`, `2h`, `1h30min`."""

import re

_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,2})?)"
_UNIT = r"\s*(sec|s|min|m|h|d)"
_ALONE = re.compile(rf"{_NUMBER}(?:{_UNIT})?", re.IGNORECASE)
_PART = re.compile(rf"{_NUMBER}{_UNIT}\s*", re.IGNORECASE)
_SEVERAL = re.compile(rf"(?:{_PART.pattern})+", re.IGNORECASE)


def parse_seconds(text: str) -> float:
    """The seconds that `90`, `90s`, `10min`, `2h` or `1h30min` mean. Raises ValueError otherwise."""
    bare = text.strip()
    match = _ALONE.fullmatch(bare)
    if match is not None:
        return float(match[1]) * _UNITS[(match[2] or "").lower()]
    if _SEVERAL.fullmatch(bare) is None:
        raise ValueError(f"cannot read {bare[:40]!r} as a duration: write 90, 90s, 10min, 2h or 1h30min")
    return sum(float(part[1]) * _UNITS[part[2].lower()] for part in _PART.finditer(bare))
