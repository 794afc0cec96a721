"""Measures the size and the shape of the source: `python tools/structure.py [--rev REV] [--json]`.

It reads every Python file below `src/` with `ast` and imports nothing of it. With `--rev` the numbers of a
git revision stand beside those of the working tree. Numbers describe; they are no limits.
"""

import argparse
import ast
import io
import json
import statistics
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PACKAGE = "gymsolve"
VAGUE = ("told", "one", "found")
LONG_FUNCTION, LONG_CLASS, MANY_PARAMETERS = 60, 200, 8

Function = ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom
Sources = Mapping[str, str]
"""Text of each file by its path below `src/`."""


@dataclass(frozen=True)
class Structure:
    """What is counted, in the order in which it is printed."""

    files: int
    lines: int
    median_file: int
    p90_file: int
    longest_file: int
    long_functions: int
    long_classes: int
    functions_with_many_parameters: int
    modules_in_import_cycles: int
    imports_inside_functions: int
    largest_fan_out: int
    largest_fan_out_module: str
    names_in_all: int
    file_names_used_twice: int
    class_names_used_twice: int
    trainer_fields: int
    docstrings_with_what_or_who: int
    told: int
    one: int
    found: int


LABELS = {
    "files": "files",
    "lines": "lines",
    "median_file": "lines of the median file, without `__init__`",
    "p90_file": "lines of the file at 90 %",
    "longest_file": "lines of the longest file",
    "long_functions": f"functions > {LONG_FUNCTION} lines",
    "long_classes": f"classes > {LONG_CLASS} lines",
    "functions_with_many_parameters": f"functions with > {MANY_PARAMETERS} parameters",
    "modules_in_import_cycles": "modules in cycles at import time",
    "imports_inside_functions": "imports inside functions",
    "largest_fan_out": "largest fan-out: own modules that one module imports",
    "largest_fan_out_module": "the module with that fan-out",
    "names_in_all": "names in `__all__`",
    "file_names_used_twice": "file names used twice or more",
    "class_names_used_twice": "class names used twice or more",
    "trainer_fields": "fields of `Trainer`",
    "docstrings_with_what_or_who": "docstrings that begin with What or Who",
    "told": "assignments to `told`",
    "one": "assignments to `one`",
    "found": "assignments to `found`",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rev", help="a git revision to measure beside the working tree")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    columns = {} if options.rev is None else {options.rev: measure(sources_of_revision(options.rev))}
    columns["working tree"] = measure(sources_of_working_tree())
    if options.json:
        print(json.dumps({name: asdict(column) for name, column in columns.items()}, indent=2))
    else:
        print(format_table(columns))


def sources_of_working_tree(root: Path = ROOT) -> dict[str, str]:
    folder = root / "src"
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.py"))}


def sources_of_revision(revision: str, root: Path = ROOT) -> dict[str, str]:
    command = ["git", "archive", revision, "src"]
    done = subprocess.run(command, cwd=root, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        members = [member for member in archive if member.isfile() and member.name.endswith(".py")]
        texts = {member.name: archive.extractfile(member) for member in members}
        return {name.removeprefix("src/"): file.read().decode() for name, file in texts.items() if file}


def measure(sources: Sources) -> Structure:
    """All numbers of one version of the source."""
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lengths = {path: len(text.splitlines()) for path, text in sources.items()}
    own = sorted(length for path, length in lengths.items() if not path.endswith("__init__.py"))
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    functions = [node for node in nodes if isinstance(node, Function)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    modules = {_module_name(path): tree for path, tree in trees.items()}
    fan_out = {name: len(_own_imports(name, ast.walk(tree), modules)) for name, tree in modules.items()}
    widest = max(fan_out, key=lambda name: (fan_out[name], name))
    names = [PurePosixPath(path).name for path in sources if not path.endswith("__init__.py")]
    assigned = Counter(
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return Structure(
        files=len(sources),
        lines=sum(lengths.values()),
        median_file=round(statistics.median(own)),
        p90_file=own[min(len(own) - 1, int(0.9 * len(own)))],
        longest_file=own[-1],
        long_functions=sum(_lines_of(node) > LONG_FUNCTION for node in functions),
        long_classes=sum(_lines_of(node) > LONG_CLASS for node in classes),
        functions_with_many_parameters=sum(_count_parameters(node) > MANY_PARAMETERS for node in functions),
        modules_in_import_cycles=len(find_cycles(modules)),
        imports_inside_functions=len(_imports_inside(functions)),
        largest_fan_out=fan_out[widest],
        largest_fan_out_module=widest.removeprefix(f"{PACKAGE}."),
        names_in_all=sum(_count_exports(tree) for tree in trees.values()),
        file_names_used_twice=_count_repeated(names),
        class_names_used_twice=_count_repeated(node.name for node in classes),
        trainer_fields=max((_count_fields(node) for node in classes if node.name == "Trainer"), default=0),
        docstrings_with_what_or_who=sum(_begins_vaguely(text) for text in _docstrings(nodes)),
        **{name: assigned[name] for name in VAGUE},
    )


def find_cycles(modules: Mapping[str, ast.Module]) -> set[str]:
    """Modules that import themselves through others while they are imported.

    Imports inside functions and those for type checkers only do not count.
    """
    edges = {
        name: _own_imports(name, _run_at_import(tree), modules) - {name} for name, tree in modules.items()
    }

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(edges[start])
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += edges[name]
        return seen

    return {name for name in modules if name in reachable(name)}


def format_table(columns: Mapping[str, Structure]) -> str:
    rows = ["| | " + " | ".join(columns) + " |", "| --- |" + " --: |" * len(columns)]
    for field in fields(Structure):
        values = [asdict(column)[field.name] for column in columns.values()]
        cells = [f"{value:,}" if isinstance(value, int) else f"`{value}`" for value in values]
        rows.append(f"| {LABELS[field.name]} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _module_name(path: str) -> str:
    return ".".join(PurePosixPath(path).with_suffix("").parts).removesuffix(".__init__")


def _own_imports(module: str, nodes: Iterable[ast.AST], modules: Mapping[str, ast.Module]) -> set[str]:
    """Modules of the package that import statements name; `from package import module` means the module."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            submodules = inner & modules.keys()
            names |= submodules or {node.module}
    return names & modules.keys()


def _run_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run when a module is imported: nothing inside functions or `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, Function | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _run_at_import(child)


def _imports_inside(functions: Iterable[Function]) -> set[Import]:
    return {node for function in functions for node in ast.walk(function) if isinstance(node, Import)}


def _lines_of(node: Function | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _count_parameters(node: Function) -> int:
    given = node.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def _count_exports(tree: ast.Module) -> int:
    """Strings in `__all__`, in whatever way the list is written."""
    lists = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]
    ]
    return sum(isinstance(node, ast.Constant) for value in lists for node in ast.walk(value))


def _count_repeated(names: Iterable[str]) -> int:
    return sum(count > 1 for count in Counter(names).values())


def _count_fields(node: ast.ClassDef) -> int:
    return sum(isinstance(line, ast.AnnAssign) for line in node.body)


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Texts that stand by themselves in a module, a class or a function: those under attributes too."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            values = [line.value for line in node.body if isinstance(line, ast.Expr)]
            constants = [value.value for value in values if isinstance(value, ast.Constant)]
            yield from (text for text in constants if isinstance(text, str))


def _begins_vaguely(text: str) -> bool:
    return text.lstrip().startswith(("What", "Who "))


if __name__ == "__main__":
    main()
