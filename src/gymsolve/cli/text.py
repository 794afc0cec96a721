"""Words of the command line; they are those of the reports too, and live in `gymsolve.text`."""

from gymsolve.text import age, count, duration, number, plural, score, setting, size

__all__ = ["age", "count", "duration", "number", "plural", "score", "setting", "size"]
