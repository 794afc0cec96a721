"""The type and range of every field that is read from the files of a run.

A run may be damaged, or come from anybody, so readers check each file once. Settings are checked elsewhere
(`recipes/validation.py`), and the state inside checkpoints by its owners.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, get_args

from gymsolve.errors import BadKind

_LARGEST = 1 << 63
_DEEPEST = 64
"""The most levels of nesting; files of gymsolve have some ten."""


class Field(NamedTuple):
    """A check of a field's value, and a description of valid values."""

    fits: Callable[[Any], bool]
    words: str
    needed: bool = True

    def optional(self) -> "Field":
        return self._replace(needed=False)

    def or_none(self) -> "Field":
        return Field(lambda value: value is None or self.fits(value), f"{self.words} or null", self.needed)


Fields = Mapping[str, Field]


def find_fault(data: Mapping[str, Any], fields: Fields) -> str | None:
    """The first fault of an object, as the rest of a sentence; None without one."""
    for name, field in fields.items():
        if name not in data:
            if field.needed:
                return f"lacks {name!r}"
        elif not field.fits(data[name]):
            return f"has {_shown(data[name])} for {name!r}, which should be {field.words}"
    return None


def is_steps(name: str) -> bool:
    """The name is that of a checkpoint: a number of steps as Python writes it."""
    return name.isascii() and name.isdecimal() and len(name) < 19 and str(int(name)) == name


def is_metrics(row: Mapping[str, Any]) -> bool:
    """The row is a record of metrics: numbers and nulls, with `env_steps`; remarks may be text."""
    if not _NUMBERS.issuperset(map(type, row.values())):
        others = [name for name, value in row.items() if type(value) not in _NUMBERS]
        if any("/" in name or name in _POSITION or not _is_text(row[name]) for name in others):
            return False
    if not _is_count(row.get("env_steps")):
        return False
    return all(-_LARGEST < value < _LARGEST for value in row.values() if type(value) is int)


def is_shallow(data: Any) -> bool:
    """The data has no deep nesting, no integers beyond 64 bits and no 1e999."""
    level = [data]
    for _ in range(_DEEPEST + 1):  # level by level: a table of runs asks this of every file
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            elif (type(value) is int and not -_LARGEST < value < _LARGEST) or (
                type(value) is float and not math.isfinite(value)
            ):
                return False
        if not inner:
            return True
        level = inner
    return False


_NUMBERS = {int, float, bool, type(None)}
_POSITION = ("vec_steps", "updates", "progress", "solved")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _is_whole(value: Any) -> bool:
    return type(value) is int and -_LARGEST < value < _LARGEST


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (type(value) is float and math.isfinite(value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_moment(value: Any) -> bool:
    """The value is a time as `now` writes it."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return False
    return moment is not None and moment.tzinfo is not None and moment.year >= 1970


def _is_table_of_text(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str | None) for text in value.values())


def _is_table_of_numbers(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all(isinstance(number, bool | None) or _is_number(number) for number in value.values())


def _is_file_list(value: Any) -> bool:
    entries = value.values() if isinstance(value, dict) else [None]
    return all(map(fitting({"size": _COUNT, "sha256": _TEXT}), entries))


def fitting(fields: Fields) -> Callable[[Any], bool]:
    """A check that a value is an object with these fields."""
    return lambda value: isinstance(value, dict) and find_fault(value, fields) is None


def _word_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: value in words


def _list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _shown(value: Any) -> str:
    text = ascii(value) if is_shallow(value) else type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."


_TEXT = Field(_is_text, "text")
_NAME = Field(lambda value: _is_text(value) and value.isprintable(), "one line of text")
_COUNT = Field(_is_count, "a whole number from 0 on")
_WHOLE = Field(_is_whole, "a whole number")
_NUMBER = Field(_is_number, "a number")
_FLAG = Field(lambda value: isinstance(value, bool), "true or false")
_MOMENT = Field(is_moment, "a time such as 2026-01-02T03:04:05+00:00")
_LIST_OF_WORDS = Field(_list_of(_is_text), "a list of words")
_WORDS = _LIST_OF_WORDS.optional()
_TABLE = Field(lambda value: isinstance(value, dict), "an object")
_STATUS = Field(_word_of("running", "finished", "solved", "stopped", "crashed"), "the status of a run")
_RESULT = {
    "solved": _FLAG.optional(),
    **{name: _NUMBER.or_none().optional() for name in ("mean_reward", "threshold", "seconds")},
}
_PARENT = {"run": _NAME, "checkpoint": _NAME.or_none(), "kind": _TEXT.or_none().optional()}

INFO: Fields = {
    **dict.fromkeys(("name", "env_id", "variant", "algo", "host"), _NAME),
    "status": _STATUS,
    "reason": _TEXT.or_none(),
    "env_steps": _COUNT,
    "result": Field(fitting(_RESULT), "the result of a run").or_none(),
    **dict.fromkeys(("created", "updated"), _MOMENT),
    "parent": Field(fitting(_PARENT), "a run and a checkpoint").or_none(),
    "group": _NAME.or_none().optional(),
    "seed": _WHOLE.or_none(),
    "steps": _COUNT.or_none(),
    "pid": _COUNT,
    "process_start": _TEXT.or_none(),
    **dict.fromkeys(("command", "resumed_with"), _WORDS),
    "versions": Field(_is_table_of_text, "names with versions").optional(),
    "code": Field(_is_table_of_text, "modules with files").optional(),
    "git": _TEXT.or_none().optional(),
}
"""`run.json`."""

CONFIG: Fields = {
    "name": _TEXT.optional(),
    "config": _TABLE._replace(words="the settings"),
    "provenance": Field(_is_table_of_text, "names with sources"),
}
"""`config.json`, without the settings themselves."""

_BAD = {
    "what": Field(_word_of(*get_args(BadKind)), "what was not finite"),
    "number": _TEXT,
    **dict.fromkeys(("env", "env_steps", "vec_steps"), _COUNT.or_none().optional()),
    **dict.fromkeys(("entry", "label"), _TEXT.or_none().optional()),
    "element": Field(_list_of(_is_whole), "whole numbers").optional(),
    "role": Field(_word_of("train", "eval"), "train or eval").optional(),
}

EVENT: Fields = {
    "time": _MOMENT,
    "kind": _NAME,
    "env_steps": _COUNT.or_none().optional(),
    **dict.fromkeys(("text", "status", "reason", "id", "checkpoint"), _TEXT.or_none().optional()),
    **dict.fromkeys(("engine", "backend", "kernels"), _TEXT.or_none().optional()),
    "bad": Field(fitting(_BAD), "a description of a number").or_none().optional(),
}
"""A line of `events.jsonl`."""

_MOVE = {
    **dict.fromkeys(("stage", "next", "judged", "by"), _TEXT.or_none().optional()),
    **dict.fromkeys(("achieved", "bound", "bar"), _NUMBER.or_none().optional()),
    "episodes": _COUNT.or_none().optional(),
}
_NUMBERS_BY_NAME = Field(_is_table_of_numbers, "numbers by name")
EVENTS: Mapping[str, Fields] = {
    "started": {"threshold": _NUMBER.or_none().optional(), "threads": _COUNT.or_none().optional()},
    "promoted": _MOVE,
    "demoted": _MOVE,
    "spent": {"seconds": _NUMBERS_BY_NAME.or_none().optional()},
    "video": {
        "file": _TEXT.or_none().optional(),
        **dict.fromkeys(("return", "recording_seconds"), _NUMBER.or_none().optional()),
    },
}
"""Further fields of such a line, by its kind; readers take other ones as they come."""

_CHANGE = {"path": _TEXT, "advice": _TEXT, "move": Field(_word_of("up", "down", "set"), "up, down or set")}

ALERT: Fields = {
    **dict.fromkeys(("id", "title", "metric", "sign", "remark", "meaning"), _TEXT),
    **dict.fromkeys(("cause", "instead", "effect"), _TEXT),
    "severity": Field(_word_of("info", "warn", "error"), "info, warn or error"),
    **dict.fromkeys(("signal", "step", "onset", "count", "steps"), _COUNT),
    "share": _NUMBER,
    **dict.fromkeys(("value", "threshold", "seconds", "aim"), _NUMBER.or_none()),
    "since": _COUNT.or_none(),
    **dict.fromkeys(("active", "ended"), _FLAG),
    "bad": Field(fitting(_BAD), "a description of a number").or_none(),
    "changes": Field(_list_of(fitting(_CHANGE)), "changes of settings"),
}
"""An alert in an event."""

META: Fields = {
    "env_steps": _COUNT,
    "vec_steps": _COUNT.or_none(),
    "updates": _COUNT.or_none(),
    "time": _MOMENT,
    "reason": _TEXT.or_none(),
    "eval": Field(_is_table_of_numbers, "metrics").or_none(),
    "files": Field(_is_file_list, "files with sizes and checksums"),
    "part_files": Field(
        lambda value: isinstance(value, dict) and all(map(_is_file_list, value.values())),
        "files of parts with sizes and checksums",
    ).optional(),
}
"""`meta.json` of a checkpoint."""

_PLAYED = Field(_list_of(_TABLE.fits), "a list of episodes")

VIDEO: Fields = {
    **dict.fromkeys(("run", "checkpoint", "policy_sha256"), _TEXT.optional()),
    **dict.fromkeys(("env_steps", "seed", "width", "height"), _COUNT.optional()),
    **dict.fromkeys(("return", "fps", "seconds", "recording_seconds"), _NUMBER.or_none().optional()),
    **dict.fromkeys(("complete", "deterministic"), _FLAG.optional()),
    **dict.fromkeys(("episodes", "clips"), _PLAYED.optional()),
}
"""`videos/<name>.json`."""

_SIZES = Field(_list_of(lambda size: _is_count(size) and 0 < size < 1 << 24), "sizes")
_ROW_FIELD = {
    "name": _TEXT,
    "kind": Field(_word_of("u1", "i4", "i8", "f4", "f8", "S64"), "the kind of a field"),
    "shape": _SIZES,
}


def _is_row(value: Any) -> bool:
    """The value lists the fields of a row: unique names, known kinds, shapes of a sensible size."""
    if not _list_of(fitting(_ROW_FIELD))(value) or not 0 < len(value) < 1000:
        return False
    return len({field["name"] for field in value}) == len(value)


INSPECTION: Fields = {
    **dict.fromkeys(("key", "run", "checkpoint", "env_id", "host"), _NAME),
    "policy_sha256": _TEXT,
    "task": _NAME.optional(),
    "state": Field(_word_of("playing", "whole", "stopped"), "a state of an episode"),
    "created": _MOMENT,
    "pid": _COUNT,
    "process_start": _TEXT.or_none(),
    "env_steps": _COUNT,
    "seed": _WHOLE,
    **dict.fromkeys(("deterministic", "camera"), _FLAG),
    "role": Field(_word_of("train", "eval"), "train or eval"),
    "fields": Field(_is_row, "the fields of a row"),
    **dict.fromkeys(("spec", "credit"), _TABLE),
    "action_names": _LIST_OF_WORDS,
    "obs_names": Field(
        lambda value: isinstance(value, dict) and all(map(_LIST_OF_WORDS.fits, value.values())),
        "lists of words",
    ),
    "frame_stack": Field(lambda value: _is_count(value) and 0 < value < 1000, "a number of frames"),
    "notes": _WORDS,
    "length": _COUNT.optional(),
    **dict.fromkeys(("return", "shaped_return"), _NUMBER.or_none().optional()),
    "end": Field(_word_of("terminated", "truncated", "cut"), "how an episode ends").optional(),
}
"""`inspections/<name>/inspection.json`."""

REVIEW: Fields = {
    "time": _MOMENT,
    **dict.fromkeys(("host", "model", "question", "answer", "prompt_sha256"), _TEXT),
    **dict.fromkeys(("tokens", "prompt_bytes", "picture_bytes"), _COUNT),
}
"""A line of `inspections/<name>/reviews.jsonl`."""

LOG_ENTRY: Fields = {
    "time": _MOMENT,
    **dict.fromkeys(("by", "note", "hypothesis", "change", "result"), _TEXT),
    "verdict": Field(_word_of("confirmed", "refuted", "open"), "a verdict"),
    "runs": _LIST_OF_WORDS._replace(words="ids of runs"),
}
"""A line of `logbook.jsonl`."""

GROUP: Fields = {
    "seeds": Field(_list_of(lambda seed: isinstance(seed, int)), "seeds"),
    "words": _LIST_OF_WORDS,
}
"""`groups/<id>.json`, without its id."""

LABELS: Fields = {
    "label": Field(lambda value: _is_text(value) and value.isprintable(), "a printable text"),
    "tags": Field(_list_of(lambda tag: _is_text(tag) and tag.isprintable() and " " not in tag), "words"),
}
"""`labels.json`."""

DELETED: Fields = {
    "time": _MOMENT,
    "run": _NAME,
    **dict.fromkeys(("name", "label"), _TEXT),
    "group": _TEXT.or_none(),
    "seed": _WHOLE.or_none(),
    "command": _LIST_OF_WORDS,
}
"""A line of `deleted.jsonl`."""
