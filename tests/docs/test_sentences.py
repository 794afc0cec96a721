"""Names and sentences of the source that a reader would have to read twice."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gymsolve

SOURCE = Path(gymsolve.__file__).parent
VAGUE = {"told", "one", "found"}
"""Names that say nothing of what they hold."""
QUESTION = re.compile(r"(What|Who|Whoever|Whose)\b")
"""Beginnings of docstrings that name a question instead of stating a fact."""
WORDS = re.compile(r"\b(whoever|mourn\w*|unasked|lest)\b", re.IGNORECASE)
"""Words that have a plainer one."""


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings, those of attributes among them, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that the code gives, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def find_faults(code: str) -> list[str]:
    """What is wrong with a piece of source, by line."""
    tree = ast.parse(code)
    faults = [
        f"{line}: a docstring begins with a question" for line, text in texts(tree) if QUESTION.match(text)
    ]
    faults += [f"{line}: call `{name}` what it holds" for line, name in names(tree) if name in VAGUE]
    for line, text in enumerate(code.splitlines(), 1):
        faults += [f"{line}: say it without `{word}`" for word in WORDS.findall(text)]
    return faults


@pytest.mark.parametrize("folder", [*sorted(path.name for path in SOURCE.iterdir() if path.is_dir()), "."])
def test_the_source_reads_once(folder):
    paths = SOURCE.glob("*.py") if folder == "." else (SOURCE / folder).rglob("*.py")
    faults = {str(path.relative_to(SOURCE)): find_faults(path.read_text(encoding="utf-8")) for path in paths}
    assert not {path: found for path, found in faults.items() if found}


@pytest.mark.parametrize(
    "code",
    [
        'def f():\n    """What a run needs."""',
        'x = 1\n"""Who wrote it."""',
        "for one in range(3):\n    pass",
        "f = lambda told: told",
        "runs = [found for found in ()]",
        "x = 1  # for whoever reads it",
    ],
)
def test_the_gate_sees_a_fault(code):
    assert len(find_faults(code)) == 1
