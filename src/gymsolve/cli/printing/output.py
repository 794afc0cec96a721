"""Printing results: JSON for programs, tables for people.

Commands print through here: names from elsewhere must not reach a terminal as commands (`text.printable`).
Off a terminal tables are as wide as they need to be: cut-off ids are of no use to `grep`.
"""

import os
import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TextIO

from gymsolve.cli.printing.only_json import answer_stream
from gymsolve.cli.printing.tables import GAP, panel_lines, styled, table_lines, text_width
from gymsolve.runs.files import to_json
from gymsolve.text import printable

_WIDE = 10_000
_COLOURS = {"solved": "green", "running": "blue", "crashed": "red", "damaged": "red", "stopped": "yellow"}


def say(text: str = "", *, stream: TextIO | None = None) -> None:
    """Print lines of text; where a stream is named, flush it."""
    print(printable(text), file=stream, flush=stream is not None)


def print_json(data: Any) -> None:
    """One line of strict JSON."""
    stream = answer_stream()
    print(printable(to_json(data), json=True), file=stream)
    stream.flush()


def is_terminal() -> bool:
    return sys.stdout.isatty()


def heading(text: str) -> None:
    """A title between parts of a report."""
    print(f"\n{styled(printable(text), _style('bold'))}")


def print_lines(title: str, lines: Sequence[str]) -> None:
    """Indented lines below a heading; nothing without lines."""
    if lines:
        heading(title)
        say("\n".join(f"  {line}" for line in lines))


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Columns with headings; those named in `right` hold numbers. Words for a status are coloured."""
    _print(headers, [_printable(row) for row in rows], right, _width())


def print_section(
    title: str, headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()
) -> None:
    """A table below a heading; nothing without rows."""
    rows = list(rows)
    if rows:
        heading(title)
        print_table(headers, rows, right=right)


def print_whole_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    expendable: Sequence[str] = (),
) -> None:
    """A table whose cells are never folded, so that they can be copied.

    On a narrow terminal this leaves out the `expendable` columns, in their order. The terminal breaks lines
    that are still too long, and joins them again in what is copied.
    """
    rows = [_printable(row) for row in rows]
    columns = zip(headers, *rows, strict=True)
    widths = {name: max(map(text_width, cells)) for name, cells in zip(headers, columns, strict=True)}
    for name in expendable:
        if _whole_width(widths.values()) <= _width():
            break
        del widths[name]
    kept = [index for index, name in enumerate(headers) if name in widths]
    cells = [[row[index] for index in kept] for row in rows]
    _print(list(widths), cells, right, _whole_width(widths.values()))


def print_panel(title: str, body: Sequence[str], style: str) -> None:
    """Lines in a frame of that colour."""
    head, lines, frame = printable(title), _printable(body), _style(style)
    print("\n".join(panel_lines(head, lines, width=_width(), frame=frame, bold=_style("bold"))))


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and what they are, aligned; paths stay whole, so that they can be copied."""
    rows = [_printable((f"  {name}", text)) for name, text in pairs]
    styles = [(_style("dim"), "")] * len(rows)
    for line in table_lines(rows, width=_width(), styles=styles, break_words=False) if rows else ():
        print(line)


def _print(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str], width: int) -> None:
    styles = [[_style("bold")] * len(headers)]
    styles += [[_style(_COLOURS.get(cell, "")) for cell in row] for row in rows]
    numbers = [index for index, name in enumerate(headers) if name in right]
    for line in table_lines([headers, *rows], width=width, right=numbers, styles=styles):
        print(line)


def _printable(cells: Sequence[str]) -> list[str]:
    return [printable(cell) for cell in cells]


def _whole_width(widths: Collection[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _width() -> int:
    return shutil.get_terminal_size().columns if is_terminal() else _WIDE


def _style(name: str) -> str:
    """The style on a terminal with colours, else none."""
    plain = not is_terminal() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return "" if plain else name
