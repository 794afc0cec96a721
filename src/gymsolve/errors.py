"""Errors, one class per kind of mistake.

Every error is one sentence that names the place (a config path, a flag, a file) and, where there is
one, the fix. The command line prints it without a traceback and exits with `exit_code`: 2 when the
request was wrong, 1 when the work failed.

    GymsolveError              the work failed (1)
    ├── CheckpointError        a checkpoint is damaged, incomplete or of another shape
    ├── DivergenceError        weights, losses or values left the finite numbers
    ├── EnvFaultError          the environment raised, returned NaN or left its space
    │   └── EnvLostError       processes that hold environments died again and again
    ├── OwnCodeError           another part of the user's own raised, or returned what does not fit
    ├── RunDamagedError        files of a run cannot be read or written
    ├── UndeclaredMetricError  a record holds a name that is not in the catalogue
    ├── UnforeseenError        a mistake in gymsolve itself, most likely; there is a file to send
    └── UsageError             the request was wrong (2)
        ├── CodeRefusedError   code that a run from elsewhere names, or that lies among runs
        ├── ConfigError        a key, type, range or override
        ├── UnknownEnvError    no such environment or variant
        ├── UnknownRunError    no such run or checkpoint, or not a unique prefix
        ├── UnsupportedSpaceError  a space that no network here can serve
        └── MissingExtraError  an optional package is not installed
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

_LONGEST_WORD = 200
"""No name is longer, and comparing takes time that grows with the square of the length."""

BadKind = Literal[
    "observation", "reward", "action", "log_prob", "value", "advantage", "loss", "gradient", "weight"
]


@dataclass(frozen=True)
class BadNumber:
    """The place of a number that is NaN, infinite or too large for float32."""

    what: BadKind
    number: str
    """The number itself: `nan`, `inf`, `-inf`, `1e+300`; a string, because JSON has no such numbers."""
    env: int | None = None
    """Index of the environment, counted over all processes."""
    entry: str | None = None
    """Entry of the observation, or name of a weight or statistic."""
    element: tuple[int, ...] = ()
    """Index within that entry, or dimension of an action."""
    label: str | None = None
    """Name of that element, where it has one."""
    role: Literal["train", "eval"] = "train"
    env_steps: int | None = None
    """Environment steps of training by then."""
    vec_steps: int | None = None
    """Calls of `step` by then: of training, or of the evaluation in which it occurred."""

    @property
    def place(self) -> str:
        """Everything but the number and the environment, in words."""
        name = {"log_prob": "log-probability of the action"}.get(self.what, self.what)
        noun = " entry" if self.what == "observation" else ""
        entry = "" if self.entry is None else f"{noun} {self.entry!r}"
        index = ", ".join(map(str, self.element))
        label = f", {self.label}" if self.label else ""
        return f"the {name}{entry}" + (f" (element {index}{label})" if index else "")

    @property
    def moment(self) -> str:
        """The time of it, in words."""
        vector = "" if self.vec_steps is None else f"vector step {self.vec_steps}"
        steps = "" if self.env_steps is None else f"environment step {self.env_steps}"
        if self.role == "eval":
            own = f"{vector} of an evaluation" if vector else "an evaluation"
            return f" at {own}" + (f" after {steps}" if steps else "")
        return " at " + ", ".join(filter(None, (vector, steps))) if vector or steps else ""

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "element": list(self.element)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "BadNumber":
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**{**known, "element": tuple(data.get("element", ()))})


class GymsolveError(Exception):
    """A failure that is explained in one sentence; `hint` says what to do about it."""

    exit_code = 1

    def __init__(
        self, message: str, *, where: str | None = None, hint: str | None = None, bad: BadNumber | None = None
    ) -> None:
        self.message, self.where, self.hint = message, where, hint
        self.bad = bad
        """The number that caused it, if a number did."""
        super().__init__(message)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" {self.hint}" if self.hint else ""
        return f"{place}{self.message}{advice}"

    def __reduce__(self) -> tuple[object, ...]:  # errors cross process borders (evaluator, workers)
        return _rebuild, (type(self), self.message, self.where, self.hint, self.bad)


def _rebuild(
    kind: type[GymsolveError], message: str, where: str | None, hint: str | None, bad: BadNumber | None
) -> GymsolveError:
    return kind(message, where=where, hint=hint, bad=bad)


class CheckpointError(GymsolveError):
    """A checkpoint is damaged, incomplete, or does not fit the policy."""


class DivergenceError(GymsolveError):
    """Weights, losses or values left the finite numbers."""


class EnvFaultError(GymsolveError):
    """The environment raised, returned NaN, or left its declared space."""


class EngineDiedError(EnvFaultError):
    """The program behind an environment died: the episode is lost, and a reset starts another program."""


class EnvLostError(EnvFaultError):
    """Processes that hold environments died, or hung, again and again."""


class OwnCodeError(GymsolveError):
    """A part of the user's own (encoder, algorithm, observer) raised, or returned what does not fit."""


class RunDamagedError(GymsolveError):
    """Files of a run cannot be read or written."""


class UndeclaredMetricError(GymsolveError):
    """A record holds a name that the metric catalogue does not know."""


class UnforeseenError(GymsolveError):
    """An unforeseen failure (`cli/crash_report.py`)."""


class UsageError(GymsolveError):
    """The request itself was wrong."""

    exit_code = 2


class CodeRefusedError(UsageError):
    """Code that must not be imported: a run from elsewhere names it, or it lies among runs."""


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
        """The error about a package that an extra of gymsolve installs; without an extra, pip installs it."""
        wanted = f"gymsolve[{extra}]" if extra else package
        return cls(
            f"the package '{package}' is not installed.", hint=f"Install it with: pip install '{wanted}'"
        )


def did_you_mean(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """A question with the nearest known words; None where no word is `alike` enough."""
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower()[:_LONGEST_WORD], by_lower, n=3, cutoff=alike)
    if not near:
        return None
    return f"Did you mean {' or '.join(repr(by_lower[name]) for name in near)}?"
