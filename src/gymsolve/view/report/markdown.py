"""A document as Markdown: charts become text, so that it can be read, mailed and pasted anywhere."""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from gymsolve.view.report.document import (
    Block,
    Bullets,
    Clip,
    Code,
    Document,
    Figures,
    Finding,
    Fold,
    Paragraph,
    Picture,
    Section,
    Table,
    Tile,
)
from gymsolve.view.report.textchart import text_of

_SPECIAL = re.compile(r"([\\`*\[\]<|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[>#+-])")
"""Underscores within words mean nothing to Markdown, and names of settings are full of them."""


def render_markdown(document: Document) -> str:
    parts = [f"# {_escape(document.title)} ({_escape(document.badge)})", _escape(document.lead)]
    if document.tiles:
        parts.append("\n".join(map(_tile, document.tiles)))
    for section in document.sections:
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def _tile(tile: Tile) -> str:
    return f"- {_escape(tile.label)}: **{_escape(tile.value)}** ({_escape(tile.note)})"


def _section(section: Section) -> list[str]:
    return [f"## {_escape(section.title)}", *_blocks(section.blocks)] if section.blocks else []


def _blocks(blocks: Iterable[Block]) -> list[str]:
    return [part for block in blocks for part in _block(block)]


def _block(block: Block) -> list[str]:
    match block:
        case Paragraph(text):
            return [_escape(text)]
        case Bullets(items):
            return ["\n".join(f"- {_escape(item)}" for item in items)]
        case Code(text):
            return [_fence(text)]
        case Table():
            return [_table(block)]
        case Figures(charts):
            notes = [f"{_escape(chart.title)}. {_escape(chart.note)}".strip() for chart in charts]
            return [
                part
                for chart, note in zip(charts, notes, strict=True)
                for part in (note, _fence(text_of(chart)))
            ]
        case Clip(path, caption):
            return [f"[{_escape(caption)}]({quote(path)})"]
        case Picture(path, caption):
            return [f"![{_escape(caption)}]({quote(path)})"]
        case Finding(severity, title, details):
            lines = [f"- {_escape(name)}: {_escape(text)}" for name, text in details]
            return [f"**{severity.upper()}: {_escape(title)}**", "\n".join(lines)]
        case Fold(title, blocks):
            return [f"### {_escape(title)}", *_blocks(blocks)]


def _table(table: Table) -> str:
    rules = ["---:" if index in table.right else "---" for index in range(len(table.headers))]
    return "\n".join([_row(table.headers), f"| {' | '.join(rules)} |", *map(_row, table.rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escape(cell) for cell in cells)} |"


def _fence(text: str) -> str:
    """A fence longer than any in the text, so that nothing ends it early."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.splitlines()))
