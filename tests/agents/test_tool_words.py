"""Sentences that speak of commands are told in the words of tools."""

import ast
import re
from pathlib import Path

import pytest

import gymsolve
from gymsolve.mcp.words import in_tool_words

HOME = Path(gymsolve.__file__).parent
TOLD = re.compile(
    r"gymsolve (train|resume|fork|stop|fix|diagnose|check|eval|runs|recipes)\b|--(set|steps|seeds?|from)\b"
)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("too high; try --set algo.learning_rate=0.0003", 'too high; try set={"algo.learning_rate": 0.0003}'),
        ("a; try --set a.b=1 --set c=null.", 'a; try set={"a.b": 1, "c": null}.'),
        ("Use sync: --set env.backend=sync.", 'Use sync: set={"env.backend": "sync"}.'),
        ("give more with --max-seconds", "give more with max_seconds"),
        ("give more with --set video.every=…", 'give more with set={"video.every": …}'),
        ("x should be below 1 (from --set).", "x should be below 1 (from set)."),
        ("--steps: 9 is too many", "steps: 9 is too many"),
        (
            "Stop it first with: gymsolve stop 2026-A-1",
            "Stop it first with: rl_control(run=2026-A-1, action=stop)",
        ),
        ("gymsolve stop 2026-A-1 reaches it", "rl_control(run=2026-A-1, action=stop) reaches it"),
        ("go on with: gymsolve resume 2026-A", "go on with: rl_control(run=2026-A, action=resume)"),
        ("then `gymsolve resume 2026-A` goes on", "then rl_control(run=2026-A, action=resume) goes on"),
        ("(gymsolve resume with a higher --steps)", "(rl_control(action=resume) with a higher steps)"),
        ("Begin with: gymsolve train ENV --seeds 5", "Begin with: rl_start(env=ENV, seeds=5)"),
        ("from its weights: gymsolve train … --from RUN", "from its weights: rl_start(from_run=RUN)"),
        ("start a new run with `train --from`.", "start a new run with from_run."),
        ("`gymsolve check` steps it alone", "rl_plan(measure=true) steps it alone"),
        ("tried for: gymsolve fix 2026-A kl_high", "tried for: rl_try_fix(run=2026-A, alert=kl_high)"),
        ("List the runs with: gymsolve runs", "List the runs with: rl_runs()"),
        ("gymsolve does not know this", "gymsolve does not know this"),
        ("Import one: gymsolve roms import PATH.", "Import one: gymsolve roms import PATH."),
        ("In a terminal it may take: gymsolve check A-v0", "In a terminal it may take: gymsolve check A-v0"),
        (
            "Try: gymsolve train A-v0:ppo --set a=1",
            'Try: rl_start(env=A-v0:ppo, set={"a": 1})',
        ),
    ],
)
def test_commands_become_calls_and_options_arguments(sentence, words):
    assert in_tool_words(sentence) == words


def test_no_sentence_of_gymsolve_keeps_a_command_that_a_tool_does():
    texts = [text for path in sentences() for text in path]
    assert len(texts) > 30
    assert not {text for text in texts if TOLD.search(in_tool_words(text))}


def sentences():
    """Texts of all modules that are no command line, with a name in place of what is filled in."""
    for path in sorted(HOME.rglob("*.py")):
        if {"cli", "web", "apps"} & set(path.relative_to(HOME).parts):
            continue
        tree = ast.parse(path.read_text())
        documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parts = {
            id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
        }
        yield [
            text
            for node in ast.walk(tree)
            if id(node) not in documented and id(node) not in parts
            if (text := spelled(node)) and " " in text and TOLD.search(text) and "In a terminal" not in text
        ]


def spelled(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "X-1" for part in node.values)
    return None
