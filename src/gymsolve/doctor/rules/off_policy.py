"""Rules about learning from a replay buffer: values above all that is earned, and a temperature of 0."""

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import is_flat
from gymsolve.doctor.rules.remedies import all_of, scale, set_to
from gymsolve.doctor.rules.rule import Context, Effect, Evidence, Rule

_TWICE = 2.0
_STEADY = 3.0
"""An error that the critics do not notice themselves is this many times their distance from their targets."""
_DEAD = 1e-4


def _overestimates(history: History, context: Context, active: bool) -> Evidence | None:
    """Young critics are wrong in both directions, and their targets show it; these are wrong and agree."""
    value, bias = history.series["train/overestimation"].last, history.series["train/q_bias"].last
    error = history.last("train/td_error") or 0.0
    if value <= (1.5 if active else _TWICE) or bias <= _STEADY * error:
        return None
    return Evidence("train/overestimation", value, _TWICE, ">", f"values are {bias:.3g} above what is earned")


def _dead_temperature(history: History, context: Context, active: bool) -> Evidence | None:
    value = history.series["hyper/ent_coef"].last
    if value >= (3 * _DEAD if active else _DEAD) or not is_flat(history, context, 0.2):
        return None
    return Evidence("hyper/ent_coef", value, _DEAD, "<", "while the return is flat")


def _learns_temperature(context: Context) -> bool:
    return context.setting("algo.ent_coef_init") is not None and context.setting("algo.ent_coef") is None


OFF_POLICY = (
    Rule(
        id="overestimation",
        signal=27,
        title="critics promise far more than is earned",
        needs=("train/overestimation", "train/q_bias", "train/td_error"),
        check=_overestimates,
        cause="targets believe values that are too high by chance, and learning from them again and again "
        "raises them further",
        remedy=all_of(set_to("net.critics.layer_norm", True), scale("algo.learning_rate", 0.3)),
        effect=Effect("train/overestimation", "falls", below=1.0),
        explains=("return_flat", "return_fell"),
        applies=lambda context: context.setting("algo.policy_every") is not None,
        warmup=0.1,
    ),
    Rule(
        id="temperature_dead",
        signal=28,
        title="nothing rewards exploring any more",
        needs=("hyper/ent_coef", "rollout/ep_rew_mean"),
        check=_dead_temperature,
        cause="rewards are so small or so rare that the learned temperature fell to 0 before they were found",
        remedy=set_to("algo.ent_coef", 0.1),
        effect=Effect("train/entropy", "rises"),
        explains=("return_flat",),
        applies=_learns_temperature,
    ),
)
