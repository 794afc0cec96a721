"""What can go wrong, one class per kind of mistake.

Every error is one sentence that names the place (a config path, a flag, a file) and, where there is
one, the fix. The command line prints it without a traceback and exits with `exit_code`: 2 when the
request was wrong, 1 when the work failed.

    GymsolveError              the work failed (1)
    ├── CheckpointError        a checkpoint is damaged, incomplete or of another shape
    ├── DivergenceError        weights, losses or values left the finite numbers
    ├── EnvFaultError          the environment raised, returned NaN or left its space
    ├── RunDamagedError        files of a run cannot be read or written
    ├── UndeclaredMetricError  a record holds a name that is not in the catalogue
    └── UsageError             the request was wrong (2)
        ├── ConfigError        a key, type, range or override
        ├── UnknownEnvError    no such environment or variant
        ├── UnknownRunError    no such run or checkpoint, or not a unique prefix
        ├── UnsupportedSpaceError  a space that no network here can serve
        └── MissingExtraError  an optional package is not installed
"""

import difflib
from collections.abc import Iterable

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DivergenceError",
    "EnvFaultError",
    "GymsolveError",
    "MissingExtraError",
    "RunDamagedError",
    "UndeclaredMetricError",
    "UnknownEnvError",
    "UnknownRunError",
    "UnsupportedSpaceError",
    "UsageError",
    "did_you_mean",
]


class GymsolveError(Exception):
    """A failure that is explained in one sentence; `hint` says what to do about it."""

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" {self.hint}" if self.hint else ""
        return f"{place}{self.message}{advice}"

    def __reduce__(self) -> tuple[object, ...]:  # errors cross process borders (evaluator, workers)
        return _rebuild, (type(self), self.message, self.where, self.hint)


def _rebuild(kind: type[GymsolveError], message: str, where: str | None, hint: str | None) -> GymsolveError:
    return kind(message, where=where, hint=hint)


class CheckpointError(GymsolveError):
    """A checkpoint is damaged, incomplete, or does not fit the policy."""


class DivergenceError(GymsolveError):
    """Weights, losses or values left the finite numbers."""


class EnvFaultError(GymsolveError):
    """The environment raised, returned NaN, or left its declared space."""


class RunDamagedError(GymsolveError):
    """Files of a run cannot be read or written."""


class UndeclaredMetricError(GymsolveError):
    """A record holds a name that the metric catalogue does not know."""


class UsageError(GymsolveError):
    """The request itself was wrong."""

    exit_code = 2


class ConfigError(UsageError):
    """An unknown key, a wrong type, a value out of range, or an override that does not parse."""


class UnknownEnvError(UsageError):
    """No environment, recipe or variant of that name."""


class UnknownRunError(UsageError):
    """No run or checkpoint of that name, or the prefix is not unique."""


class UnsupportedSpaceError(UsageError):
    """An observation or action space that no network here can serve."""


class MissingExtraError(UsageError):
    """An optional package is needed and not installed."""

    @classmethod
    def of(cls, package: str, extra: str) -> "MissingExtraError":
        return cls(
            f"the package '{package}' is not installed.",
            hint=f"Install it with: pip install 'gymsolve[{extra}]'",
        )


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A question naming the nearest known words, or None when nothing is near."""
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=3, cutoff=0.6)
    if not near:
        return None
    return f"Did you mean {' or '.join(repr(by_lower[name]) for name in near)}?"
