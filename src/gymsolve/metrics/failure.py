"""The alert on a number that ended a run: never in a record, so no rule can see it.

The training process makes it from the error it stops with, everybody else from the event that this left.
"""

from collections.abc import Iterable
from typing import Any

from gymsolve.errors import BadNumber
from gymsolve.metrics.alerts import Alert, AlertTracker
from gymsolve.metrics.rules import RULES
from gymsolve.metrics.rules.prescribe import prescribe
from gymsolve.metrics.rules.remedies import all_of, set_to
from gymsolve.metrics.rules.rule import Context, Evidence, Wish

__all__ = ["bad_number_of", "failure_alert"]

_METRICS = {
    "observation": "obs/abs_max",
    "reward": "rollout/reward_mean",
    "action": "action/mean",
    "log_prob": "train/approx_kl",
    "value": "rollout/value_mean",
    "advantage": "rollout/advantage_mean",
    "gradient": "train/grad_norm",
}
"""The measure that would have shown it, had it come to be measured."""
_CAUSES = {
    "observation": "the environment itself returned it",
    "reward": "the environment itself returned it, or rewards are too large to be scaled",
    "action": "the policy gave it to the environment: its weights, or what it sees, became too large",
    "log_prob": "the policy's weights, or what it sees, became too large",
    "value": "the value network's weights, or what it sees, became too large",
    "advantage": "rewards or values are too large for their sums",
}
_ENVIRONMENTS_OWN = ("observation", "reward")


def failure_alert(tracker: AlertTracker, text: str, bad: BadNumber | None) -> Alert:
    """`text` is the error in words; runs of older versions have nothing more."""
    rule = next(rule for rule in RULES if rule.id == "nonfinite")
    what = "loss" if bad is None else bad.what
    step = tracker.history.env_steps if bad is None or bad.env_steps is None else bad.env_steps
    judged = bad is not None and bad.role == "eval"
    metric = "eval/mean_reward" if judged else _METRICS.get(what, "train/loss")
    told = text if bad is None else _told(bad)
    evidence = Evidence(metric, float("nan"), 0.0, "≠", told, meaning=what, bad=bad)
    return Alert(
        id=rule.id,
        signal=rule.signal,
        severity=rule.severity,
        title=rule.title,
        evidence=evidence,
        step=step,
        onset=step,
        active=True,
        count=1,
        share=0.0,
        steps=0,
        seconds=0.0,
        cause=_CAUSES.get(what, "the weights ran away: a learning rate far too high"),
        changes=prescribe(tracker.context, _remedy(what, tracker.context, evidence)).changes,
        effect="" if what in _ENVIRONMENTS_OWN else str(rule.effect),
    )


def bad_number_of(events: Iterable[dict[str, Any]]) -> BadNumber | None:
    """Of the newest error among a run's events; None when no single number was to blame."""
    errors = [event for event in events if event["kind"] == "error"]
    stored = errors[-1].get("bad") if errors else None
    return None if stored is None else BadNumber.from_json(stored)


def _told(bad: BadNumber) -> str:
    whose = "" if bad.env is None else f" of environment {bad.env}"
    return f"{bad.number} in {bad.place}{whose}{bad.moment}"


def _remedy(what: str, context: Context, evidence: Evidence) -> list[Wish]:
    if what in _ENVIRONMENTS_OWN:
        return []
    rule = next(rule for rule in RULES if rule.id == "nonfinite")
    if what in ("action", "log_prob", "value"):
        return all_of(set_to("net.normalize_obs", "running"), rule.remedy)(context, evidence)
    if what == "advantage":
        return set_to("algo.normalize_rewards", True)(context, evidence)
    return rule.remedy(context, evidence)
