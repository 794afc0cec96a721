"""Files and functions stay readable: 500 and 80 lines are refused; half of that is the habit."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_FILE_LINES = 500
MOST_FUNCTION_LINES = 80


def sources() -> list[Path]:
    found = sorted((ROOT / "src" / "gymsolve").rglob("*.py"))
    assert found, "no source file found: this test looks in the wrong place"
    return found


def functions(path: Path) -> list[tuple[str, int]]:
    """Name and length of every function, nested ones and methods included."""
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(tree)
        if isinstance(node, kinds)
    ]


def test_no_file_is_too_long():
    lengths = {path: len(path.read_text().splitlines()) for path in sources()}
    offenders = [f"{path.relative_to(ROOT)}: {n}" for path, n in lengths.items() if n > MOST_FILE_LINES]
    assert not offenders, "\n".join(offenders)


def test_no_function_is_too_long():
    found = [(path, name, n) for path in sources() for name, n in functions(path)]
    assert found, "no function found"
    offenders = [
        f"{path.relative_to(ROOT)}: {name}: {n}" for path, name, n in found if n > MOST_FUNCTION_LINES
    ]
    assert not offenders, "\n".join(offenders)


def test_a_long_function_would_be_found(tmp_path):
    body = "\n".join("    pass" for _ in range(MOST_FUNCTION_LINES))
    file = tmp_path / "long.py"
    file.write_text(f"class C:\n  def f(self):\n{body}\n")
    assert functions(file) == [("f", MOST_FUNCTION_LINES + 1)]
