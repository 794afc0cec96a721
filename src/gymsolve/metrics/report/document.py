"""A report as blocks, before it is HTML or Markdown: sections make these, two renderers read them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from gymsolve.metrics.report.figures import Figure

__all__ = [
    "Block",
    "Bullets",
    "Clip",
    "Code",
    "Document",
    "Figures",
    "Finding",
    "Fold",
    "Paragraph",
    "Section",
    "Table",
    "Tile",
]

Tone = Literal["good", "bad", "calm"]


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Bullets:
    items: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Text to be copied as it is."""

    text: str


@dataclass(frozen=True)
class Table:
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[int] = ()
    """Columns of numbers."""


@dataclass(frozen=True)
class Figures:
    """Charts that stand side by side where there is room."""

    charts: Sequence[Figure]


@dataclass(frozen=True)
class Clip:
    """A video, by its path from the report's folder."""

    path: str
    caption: str


@dataclass(frozen=True)
class Finding:
    """An alert: severity, what it is, and named details."""

    severity: str
    title: str
    details: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Fold:
    """Detail that is opened on demand."""

    title: str
    blocks: "Sequence[Block]"


Block = Paragraph | Bullets | Code | Table | Figures | Clip | Finding | Fold


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Tile:
    """A figure worth a large font."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Document:
    title: str
    badge: str
    tone: Tone
    lead: str
    """One paragraph that says it all."""
    tiles: Sequence[Tile] = ()
    sections: Sequence[Section] = field(default=())
