"""A report as blocks, before it is HTML or Markdown: sections make these, two renderers read them."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from gymsolve.view.report.figures import Figure

Tone = Literal["good", "bad", "calm"]


class Paragraph(NamedTuple):
    text: str


class Bullets(NamedTuple):
    items: Sequence[str]


class Code(NamedTuple):
    """Text to be copied as it is."""

    text: str


class Table(NamedTuple):
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[int] = ()
    """Columns of numbers."""


class Figures(NamedTuple):
    """Charts that stand side by side where there is room."""

    charts: Sequence[Figure]


class Clip(NamedTuple):
    """A video, by its path from the report's folder."""

    path: str
    caption: str


class Picture(NamedTuple):
    """A picture, by its path from the report's folder."""

    path: str
    caption: str


class Finding(NamedTuple):
    """An alert: severity, what it is, and named details."""

    severity: str
    title: str
    details: Sequence[tuple[str, str]]


class Fold(NamedTuple):
    """Detail that is opened on demand."""

    title: str
    blocks: "Sequence[Block]"


Block = Paragraph | Bullets | Code | Table | Figures | Clip | Picture | Finding | Fold


class Section(NamedTuple):
    title: str
    blocks: Sequence[Block]


class Tile(NamedTuple):
    """A figure worth a large font."""

    label: str
    value: str
    note: str = ""


class Document(NamedTuple):
    title: str
    badge: str
    tone: Tone
    lead: str
    """One paragraph that says it all."""
    tiles: Sequence[Tile] = ()
    sections: Sequence[Section] = ()
