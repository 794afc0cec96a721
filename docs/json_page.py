"""The page of what commands print with `--json`, from `gymsolve.cli.answers`."""

import ast
import inspect
import itertools
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from gymsolve.cli.answers import ANSWERS, Failure

__all__ = ["render_json"]

_INTRO = """\
<!-- Made by docs/generate.py from gymsolve.cli.answers; do not edit. -->

# What `--json` prints

Every command with `--json` prints one JSON value on one line of standard output, and nothing else there;
progress goes to standard error. A number that is not finite is null. Keys come in the order given here, and
all of them are there unless a line says that one may be missing.

An error is an object too, [Failure](#failure), and the exit code says the same: 1 failed, 2 wrong request,
129 hung up, 130 stopped, 143 terminated.
"""
_WORDS = {
    str: "text",
    Path: "text",
    int: "integer",
    float: "number or null",
    bool: "true or false",
    Any: "anything",
}


def render_json() -> str:
    """Commands with what they print, then every record."""
    records: dict[str, Any] = {}
    commands = []
    for command, printed in ANSWERS.items():
        told = "\n".join(_printed(when, kind, records) for when, kind in printed)
        commands.append(f"\n### `gymsolve {command}`\n\n{told}")
    _words(Failure, records)
    written: dict[str, str] = {}
    while left := sorted(set(records) - set(written)):  # a record may name others
        written |= {name: _record(records[name], records) for name in left}
    sections = [text for _, text in sorted(written.items())]
    return "".join([_INTRO, "\n## Commands\n", *commands, "\n## Records\n", *sections])


def _printed(when: str, kind: Any, records: dict[str, Any]) -> str:
    start = f"{when[:1].upper()}{when[1:]}: " if when else ""
    if isinstance(kind, dict):
        rows = [f"| `{name}` | {meaning} |\n" for name, meaning in kind.items()]
        told = f"object with:\n\n| key | meaning |\n| --- | --- |\n{''.join(rows)}"
        return f"{start}an {told}" if start else f"An {told}"
    told = _words(kind, records)
    return f"{start}{told}.\n" if start else f"{told[:1].upper()}{told[1:]}.\n"


def _record(kind: Any, records: dict[str, Any]) -> str:
    hints, meanings = get_type_hints(kind), _meanings(kind)
    rows = []
    for one in fields(kind):
        missing = " (may be missing)" if one.metadata else ""
        told = meanings.get(one.name, "").replace("|", "\\|")
        rows.append(f"| `{one.name}` | {_words(hints[one.name], records)}{missing} | {told} |\n")
    about = " ".join((kind.__doc__ or "").split())
    return (
        f"\n### {kind.__name__}\n\n{about}\n\n| key | value | meaning |\n| --- | --- | --- |\n{''.join(rows)}"
    )


def _words(kind: Any, records: dict[str, Any]) -> str:
    """An annotation in words; records among it are noted down."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _WORDS:
        return _WORDS[kind]
    if kind is types.NoneType:
        return "null"
    if is_dataclass(kind):
        name = kind.__name__  # type: ignore[union-attr]
        records[name] = kind
        return f"[{name}](#{name.lower()})"
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(
            dict.fromkeys(part for one in inner for part in _words(one, records).split(" or "))
        )
    if origin is tuple and inner[-1] is not Ellipsis:
        return f"list of {', '.join(_words(one, records) for one in inner)}"
    if origin in (tuple, list, Sequence):
        return f"list of {_words(inner[0], records)}"
    assert origin in (dict, Mapping), kind
    return f"mapping of text to {_words(inner[1], records)}"


@cache
def _meanings(kind: Any) -> dict[str, str]:
    """What stands below each field, also of the classes that it comes from."""
    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        if is_dataclass(owner):
            found |= dict(_docstrings(owner))
    return found


def _docstrings(owner: Any) -> Iterator[tuple[str, str]]:
    (definition,) = ast.parse(inspect.cleandoc(inspect.getsource(owner))).body
    assert isinstance(definition, ast.ClassDef)
    for field, text in itertools.pairwise(definition.body):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(words))),
            ):
                yield name, " ".join(words.split())
