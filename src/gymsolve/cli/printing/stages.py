"""The stages of a curriculum as a table."""

from typing import TYPE_CHECKING

from gymsolve.cli.printing.output import heading, print_table
from gymsolve.text import count, number

if TYPE_CHECKING:
    from gymsolve.service.runs import VisitedStage

__all__ = ["show_stages"]


def show_stages(stages: "list[VisitedStage]") -> None:
    """What each stage came to and what is left of it; nothing without a curriculum."""
    if not stages:
        return
    heading("Stages")
    rows = [
        (
            one.stage,
            count(one.began),
            "" if one.ended is None else count(one.ended),
            one.ending,
            _known(one.achieved),
            _known(one.bound),
            _known(one.now),
            _known(one.forgotten),
            "" if one.master is None else f"@stage-{one.stage}",
        )
        for one in stages
    ]
    headers = ("stage", "from", "to", "ended", "in training", "surely", "now", "forgotten", "weights")
    print_table(headers, rows, right=("from", "to"))


def _known(value: float | None) -> str:
    return "" if value is None else number(value)
