"""Writes `docs/modules.md`: every package and module with the first sentence of its docstring."""

import ast
import re
from pathlib import Path

_PACKAGE = Path(__file__).parents[1] / "src" / "gymsolve"
_INTRO = """\
<!-- Made by docs/generate.py from the docstrings of the modules; do not edit. -->

# Modules

Every package of `src/gymsolve/` and its modules, each with the first sentence of its docstring.
[architecture.md](architecture.md#layers) says which package may import which.
"""


def render_modules() -> str:
    """The page, one section per package."""
    packages = sorted(path.parent for path in _PACKAGE.rglob("__init__.py"))
    return "\n".join([_INTRO, *map(_section, packages)])


def _section(package: Path) -> str:
    name = package.relative_to(_PACKAGE.parent).as_posix()
    modules = sorted(path for path in package.glob("*.py") if path.name != "__init__.py")
    rows = [f"| `{path.name}` | {first_sentence(path)} |" for path in modules]
    table = ["", "| module | |", "| --- | --- |", *rows] if rows else []
    return "\n".join([f"## `{name}/`", "", first_sentence(package / "__init__.py"), *table, ""])


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return re.split(r"(?<=[.:])\s(?=[A-Z`])", paragraph)[0].replace("|", "\\|")
