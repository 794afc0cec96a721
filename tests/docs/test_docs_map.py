"""Every module says what it is, and no page names a module that does not exist."""

import re
from pathlib import Path

import pytest

from gymsolve.envs.families.installed import GROUP

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "gymsolve"
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "AGENTS.md", ROOT / "CONTRIBUTING.md"])
SOURCES = {
    path.relative_to(ROOT).as_posix()
    for folder in ("src", "tests", "benchmarks", "docs", "tools")
    for kind in ("py", "pyi", "c", "h")
    for path in (ROOT / folder).rglob(f"*.{kind}")
}
EXAMPLES = {"my_parts.py", "corridor.py"}
"""Files that a page tells its reader to write."""


def section(title: str) -> str:
    page = (ROOT / "docs" / "architecture.md").read_text()
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def has_module(dotted: str) -> bool:
    """Whether `gymsolve.a.b.c` leads to a module, or to a name in one."""
    path, names = PACKAGE, dotted.split(".")[1:]
    for place, name in enumerate(names):
        if (path / name).is_dir():
            path = path / name
            continue
        module, rest = path / f"{name}.py", names[place + 1 :]
        if not module.is_file():  # a name that the package itself offers, and nothing further
            module, rest = path / "__init__.py", names[place:]
        return not rest or (len(rest) == 1 and re.search(rf"\b{rest[0]}\b", module.read_text()) is not None)
    return True


def test_every_module_says_what_it_is():
    """`docs/modules.md` is made of these sentences."""
    silent = [path for path in PACKAGE.rglob("*.py") if not path.read_text().startswith('"""')]
    assert silent == []


def test_the_glossary_explains_each_term_once_in_order():
    terms = re.findall(r"^- \*\*([\w ]+)\*\*: ", section("Glossary"), re.MULTILINE)
    assert 25 <= len(terms) <= 40
    assert terms == sorted(set(terms))


def missing_files(text: str, kinds: str) -> set[str]:
    """Source files that a text names and nobody has, by the end of their path."""
    named = set(re.findall(rf"(?<![\w/.<>-])((?:\w+/)*\w+\.(?:{kinds}))\b", text)) - EXAMPLES
    return {name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in SOURCES)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_that_pages_name_exist(page):
    text = page.read_text()
    missing = missing_files(text, "pyi?|c|h")
    dotted = set(re.findall(r"\bgymsolve(?:\.[A-Za-z_]\w*)+", text))
    dotted.discard(GROUP)  # the name of entry points
    assert sorted(missing | {name for name in dotted if not has_module(name)}) == []


def test_modules_that_docstrings_and_comments_name_exist():
    missing = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        for name in missing_files(path.read_text(), "py")
    }
    assert sorted(missing) == []


def test_files_that_a_modules_docstring_names_without_a_folder_lie_beside_it():
    astray = set()
    for path in PACKAGE.rglob("*.py"):
        docstring = path.read_text().partition('"""')[2].partition('"""')[0]
        named = re.findall(r"(?<![\w/.<>-])(\w+\.py)\b", docstring)
        astray |= {
            f"{path.relative_to(PACKAGE)}: {name}" for name in named if not (path.parent / name).is_file()
        }
    assert sorted(astray) == []
