"""A rule about the archive: it may stop growing before the task is solved."""

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import ARCHIVE_WINDOW, archive_growth, is_flat
from gymsolve.doctor.rules.rule import Context, Effect, Evidence, ProposedChange, Rule


def _stalls(history: History, context: Context, active: bool) -> Evidence | None:
    """The archive finds no more cells, and the return does not gain from those it has."""
    growth = archive_growth(history, context)
    if growth is None or not is_flat(history, context, ARCHIVE_WINDOW):
        return None
    new, bar = growth
    if new > (2 * bar if active else bar):
        return None
    meaning = f"cells that archive/cells has gained within {ARCHIVE_WINDOW:.0%} of the budget"
    return Evidence("archive/cells", new, bar, "≤", "and the return is flat", meaning=meaning)


def _finer(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """Divide places into more cells, where a number sets that."""
    kind = context.setting("explore.archive.cells")
    if kind == "hash":
        return [ProposedChange("explore.bits", "up", 1.5)]
    if kind == "bins":
        return [ProposedChange("explore.bins", "up", 4.0)]
    fixed = kind == "frames" and not context.setting("explore.archive.adapt")
    return [ProposedChange("explore.archive.levels", "up", 2.0)] if fixed else []


def _has_archive(context: Context) -> bool:
    return context.setting("explore.archive.capacity") is not None


_UNTAUGHT = ("step_tiny", "policy_frozen", "churn_dead")
"""A policy that learns from lessons alone learns nothing before the first of them."""

ARCHIVE = (
    Rule(
        id="archive_stalled",
        signal=10,
        title="the archive stopped growing before the task was solved",
        needs=("archive/cells", "rollout/ep_rew_mean"),
        check=_stalls,
        cause="cells are too coarse to tell what is new, the archive is full, or nothing is left to be found",
        remedy=_finer,
        instead="tell more places apart (explore.archive.cells) or raise explore.archive.capacity; where all "
        "is found, learn more from it: explore.archive.learn_epochs",
        effect=Effect("archive/cells", "grows"),
        explains=("return_flat", "no_reward", "same_return", "entropy_stuck", *_UNTAUGHT),
        applies=_has_archive,
        standing=True,
    ),
)
