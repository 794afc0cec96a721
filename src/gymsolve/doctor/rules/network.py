"""Rules about gradients, step sizes and dead units of the network."""

import statistics

from gymsolve.doctor.history import History, Series
from gymsolve.doctor.rules.learning_trend import is_finding, is_flat, is_reached
from gymsolve.doctor.rules.remedies import all_of, lower_to, raise_to, scale, set_to
from gymsolve.doctor.rules.remedy_limits import peak
from gymsolve.doctor.rules.rule import (
    NOTHING_MOVES,
    POOR_VALUES,
    Check,
    Context,
    Effect,
    Evidence,
    ProposedChange,
    Rule,
    below,
)

_NO_RATE = 1e-8
_TIGHT = 0.01
"""A smaller max_grad_norm clips every gradient."""
_REFERENCE = 20
"""A jump is measured against so many records before the newest ones."""


def _jump(metric: str, factor: float) -> Check:
    """The newest value is `factor` times the usual one; the alert stays active down to half of that."""

    def check(history: History, context: Context, active: bool) -> Evidence | None:
        if is_reached(history, context):
            return None
        series = history.series[metric]
        usual = _usual(series, 200 if active else _REFERENCE)
        if usual is None or usual <= 0.0:
            return None
        bar = factor / 2 if active else factor
        if series.last <= bar * usual:
            return None
        return Evidence(metric, series.last, factor * usual, ">", f"{factor:g} times what was usual")

    return check


def _usual(series: Series, reach: int) -> float | None:
    before = [value for value in series.values[-reach - 5 : -5] if value == value]
    return statistics.median(before) if len(before) >= _REFERENCE // 2 else None


def _vanished(history: History, context: Context, active: bool) -> Evidence | None:
    value = history.series["train/grad_norm"].last
    if value >= 1e-6 or is_reached(history, context):  # a policy that is right has nothing to learn
        return None
    return Evidence("train/grad_norm", value, 1e-6, "<")


def _clipped(history: History, context: Context, active: bool) -> Evidence | None:
    """Clipping is normal; of gradients a hundred times the limit, only the direction is left."""
    norm, limit = history.series["train/grad_norm"].last, history.last("hyper/max_grad_norm")
    if not limit or is_reached(history, context) or not is_flat(history, context, 0.1):
        return None
    ratio = norm / limit
    if ratio <= (50.0 if active else 100.0):
        return None
    return Evidence("train/grad_norm", norm, 100.0 * limit, ">", "a hundred times max_grad_norm")


def _no_rate(history: History, context: Context, active: bool) -> Evidence | None:
    value = history.series["hyper/learning_rate"].last
    if value >= _NO_RATE or context.progress(history) > 0.9 or is_reached(history, context):
        return None
    return Evidence("hyper/learning_rate", value, _NO_RATE, "<", "long before the budget ends")


def _tiny_steps(history: History, context: Context, active: bool) -> Evidence | None:
    value = history.series["train/step_rms"].last
    if value >= 1e-7 or context.progress(history) > 0.9 or is_reached(history, context):
        return None
    return None if _waits(history, context) else Evidence("train/step_rms", value, 1e-7, "<")


def _waits(history: History, context: Context) -> bool:
    """It learns from an archive alone that has nothing to teach yet."""
    return context.setting("explore.archive.rollouts") in (False, "found") and is_finding(history, context)


def _rank(history: History, context: Context, active: bool) -> Evidence | None:
    series = history.series["train/feature_rank"]
    bar = (0.6 if active else 0.5) * series.peak
    if series.last >= bar or is_reached(history, context) or not is_flat(history, context, 0.1):
        return None
    return Evidence("train/feature_rank", series.last, 0.5 * series.peak, "<", "half of its peak")


def _no_churn(history: History, context: Context, active: bool) -> Evidence | None:
    value = history.series["train/churn"].last
    if value > 0.0 or not is_flat(history, context, 0.2) or _waits(history, context):
        return None
    return Evidence("train/churn", value, 0.0, "=", "while the return is flat")


def _of_the_rest(share: float, more: float) -> float:
    """A share, and a share `more` of what is left."""
    return share + (1.0 - share) * more


def _dormant(limit: float, release: float, born: float = 0.0) -> Check:
    """More than a share of those units sleeps that did not from the start, of which up to `born` may.

    Rectifiers of a fresh network are closed to all inputs here and there, the more the fewer numbers an input
    has. A first record may also come after an update that killed most of a network.
    """

    def check(history: History, context: Context, active: bool) -> Evidence | None:
        series = history.series["train/dormant_share"]
        first = series.values[0]
        line, lower = (_of_the_rest(min(first, born), share) for share in (limit, release))
        if context.sees_pictures:
            # Pictures of a game are much alike and open few rectifiers: two thirds of a network slept at the
            # start of a Pong that was solved later.
            line, lower = (_of_the_rest(first, (1.0 + share) / 2.0) for share in (limit, release))
        note = f"it began with {first:.2g}" if first >= 0.1 else ""
        if series.last <= (lower if active else line) or is_reached(history, context):
            return None
        return Evidence("train/dormant_share", series.last, line, ">", note)

    return check


def _remembers(context: Context) -> bool:
    return context.setting("net.memory") is not None


def _has_policy(context: Context) -> bool:
    """Features of action values are alike without harm: they share the value of the state."""
    return not context.values_actions


def _learns_from_rollouts(context: Context) -> bool:
    """A few gradient steps from a replay buffer may change no choice, or all of them, in a healthy run."""
    return not context.replays


def _looser(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """Raise a limit that ordinary gradients exceed; otherwise make the gradients smaller."""
    if evidence.threshold < 100.0 * _TIGHT:
        return raise_to("algo.max_grad_norm", 0.5)(context, evidence)
    smaller = all_of(set_to("algo.normalize_rewards", True), scale("algo.vf_coef", 0.1))
    return smaller(context, evidence)


def _last_longer(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """The same rate, but with a schedule that reaches 0 only at the end of the budget."""
    high = peak(context.setting("algo.learning_rate")) or 0.0
    if high < _NO_RATE:
        return [ProposedChange("algo.learning_rate", "set", value=3e-4)]
    return [ProposedChange("algo.learning_rate", "set", value={"start": high, "end": 0.0})]


_DEAD_UNITS = ("dormant", "rank_collapse", "grad_vanished")
_CALMER = all_of(scale("algo.learning_rate", 0.3), set_to("net.layer_norm", True))

NETWORK = (
    Rule(
        id="grad_vanished",
        signal=16,
        severity="error",
        title="there is no gradient",
        needs=("train/grad_norm",),
        check=_vanished,
        cause="the network is dead, or rewards carry no signal",
        remedy=all_of(set_to("net.activation", "tanh"), set_to("net.layer_norm", True)),
        effect=Effect("train/grad_norm", "rises", above=0.001),
        explains=("step_tiny", *NOTHING_MOVES),
    ),
    Rule(
        id="grad_jump",
        signal=16,
        title="gradients have grown tenfold",
        needs=("train/grad_norm",),
        check=_jump("train/grad_norm", 10.0),
        cause="the learning rate is too high, or rewards have suddenly become large",
        remedy=all_of(scale("algo.learning_rate", 0.3), lower_to("algo.max_grad_norm", 0.5)),
        effect=Effect("train/grad_norm", "returns to what it was"),
        explains=("return_fell",),
    ),
    Rule(
        id="grad_clipped",
        signal=16,
        title="gradients are a hundred times their limit",
        needs=("train/grad_norm", "hyper/max_grad_norm"),
        check=_clipped,
        cause="max_grad_norm is far too small, or rewards, and with them the value loss, are too large",
        remedy=_looser,
        effect=Effect("train/grad_norm", "comes within a hundred times max_grad_norm"),
        explains=("return_flat", "policy_frozen", "step_tiny", "ev_negative", "ev_zero"),
    ),
    Rule(
        id="rate_zero",
        signal=17,
        severity="error",
        title="the learning rate is 0 long before the end",
        needs=("hyper/learning_rate",),
        check=_no_rate,
        cause="its schedule ends too early, or its value is wrong",
        remedy=_last_longer,
        effect=Effect("hyper/learning_rate", "stays", above=0, more="to the end"),
        explains=("step_tiny", *NOTHING_MOVES, *POOR_VALUES, "advantage_biased"),
    ),
    Rule(
        id="step_tiny",
        signal=17,
        title="the weights hardly change",
        needs=("train/step_rms",),
        check=_tiny_steps,
        cause="the learning rate is too low",
        remedy=scale("algo.learning_rate", 10.0),
        effect=Effect("train/step_rms", "rises", above=1e-6),
        explains=(*NOTHING_MOVES, *POOR_VALUES, "advantage_biased"),
    ),
    Rule(
        id="step_jump",
        signal=17,
        title="steps of the weights have grown tenfold",
        needs=("train/step_rms",),
        check=_jump("train/step_rms", 10.0),
        cause="a schedule raised the learning rate, or the optimizer lost its moments",
        remedy=scale("algo.learning_rate", 0.3),
        effect=Effect("train/step_rms", "returns to what it was"),
        explains=("return_fell", "kl_high"),
    ),
    Rule(
        id="dormant",
        signal=18,
        title="many units of the network react to nothing",
        needs=("train/dormant_share",),
        check=_dormant(0.25, 0.2, born=0.4),
        cause="the learning rate is too high for this activation",
        remedy=_CALMER,
        effect=Effect("train/dormant_share", "falls", below=0.25),
        explains=("return_flat", "rank_collapse"),
    ),
    Rule(
        id="dead_network",
        signal=18,
        severity="error",
        title="most units of the network are dead",
        needs=("train/dormant_share",),
        check=_dormant(0.5, 0.4),
        cause="a learning rate far too high killed them, or inputs too large for a rectifier",
        remedy=all_of(_CALMER, set_to("net.activation", "tanh")),
        effect=Effect("train/dormant_share", "falls", below=0.25),
        explains=(*_DEAD_UNITS, *NOTHING_MOVES, "action_stuck", "ev_zero", "advantage_biased"),
        warmup=0.0,
    ),
    Rule(
        id="memory_unused",
        signal=18,
        title="the policy does not use its memory",
        needs=("train/memory_effect",),
        check=below("train/memory_effect", 0.01, 0.02),
        cause="episodes end after their first step, or nothing from before reaches the recurrent cell",
        instead="train without memory (`--set net.memory=null`), which is faster, or find out why episodes "
        "are short",
        effect=Effect("train/memory_effect", "rises", above=0.02),
        explains=("return_flat",),
        applies=_remembers,
    ),
    Rule(
        id="rank_collapse",
        signal=19,
        title="the network's features have become alike",
        needs=("train/feature_rank", "rollout/ep_rew_mean"),
        check=_rank,
        cause="too many passes over each rollout wear the features out",
        remedy=all_of(scale("algo.num_epochs", 0.5), scale("algo.ent_coef", 3.0, from_zero=0.01)),
        effect=Effect("train/feature_rank", "stays near its peak"),
        explains=("return_flat",),
        applies=_has_policy,
    ),
    Rule(
        id="churn_jump",
        signal=20,
        title="updates change the policy's choices three times as often as before",
        needs=("train/churn",),
        check=_jump("train/churn", 3.0),
        cause="the learning rate is too high, or there are too many passes over a rollout",
        remedy=all_of(scale("algo.learning_rate", 0.3), scale("algo.num_epochs", 0.5)),
        effect=Effect("train/churn", "returns to what it was"),
        explains=("return_fell",),
        applies=_learns_from_rollouts,
    ),
    Rule(
        id="churn_dead",
        signal=20,
        title="updates no longer change any choice",
        needs=("train/churn", "rollout/ep_rew_mean"),
        check=_no_churn,
        cause="the policy is frozen",
        remedy=scale("algo.learning_rate", 3.0),
        effect=Effect("train/churn", "rises", above=0),
        explains=("return_flat",),
        applies=_learns_from_rollouts,
    ),
)
