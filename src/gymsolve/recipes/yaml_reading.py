"""Reads YAML that somebody else wrote: a file, or a value after `--set`.

The result is plain data or a ConfigError with its place. YAML has more than settings can be: values that
contain themselves, a few lines that stand for gigabytes, dates, sets, numbers of a million digits. All of
that is refused here.
"""

import re
from pathlib import Path
from typing import Any

from gymsolve.errors import ConfigError

_LARGEST = 1 << 17
"""The most characters of a text; parsing that many takes seconds."""
_MOST_VALUES = 20_000
_DEEPEST = 40
_LARGEST_NUMBER = 2**63
_PARSER_FAULTS = (
    # Errors that ruamel raises for texts like `2001-99-99`, `!!int x`, `%YAML 9.9` or `[` a thousand times.
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    AssertionError,
    NotImplementedError,
    OverflowError,
    RecursionError,
)


def read_text(path: Path) -> str:
    """The text of a recipe file, which must be UTF-8 and not too large."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError("is not a file.", where=str(path))  # a pipe would never end
        if path.stat().st_size > _LARGEST:
            raise ConfigError(f"is too large for a recipe: over {_LARGEST // 1024} KiB.", where=str(path))
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"cannot be read: {reason}.", where=str(path)) from error
    except ValueError as error:  # a UnicodeDecodeError, or a name with a NUL
        hint = "Save it as UTF-8."
        raise ConfigError("cannot be read: it is not UTF-8.", where=str(path), hint=hint) from error


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """YAML 1.2 text that holds a mapping; anything else is a ConfigError with the line."""
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        data = _load(text)
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"not valid YAML: {_first_line(error.problem)}.", where=f"{where}{line}") from error
    except (YAMLError, *_PARSER_FAULTS) as error:
        raise ConfigError(f"not valid YAML: {_first_line(error)}.", where=where) from error
    if not isinstance(data, dict):
        raise ConfigError("should hold a mapping.", where=where)
    require_plain(data, where)
    return data


def parse_value(text: str, item: str) -> Any:
    """The value of `--set PATH=VALUE`, which is YAML."""
    from ruamel.yaml.error import YAMLError

    try:
        value = _load(text)
    except (YAMLError, *_PARSER_FAULTS) as error:
        raise ConfigError(
            f"cannot read the value of {_short(item)} as YAML.", where="--set", hint="Put text in quotes."
        ) from error
    require_plain(value, f"--set {_short(item)}")
    return value


def require_plain(data: Any, where: str) -> None:
    """Refuse values that no setting can have; a value behind several aliases counts several times."""
    left, waiting = _MOST_VALUES, [(data, "", 0)]
    while waiting:
        value, path, depth = waiting.pop()
        left -= 1
        if left < 0:
            raise ConfigError("stands for more values than a recipe has.", where=where, hint=_ANCHORS)
        if depth > _DEEPEST:
            raise ConfigError("is nested too deeply.", where=f"{where}{_below(path)}", hint=_ANCHORS)
        if isinstance(value, dict):
            for key, inner in value.items():
                if not isinstance(key, str):
                    message, place = f"the key {_short(key)} should be text.", f"{where}{_below(path)}"
                    raise ConfigError(message, where=place, hint="Put it in quotes.")
                waiting.append((inner, f"{path}.{key}" if path else key, depth + 1))
        elif isinstance(value, list):
            waiting += [(inner, path, depth + 1) for inner in value]
        elif isinstance(value, int) and abs(value) >= _LARGEST_NUMBER:
            raise ConfigError("this number is too large.", where=f"{where}{_below(path)}")
        elif not isinstance(value, str | int | float | None):
            message = f"should be text, a number, a list or a mapping, not a {type(value).__name__}."
            raise ConfigError(message, where=f"{where}{_below(path)}", hint="Put text in quotes.")


_ANCHORS = "Write it without anchors (&) and aliases (*)."


def _load(text: str) -> Any:
    from ruamel.yaml import YAML, CollectionNode

    if len(text) > _LARGEST:
        raise ValueError("it is too long")
    if _depth(text) > _DEEPEST:
        raise ValueError("it is nested too deeply")  # the parser's time grows with the square of this
    if "<<" in text:
        _require_end(YAML(typ="safe", pure=True).compose(text), CollectionNode)
    return YAML(typ="safe", pure=True).load(text)


def _require_end(root: Any, kind: Any) -> None:
    """Refuse mappings that merge (`<<: *name`) themselves, or stand for millions of values.

    Values alone do not show it: what comes of a merge is an ordinary mapping.
    """
    sizes: dict[int, int] = {}
    waiting = [(root, False)]
    while waiting:
        node, done = waiting.pop()
        parts = _parts(node, kind)
        if done:
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts)
        elif id(node) not in sizes:
            sizes[id(node)] = 0  # until its parts are counted
            waiting += [(node, True), *((part, False) for part in parts)]
        elif not sizes[id(node)]:
            raise ValueError(f"the mapping of line {node.start_mark.line + 1} holds itself")
    if sizes[id(root)] > _MOST_VALUES:
        raise ValueError("it stands for more values than a recipe has")


def _parts(node: Any, kind: Any) -> list[Any]:
    """Keys and values of a mapping in ruamel's tree, or the items of a list; `kind` is the class of both."""
    if not isinstance(node, kind):
        return []
    return [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]


def _depth(text: str) -> int:
    """The most brackets that are open at once, and the depth of lists within lists; quotes are ignored."""
    deepest = here = 0
    for char in text:
        if char in "[{":
            here += 1
            deepest = max(deepest, here)
        elif char in "]}" and here:
            here -= 1
    runs = re.findall(r"(?:[-?:] +)+", text)
    return max(deepest, max((len(run.split()) for run in runs), default=0))


def _below(path: str) -> str:
    return f": {path[:200]}" if path else ""


def _first_line(problem: object) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".:")[:200] if lines else "it cannot be understood"


def _short(value: object) -> str:
    """A value in a message, cut where it is long."""
    if not isinstance(value, str | int | float | None):
        return f"of type {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
