"""A document as one HTML page that needs nothing else: no script, no network. All text is escaped."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
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
from gymsolve.view.report.figures import Bars, Curves, Figure, Split, Stack
from gymsolve.view.report.svg import draw

_FLAG = re.compile(r"(?<!\S)(--[a-z-]+)")


def render_page(document: Document) -> str:
    title = escape(document.title)
    style = (resources.files("gymsolve") / "view" / "report" / "style.css").read_text(encoding="utf-8")
    body = [
        f'<h1>{title} <span class="badge {document.tone}">{escape(document.badge)}</span></h1>',
        f'<p class="lead">{_prose(document.lead)}</p>',
        _tiles(document.tiles),
        *map(_section, document.sections),
    ]
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head>"
    )
    return f"{head}\n<body><main>\n" + "\n".join(filter(None, body)) + "\n</main></body></html>\n"


def _section(section: Section) -> str:
    if not section.blocks:
        return ""
    return f"<section><h2>{escape(section.title)}</h2>\n" + _blocks(section.blocks) + "</section>"


def _blocks(blocks: Iterable[Block]) -> str:
    return "".join(f"{_block(block)}\n" for block in blocks)


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{_prose(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"
        case Code(text):
            return f"<pre>{escape(text)}</pre>"
        case Table():
            return _table(block)
        case Figures(charts):
            return '<div class="figures">' + "".join(map(_figure, charts)) + "</div>"
        case Clip(path, caption):
            still = escape(
                quote(f"{path.removesuffix('.mp4')}.jpg")
            )  # older runs have none: the browser goes on
            source = f'poster="{still}" src="{escape(quote(path))}"'
            player = f'<video controls preload="metadata" loop muted {source}></video>'
            return f'{player}<p class="soft">{escape(caption)}</p>'
        case Picture(path, caption):
            picture = f'<img alt="{escape(caption)}" src="{escape(quote(path))}">'
            return f'{picture}<p class="soft">{escape(caption)}</p>'
        case Finding():
            return _finding(block)
        case Fold(title, blocks):
            return f"<details><summary>{escape(title)}</summary>\n{_blocks(blocks)}</details>"


def _prose(text: str) -> str:
    """Escaped; a flag such as --set is not broken after its dashes."""
    return _FLAG.sub(r'<span class="flag">\1</span>', escape(text))


def _tiles(tiles: Sequence[Tile]) -> str:
    if not tiles:
        return ""
    cells = [
        f'<div class="tile"><span>{escape(tile.label)}</span><b>{escape(tile.value)}</b>'
        f"<span>{escape(tile.note)}</span></div>"
        for tile in tiles
    ]
    return '<div class="tiles">' + "".join(cells) + "</div>"


def _table(table: Table) -> str:
    marks = [' class="r"' if index in table.right else "" for index in range(len(table.headers))]
    head = "".join(f"<th{mark}>{escape(cell)}</th>" for mark, cell in zip(marks, table.headers, strict=True))
    rows = [
        "<tr>"
        + "".join(f"<td{mark}>{escape(cell)}</td>" for mark, cell in zip(marks, row, strict=True))
        + "</tr>"
        for row in table.rows
    ]
    return f'<div class="scroll"><table><tr>{head}</tr>\n' + "\n".join(rows) + "</table></div>"


def _finding(finding: Finding) -> str:
    details = "".join(f"<dt>{escape(name)}</dt><dd>{_prose(text)}</dd>" for name, text in finding.details)
    title = f"{escape(finding.severity.upper())} · {escape(finding.title)}"
    return f'<div class="finding {escape(finding.severity)}"><b>{title}</b><dl>{details}</dl></div>'


def _figure(chart: Figure) -> str:
    note = f"<small>{escape(chart.note)}</small>" if chart.note else ""
    keys = "".join(
        f'<span class="key"><i class="c{index % 8}"></i>{escape(label)}</span>'
        for index, label in enumerate(_labels(chart))
    )
    return f"<figure><figcaption><b>{escape(chart.title)}</b>{keys}{note}</figcaption>{draw(chart)}</figure>"


def _labels(chart: Figure) -> list[str]:
    match chart:
        case Curves():
            return [line.label for line in chart.lines]
        case Stack():
            return list(chart.labels)
        case Split():
            whole = sum(share for _, share in chart.parts) or 1.0
            return [f"{label} {share / whole:.0%}" for label, share in chart.parts]
        case Bars():
            return []
