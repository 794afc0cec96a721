"""Words for faults of code of the user's own: it is not found, not importable, raises, or does not fit."""

import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import Any

from gymsolve.crash_sites import FAULTS, TRACEBACK, describe_error, is_below, place_of_error
from gymsolve.errors import (
    ConfigError,
    EnvFaultError,
    GymsolveError,
    OwnCodeError,
    UnknownEnvError,
    did_you_mean,
)
from gymsolve.own_code import import_code, is_findable

_EXIT = "Importing it should only define and register; put the rest below `if __name__ == '__main__':`."
_ANY = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
_STEMS = ("lib", "lib64", "Lib")


def import_own(path: str, where: str, given: str | None = None) -> ModuleType:
    """Import the module of `module:Name`, or say in a sentence why that is not possible.

    `given` is the whole name as the user wrote it.
    """
    module, whole = path.partition(":")[0], given or path
    if module == "__main__" and where != "env.id":
        hint = "Put the class into a module of its own."
        raise ConfigError(f"no other process can import {path!r}.", where=where, hint=hint)
    try:
        return import_code(module)
    except GymsolveError:
        raise  # refused
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise import_fault(module, whole, error, where) from error  # something that the module imports
        kind = UnknownEnvError if where == "env.id" else ConfigError
        problem = f"there is no module {module!r} to import for {whole!r}."
        raise kind(problem, where=where, hint=looked_for(module)) from error
    except FAULTS as error:
        raise import_fault(module, whole, error, where) from error


def looked_for(module: str) -> str:
    """A sentence: where a module is looked for."""
    folders = own_folders()
    where = f"{', '.join(folders)}, then among packages" if folders else "installed packages alone"
    return f"A file {module.partition('.')[0]}.py is looked for in {where}."


def require_found(modules: Sequence[str], files: Mapping[str, str], run: str) -> None:
    """Refuse to go on where a module of a run is missing; `files` says where they were for the run."""
    for module in modules:
        if is_findable(module):
            continue
        was = files.get(module)
        hint = looked_for(module)
        if was is not None:
            folder = Path(was).parents[module.count(".") + (Path(was).name == "__init__.py")]
            where = f"start in {folder}, or set PYTHONPATH={folder}"
            hint += f" For the run it was {was}: if it is still there, {where}."
        raise UnknownEnvError(f"there is no module {module!r} here, which run {run} needs.", hint=hint)


def own_folders() -> list[str]:
    """The folders on Python's path that are not Python's own and not those of installed packages."""
    installed = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    tools = (*(str(Path(sys.prefix) / stem) for stem in _STEMS), str(Path(sys.executable).parent))
    own = str(Path(__file__).parents[1])
    given = [str(Path(place).absolute()) for place in sys.path if not place.endswith(".zip")]
    strange = [place for place in given if place not in (*installed, *tools, own)]
    return [
        place
        for place in dict.fromkeys(strange)
        if not is_below(place, (*installed, *tools)) and not _is_internal(place)
    ]


def _is_internal(place: str) -> bool:
    return place.startswith("__editable__") or not Path(place).is_dir()


def import_fault(module: str, given: str, error: BaseException, where: str = "env.id") -> GymsolveError:
    """The module of `module:Name` is there and cannot be imported."""
    kind = EnvFaultError if where == "env.id" else OwnCodeError
    if isinstance(error, SyntaxError):
        code = f": `{error.text.strip()}`" if error.text else ""
        problem = f"{error.msg}{place_of_error(error)}{code}"
        what = f"Python cannot read the module {module!r} of {given}: {problem}."
        return kind(what, where=where, hint="Mend that line.")
    if isinstance(error, SystemExit):
        what = f"the module {module!r} of {given} ended the program with sys.exit{place_of_error(error)}."
        return kind(what, where=where, hint=_EXIT)
    missing = isinstance(error, ModuleNotFoundError) and error.name is not None
    what = f"{given} cannot be imported: {describe_error(error)}{place_of_error(error)}."
    hint = "Install what it imports, or mend the name." if missing else TRACEBACK
    return kind(what, where=where, hint=hint)


@contextmanager
def blaming(name: str, where: str, doing: str) -> Iterator[None]:
    """Errors of the user's own class become one sentence that names it, what it was `doing`, and the line."""
    try:
        yield
    except GymsolveError:
        raise
    except FAULTS as error:
        what = f"{name} raised {describe_error(error)} in {doing}{place_of_error(error)}."
        raise OwnCodeError(what, where=where, hint=TRACEBACK) from error


def blaming_own(name: str, where: str, doing: str) -> AbstractContextManager[None]:
    """Like `blaming` for a `module:Class`; errors of a built-in part stay as they are."""
    return blaming(name, where, doing) if ":" in name else nullcontext()


def require_takes(function: Callable[..., Any], name: str, where: str, arguments: tuple[str, ...]) -> None:
    """Refuse a function of the user's own that cannot be called with these arguments in this order."""
    try:
        signature(function).bind(*arguments)
    except TypeError as error:
        wanted = ", ".join(arguments)
        raise ConfigError(f"{name} should take ({wanted}): {error}.", where=where) from error
    except ValueError:  # code that Python cannot look into
        return


def require_options(
    kind: Any, name: str, where: str, options: Mapping[str, Any], passed: tuple[str, ...] = ()
) -> None:
    """Refuse options that a constructor does not take besides what is `passed`, and those that it misses."""
    try:
        parameters = list(signature(kind).parameters.values())
    except ValueError:  # code that Python cannot look into
        return
    known = [parameter.name for parameter in parameters[len(passed) :] if parameter.kind not in _ANY]
    takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    for option in options:
        if option not in known and not takes_all:
            takes = f"It takes: {', '.join(known)}." if known else "It takes none."
            hint = did_you_mean(option, known) or takes
            raise ConfigError(f"{name} has no such option.", where=f"{where}.options.{option}", hint=hint)
    try:
        signature(kind).bind(*passed, **options)
    except TypeError as error:
        given = ", ".join([*passed, *(f"{option}=…" for option in options)])
        raise ConfigError(f"{name}({given}) cannot be called: {error}.", where=where) from error
