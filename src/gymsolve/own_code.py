"""Code of the user's own: which settings lead to an import, and the import itself.

gymsolve imports `env.id: module:Id` and a wrapper `module:Class`, also those of single tasks (`env.tasks`),
and `module:Class` as `net.encoder`, `algo.name` or one of `observers`. Each of them may import text of that
form among its options. Nothing that lies in the folder of a run, or is reached through a runs folder, is ever
imported: anybody may have written it. `runs/trust.py` decides whether a *run* may name code at all.
"""

import importlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from gymsolve.errors import CodeRefusedError

_PATH = re.compile(r"[\w.-]+:[\w./:-]+")
"""Text among options that may name code."""


def code_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that lead to an import, from all settings of a run in `config.json`."""
    of_parts = [word for part in own_parts(config) for word in _texts(part) if _PATH.fullmatch(word)]
    return tuple(dict.fromkeys([*code_in(config.get("env") or {}), *of_parts]))


def own_parts(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The settings of the encoder, the algorithm and the observers that are code of the user's own."""
    net, algo = config.get("net") or {}, config.get("algo") or {}
    parts = [net.get("encoder"), algo if ":" in str(algo.get("name")) else None]
    return [_spelled_out(part) for part in (*parts, *(config.get("observers") or ())) if part]


def _spelled_out(part: Any) -> Mapping[str, Any]:
    """A part that may be written as `name` or as `name: {options}`."""
    return (
        part if isinstance(part, Mapping) and "name" in part else {"name": _wrapper_name(part), "given": part}
    )


def modules_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The modules that settings name for certain; text among options only may name one."""
    env = config.get("env") or {}
    names = [part["name"] for part in own_parts(config)]
    for settings in (env, *(env.get("tasks") or {}).values()):
        wrappers = settings.get("wrappers") or ()
        names += [settings.get("id") or "", *(_wrapper_name(wrapper) for wrapper in wrappers)]
    return tuple(dict.fromkeys(name.rpartition(":")[0] for name in names if ":" in name))


def files_of(config: Mapping[str, Any]) -> dict[str, str]:
    """The files from which this process imported the modules that settings name."""
    imported = [name for name in modules_of(config) if name in sys.modules]
    files = {name: vars(sys.modules[name]).get("__file__") for name in imported}
    return {name: str(Path(file).absolute()) for name, file in files.items() if file}


def is_findable(module: str) -> bool:
    """True if Python finds the module, or the package that it is in; nothing is imported for that."""
    top = module.partition(".")[0]
    if top in sys.modules:
        return True
    try:
        return find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def code_in(env: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that lead to an import, from the settings of an environment in `config.json`."""
    wrappers = env.get("wrappers") or ()
    own = [env.get("id") or "", *(_wrapper_name(wrapper) for wrapper in wrappers)]
    passed_on = [word for word in _texts((env.get("kwargs") or {}, wrappers)) if _PATH.fullmatch(word)]
    of_tasks = [name for task in (env.get("tasks") or {}).values() for name in code_in(task)]
    return tuple(dict.fromkeys([*(name for name in own if ":" in name), *passed_on, *of_tasks]))


def import_code(module: str) -> ModuleType:
    """Import a module that the user or a trusted run has named; refuse modules in a runs folder."""
    if not module or module.startswith(".") or not module.isprintable():
        raise ModuleNotFoundError(f"{module!r} is not the name of a module")
    guard = _OutsideRuns(module)
    sys.meta_path.insert(0, guard)
    try:
        return importlib.import_module(module)
    finally:
        sys.meta_path.remove(guard)


def is_in_run(path: Path) -> bool:
    """True for a path in the folder of a run."""
    return any((folder / "run.json").is_file() for folder in (path, *path.parents))


class _OutsideRuns(MetaPathFinder):
    """Refuses modules that lie in a runs folder, including those that the imported module imports."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._files: dict[Path, bool] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        for place in _places(spec):
            if self._refuses(fullname, place) or self._refuses(fullname, place.resolve()):
                raise CodeRefusedError(
                    f"{place} lies among runs, and nothing is imported from there.",
                    hint="Move the code to a folder of its own.",
                )
        return spec

    def _refuses(self, fullname: str, place: Path) -> bool:
        if any(self._holds(folder, "run.json") for folder in (place, *place.parents)):
            return True
        # A folder on Python's own path may hold runs and code side by side.
        reached = (place, *place.parents[: fullname.count(".")])
        named = f"{self._module}.".startswith(f"{fullname}.")
        return any(self._holds(folder, "@last") or (named and _has_runs(folder)) for folder in reached)

    def _holds(self, folder: Path, name: str) -> bool:
        place = folder / name
        if place not in self._files:  # a module may import thousands of others, from few folders
            self._files[place] = place.is_file()
        return self._files[place]


def _places(spec: ModuleSpec | None) -> Iterator[Path]:
    """The file of a module, or the folders of a package."""
    if spec is None:
        return
    if spec.submodule_search_locations is not None:
        yield from (Path(folder).absolute() for folder in spec.submodule_search_locations)
    elif spec.has_location and spec.origin is not None:
        yield Path(spec.origin).absolute()


def _has_runs(folder: Path) -> bool:
    return folder.is_dir() and any((inner / "run.json").is_file() for inner in folder.iterdir())


def _wrapper_name(wrapper: Any) -> str:
    """The name of a wrapper, written as `name`, as `name: {options}` or as `{name: …, options: …}`."""
    if isinstance(wrapper, Mapping):
        wrapper = wrapper["name"] if "name" in wrapper else next(iter(wrapper), "")
    return wrapper if isinstance(wrapper, str) else ""


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _texts(value)
