"""Commands that are imported when they are called: listing them reads their help and imports nothing."""

import inspect
from collections import UserDict
from collections.abc import Mapping
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.util import find_spec
from types import CodeType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

_FOLDER = "gymsolve.cli.commands"


class LazyCommands(UserDict[str, Any]):
    """Commands by name, given as `module:function` of `cli/commands`; looking one up imports it."""

    def __getitem__(self, name: str) -> Any:
        command = self.data[name]
        if isinstance(command, str):
            command = self.data[name] = _load(name, command)
        return command

    def describe(self, name: str) -> Any:
        """The command, or a stand-in with its name and help where it is not imported yet."""
        command = self.data[name]
        return TyperCommand(name, help=_read_help(command)) if isinstance(command, str) else command


class LazyGroup(TyperGroup):
    """A group whose help and completion import none of its commands."""

    commands: LazyCommands

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self.commands.describe(cmd_name) if cmd_name in self.commands else None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.commands[name], rest


def new_app(**options: Any) -> typer.Typer:
    # Without markup mode typer does not import rich, which would take longer than everything else here.
    return typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"max_content_width": 100},
        **options,
    )


def make_group(name: str, kind: type[LazyGroup], help_text: str, commands: Mapping[str, str]) -> LazyGroup:
    """A group of further commands, each given as `module:function`."""
    group = get_group(new_app(help=help_text, cls=kind))
    assert isinstance(group, LazyGroup)
    group.name, group.commands = name, LazyCommands(commands)
    return group


def _load(name: str, place: str) -> Any:
    """Import a command; a module with further commands below it has an `app`."""
    module, _, function = place.partition(":")
    names = vars(import_module(f"{_FOLDER}.{module}"))
    app = names.get("app")
    if app is None:
        app = new_app(add_completion=False)
        app.command(name)(names[function])
    command = get_command(app)
    command.name = name
    return command


def _read_help(place: str) -> str:
    """The docstring of a command, from the compiled code of its module, which is not run."""
    module, _, function = place.partition(":")
    name = f"{_FOLDER}.{module}"
    spec = find_spec(name)
    assert spec is not None
    assert isinstance(spec.loader, InspectLoader)
    code = spec.loader.get_code(name)
    assert code is not None
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    docstring = next(const.co_consts[0] for const in inner if const.co_name == function)
    return inspect.cleandoc(docstring) if isinstance(docstring, str) else ""  # none under `python -OO`
