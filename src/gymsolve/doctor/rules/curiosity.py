"""Rules about the bonus for exploring: it may outweigh the task, or vanish before it led anywhere."""

import math

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import is_flat, return_range
from gymsolve.doctor.rules.remedies import scale
from gymsolve.doctor.rules.rule import (
    ODD_ENTROPY,
    POOR_VALUES,
    Context,
    Effect,
    Evidence,
    ProposedChange,
    Rule,
)
from gymsolve.settings.exploration import LEARNING

_ALIKE = 0.02
"""Returns that are spread like lengths, up to this share, are the same cost in every step."""
_GONE = 0.05
"""A bonus below this share of its largest value no longer counts."""
_EARLY, _LATE = 0.25, 0.5
"""Shares of the budget: the bonus vanishes before the first, and the return is watched up to the second."""
_LUCK = 0.05
"""The mean return may grow by this share of the range of returns by chance."""


def _drowns(history: History, context: Context, active: bool) -> Evidence | None:
    """Returns differ, so the task could be learned from, but advantages hardly contain its reward."""
    value, spread = history.series["bonus/share"].last, history.last("rollout/ep_rew_std")
    if value <= (0.85 if active else 0.9) or not spread or not is_flat(history, context, 0.15):
        return None
    if not _has_found(history):  # then the bonus is all there is to learn from, and less of it finds less
        return None
    return Evidence("bonus/share", value, 0.9, ">", "while returns differ and do not rise")


def _has_found(history: History) -> bool:
    """Did any episode reach something? Unknown counts as yes.

    Where all returns are costs, an early end counts if every step costs alike: then it spares costs.
    """
    successes, best = history.get("rollout/success_rate"), history.get("rollout/ep_rew_max")
    if successes is not None:
        return successes.peak > 0.0
    if best is None or best.peak > 0.0:
        return True
    names = ("rollout/ep_rew_std", "rollout/ep_rew_mean", "rollout/ep_len_std", "rollout/ep_len_mean")
    std, mean, spread, length = (history.last(name) or 0.0 for name in names)
    return spread > 0.0 and math.isclose(std * length, spread * -mean, rel_tol=_ALIKE)


def _vanishes(history: History, context: Context, active: bool) -> Evidence | None:
    """The bonus vanished in the first quarter of the budget, and the return did not grow up to its half."""
    series = history.series["bonus/mean"]
    if series.peak <= 0.0 or not is_flat(history, context, 0.1, luck=_LUCK) or _led_somewhere(history):
        return None
    if context.progress(history) > _EARLY and not active:
        then = series.index_at(_EARLY * (context.budget or 0))
        if then is None or context.progress(history) > _LATE or series.values[then] >= _GONE * series.peak:
            return None
    value = series.last / series.peak
    if value >= (2 * _GONE if active else _GONE):
        return None
    meaning = "bonus/mean as a share of its largest value"
    return Evidence("bonus/mean", value, _GONE, "<", "and the return is flat", meaning=meaning)


def _led_somewhere(history: History) -> bool:
    """The return has gained more than by chance."""
    returns = history.series["rollout/ep_rew_mean"]
    return returns.peak - returns.values[0] > _LUCK * return_range(history)


def _slower(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """Changes that keep states new for longer."""
    if context.setting("explore.bonus") in LEARNING:
        return [ProposedChange("explore.learning_rate", "down", 0.1)]
    binned = context.setting("explore.cells") in ("auto", "bins")
    return [ProposedChange("explore.bins", "up", 4.0)] if binned else []


def _is_curious(context: Context) -> bool:
    return context.setting("explore.bonus") not in (None, "none")


_ODD_ACTIONS = ("action_stuck", "action_saturated")

CURIOSITY = (
    Rule(
        id="bonus_drowns",
        signal=10,
        title="the bonus for exploring drowns the task",
        needs=("bonus/share", "rollout/ep_rew_mean"),
        check=_drowns,
        cause="explore.coef is too large for rewards of this size",
        remedy=scale("explore.coef", 0.1),
        effect=Effect("bonus/share", "falls", below=0.9),
        explains=("return_flat", "return_fell", *ODD_ENTROPY, *_ODD_ACTIONS, "churn_dead", *POOR_VALUES),
        applies=_is_curious,
    ),
    Rule(
        id="bonus_vanished",
        signal=10,
        title="the bonus for exploring was gone before it led anywhere",
        needs=("bonus/mean", "rollout/ep_rew_mean"),
        check=_vanishes,
        cause="its network learns too fast, or its cells are too coarse, so that nothing stays new",
        remedy=_slower,
        instead="let the bonus tell more states apart: explore.cells, explore.bits or explore.entries",
        effect=Effect("bonus/mean", "falls more slowly"),
        explains=("return_flat", *POOR_VALUES),
        applies=_is_curious,
    ),
)
