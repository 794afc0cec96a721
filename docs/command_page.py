"""`cli.md`: the help of every command."""

from typing import Any

import typer.core

from gymsolve.cli.app import command_tree

__all__ = ["render_commands"]

_WIDTH = 100
_INTRO = """\
<!-- Made by docs/generate.py from the help of every command; do not edit. -->

# The command line
"""


def render_commands() -> str:
    """The help of every command, as Markdown."""
    return _INTRO + "".join(_section(command_tree(), "gymsolve", None))


def _section(command: Any, name: str, parent: Any) -> list[str]:
    # The width is fixed so that the file does not depend on somebody's terminal.
    context = command.make_context(
        name, [], parent=parent, resilient_parsing=True, terminal_width=_WIDTH, max_content_width=_WIDTH
    )
    text = "\n".join(line.rstrip() for line in context.get_help().splitlines())
    sections = [f"\n## `{context.command_path}`\n\n```text\n{text}\n```\n"]
    if isinstance(command, typer.core.TyperGroup):
        for inner in command.commands:
            sections += _section(command.commands[inner], inner, context)
    return sections
