"""Tables and frames of text, with nothing but the standard library, so that listing things is quick."""

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

GAP = 2
"""Blanks between two columns."""
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_ONE_WORD = re.compile(r"(?<=\d) (?=(?:s|ms|µs|min|h|d|%|steps?|episodes?)\b|%)|(?<=\d) (?=±)|(?<=±) ")
"""Blanks between a number and its unit or its spread."""
_BOUND = "\N{NO-BREAK SPACE}"

Line = list[tuple[str, str]]
"""Pieces of one line of text, each with its style: words such as `bold red`, or nothing."""


def text_width(text: str) -> int:
    """Columns a text takes: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


@cache
def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def can_say(text: str, encoding: str | None) -> bool:
    """True if a stream's encoding has these characters."""
    with suppress(UnicodeEncodeError):
        text.encode(encoding or "utf-8")
        return True
    return False


def styled(text: str, style: str) -> str:
    """The text between the codes that switch a style on and off; no style leaves it alone."""
    if not (style and text):
        return text
    return f"\x1b[{';'.join(_CODES[word] for word in style.split())}m{text}\x1b[0m"


def join_pieces(line: Line, *, colours: bool = False) -> str:
    """The text of a line, with the codes of its styles if `colours`."""
    return "".join(styled(text, style if colours else "") for text, style in line)


def cut(line: Line, width: int) -> Line:
    """The line; where it is too wide, its beginning and an ellipsis."""
    if sum(text_width(text) for text, _ in line) <= width:
        return line
    kept: Line = []
    room = max(0, width - 1)
    for text, style in line:
        while text_width(text) > room:
            text = text[: min(room, len(text) - 1)]
        kept.append((text, style))
        room -= text_width(text)
    return [*kept, ("…"[:width], "dim")]


def table_lines(
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    right: Sequence[int] = (),
    styles: Sequence[Sequence[str]],
    break_words: bool = True,
) -> list[str]:
    """Rows as aligned lines; where `width` is too small, the widest columns are folded.

    Without `break_words` a long word, such as a path, stays whole.
    """
    widths = _fit([max(map(text_width, column)) for column in zip(*rows, strict=True)], width)
    lines = []
    for row, row_styles in zip(rows, styles, strict=True):
        folded = [_fold(cell, room, break_words) for cell, room in zip(row, widths, strict=True)]
        for index in range(max(map(len, folded))):
            cells = []
            for column, (parts, room) in enumerate(zip(folded, widths, strict=True)):
                part = parts[index] if index < len(parts) else ""
                blanks = " " * (room - text_width(part))
                cell = styled(part, row_styles[column])
                cells.append(blanks + cell if column in right else cell + blanks)
            lines.append((" " * GAP).join(cells).rstrip())
    return lines


def fold(text: str, width: int, **options: Any) -> list[str]:
    """Lines of at most this width; a number stays with its unit."""
    lines = textwrap.wrap(_ONE_WORD.sub(_BOUND, text), width, **options)
    return [line.replace(_BOUND, " ") for line in lines]


def panel_lines(title: str, body: Sequence[str], *, width: int, frame: str = "", bold: str = "") -> list[str]:
    """Lines in a frame with a title; a line that is too long is not cut and extends beyond the frame."""
    inside = max(1, width - 4)
    ((head, _), *rest) = cut([(title, "")], inside - 2)
    head = f" {head}{''.join(text for text, _ in rest)} "
    top = "─" * max(0, width - 3 - text_width(head))
    name = styled(head, f"{bold} {frame}".strip())
    lines = [f"{styled('╭─', frame)}{name}{styled(f'{top}╮', frame)}"]
    for line in body:
        edge = styled("│", frame) if text_width(line) <= inside else ""
        lines.append(f"{styled('│', frame)} {line}{' ' * (inside - text_width(line))} {edge}".rstrip())
    return [*lines, styled(f"╰{'─' * max(0, width - 2)}╯", frame)]


def _fit(widths: list[int], most: int) -> list[int]:
    room = max(most - GAP * (len(widths) - 1), len(widths))
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    return widths


def _fold(cell: str, room: int, break_words: bool) -> list[str]:
    if text_width(cell) <= room and "\n" not in cell and "\r" not in cell:
        return [cell]
    options = {"break_long_words": break_words, "break_on_hyphens": break_words}
    return [part for line in cell.splitlines() for part in fold(line, room, **options) or [""]]
