"""Answers of language models about an inspected episode: `reviews.jsonl` beside it, oldest first.

Answers come from outside: they are shown, and never interpreted.
"""

from dataclasses import dataclass

from gymsolve.runs.inspections import Inspection
from gymsolve.runs.records import append_record, read_records
from gymsolve.runs.schema import REVIEW, fitting

_FILE = "reviews.jsonl"


@dataclass(frozen=True)
class StoredReview:
    """One answer, with its question and model."""

    time: str
    host: str
    model: str
    question: str
    """The user's own question; may be empty."""
    answer: str
    tokens: int
    """Tokens of question and answer; 0 where the server did not say."""
    prompt_sha256: str
    prompt_bytes: int
    picture_bytes: int


def append_review(stored: Inspection, review: StoredReview) -> None:
    """Store an answer with its episode."""
    append_record(stored.path / _FILE, vars(review))


def read_reviews(stored: Inspection) -> list[StoredReview]:
    """Stored reviews, oldest first; other lines are left out."""
    rows = read_records(stored.path / _FILE, fitting(REVIEW)).rows
    return [StoredReview(**{name: row[name] for name in REVIEW}) for row in rows]
