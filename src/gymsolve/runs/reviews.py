"""What language models said of an inspected episode; `reviews.jsonl` beside it, oldest first.

Answers are text of strangers: they are shown, and never interpreted.
"""

from dataclasses import dataclass
from typing import Any

from gymsolve.runs.inspections import Inspection
from gymsolve.runs.records import append_record, read_records
from gymsolve.runs.schema import REVIEW, find_fault

_FILE = "reviews.jsonl"


@dataclass(frozen=True)
class StoredReview:
    """One answer, and what was asked of whom."""

    time: str
    host: str
    model: str
    question: str
    """What the user wanted to know besides; may be empty."""
    answer: str
    tokens: int
    """Of question and answer; 0 where the server did not say."""
    prompt_sha256: str
    prompt_bytes: int
    picture_bytes: int


def append_review(stored: Inspection, review: StoredReview) -> None:
    """Keep an answer with its episode."""
    append_record(stored.path / _FILE, vars(review))


def read_reviews(stored: Inspection) -> list[StoredReview]:
    """What was kept, oldest first; lines that are no reviews are left out."""
    rows = read_records(stored.path / _FILE, _fits).rows
    return [StoredReview(**{name: row[name] for name in REVIEW}) for row in rows]


def _fits(row: Any) -> bool:
    return find_fault(row, REVIEW) is None
