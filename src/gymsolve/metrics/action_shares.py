"""Shares of an action's choices: the names `action/share_…` in records, and histograms read back from them.

A record has a few dozen shares at most. Where there are more choices, neighbours are counted together.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

PREFIX = "action/share_"
_MOST = 32
"""Shares in a record, of all parts together."""
_NAME = re.compile(rf"{PREFIX}(?:(?P<part>\d+)_)?(?P<first>\d+)(?:to(?P<last>\d+))?")

Histogram = tuple[list[float], list[float]]
"""Shares, and the edges of their bars: one more."""


def choice_ranges(nvec: tuple[int, ...]) -> list[list[range]]:
    """Ranges of choices that are counted together, for each part of an action.

    They are as small as the room in a record allows; empty if each part would have a single bar.
    """
    if sum(nvec) <= _MOST:
        return [[range(choice, choice + 1) for choice in range(choices)] for choices in nvec]
    room = _MOST // len(nvec)
    if room < 2:
        return []
    widths = [-(-choices // room) for choices in nvec]
    return [
        [range(first, min(first + width, choices)) for first in range(0, choices, width)]
        for choices, width in zip(nvec, widths, strict=True)
    ]


def share_name(choices: range, part: int | None = None) -> str:
    """The name of a share; `part` is None where an action has one part only."""
    owner = "" if part is None else f"{part}_"
    return f"{PREFIX}{owner}{label_choices(choices)}"


def label_choices(choices: range) -> str:
    """`7` for a single choice, `8to11` for several."""
    return str(choices[0]) if len(choices) == 1 else f"{choices[0]}to{choices[-1]}"


def group_names(names: Iterable[str]) -> dict[int | None, dict[str, range]]:
    """Names of shares among other names, by part and in order of their choices."""
    groups: dict[int | None, dict[str, range]] = {}
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None:
            part = None if match["part"] is None else int(match["part"])
            first = int(match["first"])
            groups.setdefault(part, {})[name] = range(first, int(match["last"] or first) + 1)
    return {
        part: dict(sorted(groups[part].items(), key=lambda item: item[1].start))
        for part in sorted(groups, key=lambda part: -1 if part is None else part)
    }


def action_histograms(record: Mapping[str, Any]) -> dict[str, Histogram]:
    """`action/histogram`, or one for each part; empty when a record has no shares."""
    return {
        "action/histogram" if part is None else f"action/histogram_{part}": _histogram(record, named)
        for part, named in group_names(record).items()
    }


def _histogram(record: Mapping[str, Any], named: Mapping[str, range]) -> Histogram:
    """Bars from the first choice to the last one; a choice without a share gets 0."""
    shares: list[float] = []
    edges = [-0.5]
    for name, choices in named.items():
        for missing in range(round(edges[-1] + 0.5), choices.start):
            shares.append(0.0)
            edges.append(missing + 0.5)
        shares.append(float(record[name]))
        edges.append(choices.stop - 0.5)
    return shares, edges
