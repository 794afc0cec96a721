"""A request for one run, the same for the command line, Python, servers and queues.

A request knows neither where runs are kept nor how progress is shown: the place that trains it (`place.py`)
and the caller decide that. It is plain data: words of a command line, or JSON.
"""

import os
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from gymsolve.errors import UsageError
from gymsolve.runs.files import to_json

if TYPE_CHECKING:
    from gymsolve.recipes.layers import Flagged

Verb = Literal["train", "resume", "fork"]
Settings = Mapping[str, Any] | Sequence[str]
VERBS: tuple[Verb, ...] = get_args(Verb)
MOST_SEEDS = 1000

_OPTIONS = {
    "steps": "--steps",
    "max_seconds": "--max-seconds",
    "seeds": "--seeds",
    "start_from": "--from",
    "track": "--track",
    "profile": "--profile",
    "fresh_optimizer": "--fresh-optimizer",
    "trust": "--trust",
    "until": "--until",
    "trial": "--trial",
    "at_once": "--at-once",
    "seed": "--seed",
}
"""Options by field, in the order of the words; the seed is last, as the commands of a group differ in it."""
_SWITCHES = ("profile", "fresh_optimizer", "trust")
"""Options without a value."""
_NUMBERS = ("seeds", "until", "at_once", "seed")
_ONLY: dict[str, tuple[Verb, ...]] = {
    "seed": ("train", "fork"),
    "seeds": ("train",),
    "at_once": ("train", "resume"),
    "start_from": ("train",),
    "fresh_optimizer": ("resume",),
    "trust": ("resume", "fork"),
}
"""Fields that not every verb takes."""
_DOOR = {"--json", "--quiet", "-q", "--detach", "--confirm", "--yes", "-y", "--debug"}
"""Switches of a command line that say how a run is shown."""


@dataclass(frozen=True)
class RunRequest:
    """One run to begin, to resume, or to fork from another."""

    verb: Verb
    env_or_ref: str
    """ENV[:VARIANT] for `train`, RUN[@CHECKPOINT] otherwise."""
    overrides: tuple[str, ...] = ()
    """Settings as `--set` takes them: `path=value`. `spell_settings` makes them of a mapping."""
    seed: int | None = None
    seeds: int | None = None
    """Train so many seeds as one group, of which `seed` is the first; None is one run."""
    steps: int | str | None = None
    """Budget of the whole run: 200000, 200k."""
    max_seconds: float | str | None = None
    """Time limit of the command, or of each seed: 90, 10min, 2h."""
    start_from: str | None = None
    """RUN[@CHECKPOINT] whose weights a new run begins with."""
    track: str | None = None
    """Names of trackers, separated by commas."""
    profile: bool = False
    fresh_optimizer: bool = False
    trust: bool = False
    """Import the code that a run from elsewhere names."""
    until: int | None = None
    """Environment steps at which a trial ends; its schedules go by the budget. One that is no fork goes on to
    its next evaluation."""
    trial: str | None = None
    """The command that makes this run a trial, such as `gymsolve fix kl_high`: the source of its settings. A
    trial is listed with its origin and never `@last`. A fork without a checkpoint begins at step 0."""
    at_once: int | None = None
    """Train at most so many of the seeds at a time; None is one per core."""

    def __post_init__(self) -> None:
        if isinstance(self.steps, str) and re.fullmatch("0|[1-9][0-9]{0,18}", self.steps):
            object.__setattr__(self, "steps", int(self.steps))
        object.__setattr__(self, "max_seconds", _plain_number(self.max_seconds))
        self._require_fitting_fields()
        if self.env_or_ref.startswith("-"):  # it would be read as an option
            if self.verb == "train":
                require_env(self.env_or_ref)
            raise UsageError(f"{self.env_or_ref!r} names no run.", where="run", hint="Such as @last.")
        for word in self.words():
            _require_word(word)

    def _require_fitting_fields(self) -> None:
        if self.verb not in VERBS:
            hint = f"One of {', '.join(VERBS)}."
            raise UsageError(f"{self.verb!r} begins no run.", where="verb", hint=hint)
        for name, verbs in _ONLY.items():
            if _is_given(vars(self)[name]) and self.verb not in verbs:
                raise UsageError(f"`gymsolve {self.verb}` does not take this.", where=name)
        if self.seeds is not None and not 2 <= self.seeds <= MOST_SEEDS:
            hint = f"Give 2 to {MOST_SEEDS:,}, or nothing for one."
            raise UsageError(f"{self.seeds} is no number of seeds to compare.", where="seeds", hint=hint)
        several = self.seeds is not None or self.env_or_ref.startswith("group:")
        if self.at_once is not None and (not several or self.at_once < 1):
            raise UsageError("one or more of several seeds train at once.", where="at_once")
        if self.trial is None and self.until is not None:
            raise UsageError("a trial has an end and a command that it is of.", where="trial")
        if self.verb == "fork" and (self.until is None) != (self.trial is None):
            raise UsageError("a trial has an end and a command that it is of.", where="trial")
        if self.trial is not None and self.seeds is not None:
            raise UsageError("a trial is one run.", where="trial")

    # ---------------------------------------------------------------------------------- words

    def words(self) -> list[str]:
        """The words after `gymsolve` in the command that does the same."""
        words = [self.verb, self.env_or_ref, *setting_words(self.overrides)]
        for name, option in _OPTIONS.items():
            value = vars(self)[name]
            if name in _SWITCHES:
                words += [option] if value else []
            else:
                words += flag_words(option, value)
        return words

    @classmethod
    def from_words(cls, words: Sequence[str]) -> Self:
        """The request that a command line makes; options on how a run is shown or kept are left out."""
        rest, given, overrides, named = deque(words), dict[str, Any](), list[str](), list[str]()
        fields_of = {option: name for name, option in _OPTIONS.items()}
        while rest:
            word = rest.popleft()
            option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
            name = fields_of.get(option)
            if name in _SWITCHES and not equals:
                given[name] = True
            elif (name is not None and name not in _SWITCHES) or option in ("--set", "--runs-dir"):
                if not equals and not rest:
                    raise UsageError("a value is missing.", where=option)
                value = value if equals else rest.popleft()
                if option == "--set":
                    overrides.append(value)
                elif name is not None:
                    given[name] = _read_value(option, name, value)
            elif word.startswith("-") and word not in _DOOR:
                raise UsageError("no run is begun with this option.", where=option)
            elif word not in _DOOR:
                named.append(word)
        if len(named) != 2:
            raise UsageError("a run is begun with a verb and one name.", hint="Such as: train CartPole-v1")
        return cls(named[0], named[1], tuple(overrides), **given)  # type: ignore[arg-type]  # checked there

    # ----------------------------------------------------------------------------------- JSON

    def to_json(self) -> dict[str, Any]:
        """Plain data; fields at their defaults are left out."""
        fields = vars(self) | {"overrides": list(self.overrides)}
        return {name: value for name, value in fields.items() if _is_given(value)}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """The request that `to_json` wrote."""
        if not isinstance(data, dict) or not {"verb", "env_or_ref"} <= set(data):
            raise UsageError("this is no request for a run.", hint="It has a verb and an env_or_ref.")
        for name, value in data.items():
            if not _fits(name, value):
                raise UsageError("a request for a run has no such value.", where=str(name))
        return cls(**{**data, "overrides": tuple(data.get("overrides", ()))})

    # ------------------------------------------------------------------------------- settings

    def settings(self) -> "Flagged":
        """All settings that the request changes; an option of its own wins over `--set`."""
        from gymsolve.recipes import parse_overrides  # pydantic takes longer than a whole start
        from gymsolve.recipes.layers import Flagged

        steps = None if self.steps is None else str(self.steps)  # a text, as of every option
        seconds = None if self.max_seconds is None else str(self.max_seconds)
        options = {"steps": steps, "max_seconds": seconds, "seed": self.seed, "track": self.track}
        given = {path: value for path, value in options.items() if value is not None}
        chosen, flags = parse_overrides(self.overrides), {path: _OPTIONS[path] for path in given}
        if self.trial is not None:  # nobody has typed these
            flags = dict.fromkeys(chosen, self.trial) | flags
        return Flagged(chosen | given, flags)


def require_env(name: str) -> None:
    """Refuse a text that cannot name an environment."""
    if name.startswith("-") or not name.strip():
        raise UsageError(f"{name!r} names no environment.", where="env", hint="Such as CartPole-v1.")


def spell_settings(settings: Settings) -> tuple[str, ...]:
    """Settings as texts for `--set`."""
    if not isinstance(settings, Mapping):
        return tuple(settings)
    for path in settings:
        if "=" in path or path != path.strip():  # it would name another setting, or hide its value
            raise UsageError(f"{path!r} names no setting.", hint="Such as algo.gamma.")
    return tuple(f"{path}={to_json(value)}" for path, value in settings.items())  # JSON is YAML


def setting_words(settings: Settings) -> list[str]:
    """Settings as words of a command line."""
    return [word for text in spell_settings(settings) for word in ("--set", text)]


def flag_words(name: str, value: object) -> list[str]:
    """An option with its value as words of a command line; none without a value."""
    return [] if value is None else [name, str(value)]


def _plain_number(value: float | str | None) -> float | str | None:
    """A number of seconds in one form, however it was written: requests are found by their equality."""
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", value):
            return value
        value = float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _require_word(word: str) -> None:
    """Refuse a text that no command line can hold."""
    try:
        os.fsencode(word)
    except UnicodeEncodeError as error:
        raise UsageError(f"{word!r} is not valid Unicode.") from error
    if "\0" in word:
        raise UsageError(f"{word!r} holds a character that no command line can hold.")


def _read_value(option: str, name: str, text: str) -> Any:
    if name not in _NUMBERS:
        return text
    try:
        return int(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a whole number.", where=option) from error


def _is_given(value: Any) -> bool:
    return value is not None and value is not False and value != []


def _fits(name: str, value: Any) -> bool:
    """True if a field of a request can hold this value."""
    if name == "overrides":
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    if name in _SWITCHES:
        return type(value) is bool
    if name in _NUMBERS:
        return type(value) is int
    if name == "steps":
        return type(value) is int or isinstance(value, str)
    if name == "max_seconds":
        return type(value) in (int, float) or isinstance(value, str)
    return isinstance(value, str) and name in ("verb", "env_or_ref", *_OPTIONS)
