"""Imports stand at the top of a module; light modules load neither torch nor gymnasium.

The tests follow the text of all modules without importing them.
"""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

import gymsolve
from gymsolve.cli.app import COMMANDS, GROUPS, command_tree
from gymsolve.recipes import _HOME_OF

SOURCE = Path(gymsolve.__file__).parent
MOST = 100
"""Imports inside functions in the whole tree."""
HEAVY = {"torch", "gymnasium"}
HEAVY_ROOMS = {"algos", "api", "apps", "envs", "extensions", "nn", "training"}
"""Packages and modules that may load a heavy package when they are imported; all others are light."""
EXCEPTIONS = {"cli.live.console", "cli.live.foreground", "cli.answers", "service.environments"}
"""Modules of light packages that are heavy: light modules import them inside functions only."""
LATE = {
    "gymsolve.cli -> gymsolve.cli.entry": "signals are handled before anything large is imported",
    "gymsolve.cli.commands.train -> gymsolve.cli.commands.seeds": "only for several seeds",
    "gymsolve.cli.entry -> gymsolve.cli.crash_report": "only after a crash",
    "gymsolve.cli.fast_web -> gymsolve.cli.serving": "only for `gymsolve web`",
    "gymsolve.cli.serving -> gymsolve.runs": "the address of the page is printed before",
    "gymsolve.cli.serving -> gymsolve.service.agent_limits": "the address of the page is printed before",
    "gymsolve.jobs.startup_report -> gymsolve.runs.files": "`gymsolve web` prints its address without runs",
    "gymsolve.training.engines.choose -> gymsolve.training.engines.numpy_engine": "only the engine in use",
    "gymsolve.training.planning.plan -> gymsolve.metrics.thresholds": "beside another late import, for tasks",
    "gymsolve.training.finish -> gymsolve.view.report.write": "a training begins without its report",
}
"""Imports inside functions that load no package of others, and the reasons for them."""

Import = ast.Import | ast.ImportFrom
Function = ast.FunctionDef | ast.AsyncFunctionDef


def module_name(path: Path) -> str:
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    return name.removesuffix(".__init__")


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of gymsolve, parsed."""
    return {module_name(path): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def targets(statement: Import) -> set[str]:
    """The modules that a statement imports."""
    if isinstance(statement, ast.Import):
        return {alias.name for alias in statement.names}
    base = statement.module or ""
    inner = {f"{base}.{alias.name}" for alias in statement.names} & trees().keys()
    if base == "gymsolve.recipes":  # it imports a name when the name is first used
        homes = {_HOME_OF.get(alias.name) for alias in statement.names} - {None}
        inner |= {f"{base}.{home}" for home in homes}
    return {base, *inner}


def imports_at_import(node: ast.AST) -> list[Import]:
    """Imports that run when the module is imported."""
    statements: list[Import] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.expr):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, Import):
            statements.append(child)
        statements += imports_at_import(child)
    return statements


@cache
def direct_imports(module: str) -> frozenset[str]:
    """Modules that importing a module loads first: those it names, and the packages that it lies in."""
    if module not in trees():
        return frozenset()
    parts = module.split(".")
    above = {".".join(parts[:end]) for end in range(1, len(parts))}
    return frozenset(above.union(*map(targets, imports_at_import(trees()[module]))))


@cache
def packages(module: str) -> frozenset[str]:
    """Packages of others that importing a module loads."""
    loaded: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in loaded:
            loaded.add(name)
            waiting += direct_imports(name) - loaded
    tops = {name.partition(".")[0] for name in loaded}
    return frozenset(tops - {"gymsolve", ""} - sys.stdlib_module_names)


@cache
def inner_imports() -> list[tuple[str, Import]]:
    """Every import inside a function, with its module."""
    statements: dict[int, tuple[str, Import]] = {}
    for module, tree in trees().items():
        for function in ast.walk(tree):
            if isinstance(function, Function):
                inside = [node for node in ast.walk(function) if isinstance(node, Import)]
                statements |= {id(node): (module, node) for node in inside}
    return list(statements.values())


def test_light_modules_load_neither_torch_nor_gymnasium():
    light = {name for name in trees() if not HEAVY_ROOMS & set(name.split(".")[1:2])}
    light -= {f"gymsolve.{name}" for name in EXCEPTIONS}
    heavy = {name: sorted(HEAVY & packages(name)) for name in light if HEAVY & packages(name)}
    assert not heavy


def test_an_import_inside_a_function_loads_a_package_that_its_module_does_without():
    late = set()
    for module, statement in inner_imports():
        names = targets(statement)
        if not any(name.partition(".")[0] == "gymsolve" for name in names):
            continue  # a package of others, or of Python itself
        if frozenset().union(*map(packages, names)) <= packages(module):
            late.add(f"{module} -> {max(names, key=len)}")
    assert sorted(late - set(LATE)) == [], "import these at the top, or write the reason into LATE"
    assert sorted(set(LATE) - late) == [], "remove these from LATE"


def test_few_imports_are_inside_functions():
    counts: dict[str, int] = {}
    for module, _ in inner_imports():
        room = ".".join(module.split(".")[1:2]) or "gymsolve"
        counts[room] = counts.get(room, 0) + 1
    assert sum(counts.values()) < MOST, dict(sorted(counts.items(), key=lambda item: -item[1]))


@pytest.mark.parametrize("name", [*COMMANDS, "mcp"])
def test_the_list_of_commands_has_the_help_of_each(name):
    commands = command_tree().commands
    assert commands.describe(name).help == commands[name].help


@pytest.mark.parametrize("group", GROUPS)
def test_the_list_of_a_group_has_the_help_of_each_command(group):
    commands = command_tree().commands[group].commands
    assert [commands.describe(name).help for name in commands] == [commands[name].help for name in commands]
