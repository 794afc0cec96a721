"""Printing results: JSON for programs, tables for people.

Off a terminal tables are as wide as they need to be: cut-off ids are of no use to `grep`.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "heading",
    "is_terminal",
    "make_console",
    "print_json",
    "print_pairs",
    "print_table",
    "print_whole_table",
]

_WIDE = 10_000
_GAP = 2
"""Blanks rich puts between two columns."""
_COLOURS = {"solved": "green", "running": "blue", "crashed": "red", "damaged": "red", "stopped": "yellow"}


def print_json(data: Any) -> None:
    """One line of strict JSON."""
    from gymsolve.runs.files import to_json

    print(to_json(data))


def is_terminal() -> bool:
    return sys.stdout.isatty()


def make_console() -> "Console":
    """Standard output; text is never taken for markup, since settings contain square brackets."""
    from rich.console import Console

    return Console(width=None if is_terminal() else _WIDE, markup=False, highlight=False, emoji=False)


def heading(text: str) -> None:
    """A title between parts of a report."""
    make_console().print(f"\n{text}", style="bold")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Columns with headings; those named in `right` hold numbers. Words for a status are coloured."""
    _print_trimmed(_table(headers, rows, right))


def print_whole_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    expendable: Sequence[str] = (),
) -> None:
    """A table whose cells are never folded, so that they can be copied.

    Where the terminal is too narrow, `expendable` columns are left out, in their order; lines that are
    still too long are the terminal's to break, which it undoes in what is copied.
    """
    from rich.cells import cell_len

    console = make_console()
    widths = {
        name: max(map(cell_len, column))
        for name, column in zip(headers, zip(headers, *rows, strict=True), strict=True)
    }
    for name in expendable:
        if sum(widths.values()) + _GAP * (len(widths) - 1) <= console.width:
            break
        del widths[name]
    kept = [index for index, name in enumerate(headers) if name in widths]
    table = _table(list(widths), [[row[index] for index in kept] for row in rows], right)
    _print_trimmed(table, max(console.width, sum(widths.values()) + _GAP * (len(widths) - 1)))


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in headers:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    return table


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and what they are, aligned."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(overflow="fold")
    for name, told in pairs:
        table.add_row(Text(f"  {name}", style="dim"), Text(told))
    _print_trimmed(table)


def _print_trimmed(table: "Table", width: int | None = None) -> None:
    console = make_console()
    if width is not None:
        console.width = width
    if is_terminal():
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():  # cells are padded to their column, also the last one
        print(line.rstrip())
