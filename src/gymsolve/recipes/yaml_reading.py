"""Reads YAML that somebody else wrote: a file, or a value after `--set`.

Whatever a text holds, the answer is plain data or a ConfigError with its place. YAML can say more than
settings can be: values that contain themselves, a few lines that stand for gigabytes, dates, sets, numbers of
a million digits. All of that is refused here, so that nothing behind this module meets it.
"""

import re
from pathlib import Path
from typing import Any

from gymsolve.errors import ConfigError

_LARGEST = 1 << 17
"""Characters of a text: parsing that many takes seconds."""
_MOST_VALUES = 20_000
_DEEPEST = 40
_LARGEST_NUMBER = 2**63
_PARSER_FAULTS = (
    # What ruamel lets through for texts like `2001-99-99`, `!!int x`, `%YAML 9.9` or `[` a thousand times.
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
    """The text of a recipe file, which must be a file of UTF-8 and of a size that recipes have."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError("is not a file.", where=str(path))  # a pipe would never end
        if path.stat().st_size > _LARGEST:
            raise ConfigError(f"is too large for a recipe: over {_LARGEST // 1024} KiB.", where=str(path))
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {(error.strerror or str(error)).lower()}.", where=str(path)
        ) from error
    except ValueError as error:  # UnicodeDecodeError is one, and a name with a NUL gives another
        raise ConfigError(
            "cannot be read: it is not UTF-8.", where=str(path), hint="Save it as UTF-8."
        ) from error


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """YAML 1.2 text that holds a mapping; anything else is a ConfigError with the line."""
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        data = _load(text)
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"not valid YAML: {_first_line(error.problem)}.", where=f"{where}{line}") from error
    except YAMLError as error:
        raise ConfigError(f"not valid YAML: {_first_line(error)}.", where=where) from error
    except _PARSER_FAULTS as error:
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
    """Refuse what no setting can be; a value that is written once and used often counts as often."""
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
                    hint = "Put it in quotes."
                    raise ConfigError(
                        f"the key {_short(key)} should be text.", where=f"{where}{_below(path)}", hint=hint
                    )
                waiting.append((inner, f"{path}.{key}" if path else key, depth + 1))
        elif isinstance(value, list):
            waiting += [(inner, path, depth + 1) for inner in value]
        elif isinstance(value, int) and abs(value) >= _LARGEST_NUMBER:
            raise ConfigError("this number is too large.", where=f"{where}{_below(path)}")
        elif not isinstance(value, str | int | float | None):
            told = f"should be text, a number, a list or a mapping, not a {type(value).__name__}."
            raise ConfigError(told, where=f"{where}{_below(path)}", hint="Put text in quotes.")


_ANCHORS = "Write it without anchors (&) and aliases (*)."


def _load(text: str) -> Any:
    from ruamel.yaml import YAML

    if len(text) > _LARGEST:
        raise ValueError("it is too long")
    if _depth(text) > _DEEPEST:
        raise ValueError("it is nested too deeply")  # the parser's time grows with the square of this
    return YAML(typ="safe", pure=True).load(text)


def _depth(text: str) -> int:
    """How many brackets are open at most, and how far lists within lists go; quotes are not looked at."""
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


def _first_line(told: object) -> str:
    lines = str(told).strip().splitlines()
    return lines[0].rstrip(".:")[:200] if lines else "it cannot be understood"


def _short(value: object) -> str:
    """A value in a message; `repr` of something deep or long would be no message."""
    if not isinstance(value, str | int | float | None):
        return f"of type {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
