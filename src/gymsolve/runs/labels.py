"""Names and tags that people give runs: `labels.json` in the folder of a run.

The id of a run never changes; its label is one more name for it. A file of its own, because the process that
trains a run writes `run.json`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gymsolve.errors import RunDamagedError, UsageError
from gymsolve.runs.files import read_json
from gymsolve.runs.schema import LABELS, find_fault

LABELS_FILE = "labels.json"
LONGEST_LABEL = 80
LONGEST_TAG = 40
MOST_TAGS = 30
_TAG = re.compile(r"[^\W_][\w.+/=-]*")


@dataclass(frozen=True)
class Labels:
    """The label and the tags of a run; most runs have none."""

    label: str = ""
    tags: tuple[str, ...] = ()

    def tagged(self, add: Iterable[str] = (), remove: Iterable[str] = ()) -> "Labels":
        """With these tags and without those; upper and lower case are the same tag."""
        gone = {tag.lower() for tag in remove}
        kept = {tag.lower(): tag for tag in self.tags if tag.lower() not in gone}
        for tag in add:
            kept.setdefault(tag.lower(), tag)
        if len(kept) > MOST_TAGS:
            raise UsageError(f"{len(kept)} tags are too many for one run.", hint=f"Keep to {MOST_TAGS}.")
        return Labels(self.label, tuple(kept.values()))


def read_labels(folder: Path) -> Labels:
    """The labels of a run; none where the file is missing or damaged, since the run is sound without them."""
    path = folder / LABELS_FILE
    try:
        stored = read_json(path) if path.exists() else {}
    except RunDamagedError:
        return Labels()
    if not stored or find_fault(stored, LABELS) is not None:
        return Labels()
    return Labels(stored["label"][:LONGEST_LABEL], tuple(stored["tags"][:MOST_TAGS]))


def checked_label(label: str) -> str:
    """A label that can stand for a run on a command line; empty for none."""
    label = " ".join(label.split())
    if len(label) > LONGEST_LABEL:
        raise UsageError(f"a name of {len(label)} characters is too long.", hint=f"Take {LONGEST_LABEL}.")
    if not label.isprintable() or label[:1] == "-" or any(sign in label for sign in "@:/\\"):
        raise UsageError(
            f"{label!a} cannot be the name of a run: @, :, / and a dash in front have other meanings.",
            hint="Use letters, digits, blanks and dots.",
        )
    return label


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags that can be searched for: one word each."""
    stripped = tuple(tag.strip() for tag in tags)
    for tag in stripped:
        if not _TAG.fullmatch(tag) or len(tag) > LONGEST_TAG:
            raise UsageError(
                f"{ascii(tag)[:60]} cannot be a tag.",
                hint=f"A tag is one word of at most {LONGEST_TAG} letters, digits and . + / = - _",
            )
    return stripped
