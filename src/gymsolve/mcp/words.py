"""Sentences in the words of tools: errors, doubts and advice of gymsolve speak of commands and options.

`gymsolve resume RUN --steps N` becomes `rl_control(run=RUN, action=resume, steps=N)`, `--set algo.gamma=0.98`
becomes `set={"algo.gamma": 0.98}`. Commands that no tool does stay: a person has to run them.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

_PERSON = "In a terminal"
"""From here on a sentence is for a person."""


@dataclass(frozen=True)
class _Call:
    """The tool that does what a command does; its arguments by the place of the words."""

    tool: str
    places: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


_CALLS = {
    "train": _Call("rl_start", ("env",)),
    "resume": _Call("rl_control", ("run",), ("action=resume",)),
    "fork": _Call("rl_control", ("run",), ("action=fork",)),
    "stop": _Call("rl_control", ("run",), ("action=stop",)),
    "fix": _Call("rl_try_fix", ("run", "alert")),
    "diagnose": _Call("rl_diagnose", ("run",)),
    "check": _Call("rl_plan", ("env",), ("measure=true",)),
    "eval": _Call("rl_episode", ("run",), ("episodes=20",)),
    "report": _Call("rl_run", ("run",), ("detail=report",)),
    "runs compare": _Call("rl_compare", ("runs",)),
    "runs show": _Call("rl_run", ("run",)),
    "runs": _Call("rl_runs"),
    "recipes": _Call("rl_catalog"),
    "log": _Call("rl_logbook"),
    "demos": _Call("rl_catalog", (), ("kind=demos",)),
}
_OPTIONS = {
    "--steps": "steps",
    "--max-seconds": "max_seconds",
    "--seeds": "seeds",
    "--seed": "seed",
    "--from": "from_run",
    "--set": "set",
}
_VALUE = r"'[^']*'|\"[^\"]*\"|[^\s`'\"]+"
_SETTINGS = re.compile(rf"--set (?:{_VALUE})(?: --set (?:{_VALUE}))*")
_WORD = r"(?:'[^']*'|…|[\w@:./-]*[@:/_\dA-Z-][\w@:./-]*)"
"""A name of a run, an environment or an alert; a word of lower case alone is part of the sentence."""
_COMMAND = re.compile(
    rf"`?gymsolve ({'|'.join(sorted(_CALLS, key=len, reverse=True))})\b(?! [A-Z]+ …)"
    rf"((?: {_WORD}|(?<= )…| --(?:steps|max-seconds|seeds|seed|from) (?:{_WORD}|N)"
    r"| set=\{.*?\}(?=[\s.`)]|$)| --[\w-]+)*)`?"
)
_OPTION = re.compile(r"`?(?:\btrain )?(?<![\w-])(--(?:steps|max-seconds|seeds|seed|from|set))\b`?")


def in_tool_words(text: str) -> str:
    """The text with commands as calls of tools, and options as arguments."""
    ours, person, theirs = text.partition(_PERSON)
    ours = _COMMAND.sub(_as_call, _SETTINGS.sub(_as_settings, ours))
    return _OPTION.sub(_as_argument, ours) + person + theirs


def facts_in_tool_words(facts: Any) -> Any:
    """The same for all texts in an answer."""
    if isinstance(facts, str):
        return in_tool_words(facts)
    if isinstance(facts, dict):
        return {name: facts_in_tool_words(inner) for name, inner in facts.items()}
    return [facts_in_tool_words(inner) for inner in facts] if isinstance(facts, list) else facts


def _as_settings(match: re.Match[str]) -> str:
    words: list[str] = re.findall(rf"--set ({_VALUE})", match[0])
    tail = re.search(r"[.,;:)]*$", words[-1])
    assert tail is not None
    words[-1] = words[-1][: len(words[-1]) - len(tail[0])]
    pairs = [word.strip("'\"").partition("=") for word in words]
    if not all(equals for _, equals, _ in pairs):
        return match[0]
    return (
        f"set={{{', '.join(f'{json.dumps(path)}: {_as_json(value)}' for path, _, value in pairs)}}}{tail[0]}"
    )


def _as_json(value: str) -> str:
    """A value of YAML as JSON, where it is that already or a word."""
    try:
        json.loads(value)
    except ValueError:
        return value if not value.isidentifier() else json.dumps(value)
    return value


def _as_call(match: re.Match[str]) -> str:
    call, rest = _CALLS[match[1]], match[2]
    settings = re.search(r" set=\{.*\}$", rest)
    words = rest[: settings.start() if settings else None].split()
    given, at = list[str](), 0
    places = iter(call.places)
    tail = ""
    while at < len(words):
        word = words[at]
        if word in _OPTIONS and at + 1 < len(words):
            given.append(f"{_OPTIONS[word]}={words[at + 1]}")
            at += 2
            continue
        at += 1
        if word.startswith("--"):
            continue
        bare = word.rstrip(".,:") if at == len(words) else word
        tail = word[len(bare) :]
        place = next(places, None)
        if place is not None and bare.strip("…"):
            given.append(f"{place}={bare}")
    given += call.more + ((settings[0].strip(),) if settings else ())
    return f"{call.tool}({', '.join(given)}){tail}"


def _as_argument(match: re.Match[str]) -> str:
    return _OPTIONS[match[1]]
