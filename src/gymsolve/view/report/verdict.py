"""The verdict in plain words: solved? when, how sure, how long, what limits it."""

import math
from typing import Any

from gymsolve.metrics.tasks import task_verdicts
from gymsolve.metrics.wording import remedy_text
from gymsolve.text import count, number, score, took
from gymsolve.view.report.document import Tile, Tone
from gymsolve.view.report.facts import Facts

_ENDS = {
    "steps": "the budget was spent",
    "time": "the time was up",
    "stop file": "it was stopped on request",
    "interrupt": "it was stopped by Ctrl-C",
    "terminated": "the system stopped it",
    "hangup": "its terminal was closed",
}
_RISING = 0.05
"""Share of the way to the goal that the last quarter must gain to be called rising."""


def badge(facts: Facts) -> str:
    return facts.summary.status


def tone(facts: Facts) -> Tone:
    if facts.summary.status in ("crashed", "damaged") or any(
        alert.severity == "error" for alert in facts.diagnosis.roots
    ):
        return "bad" if not facts.solved else "good"
    return "good" if facts.solved else "calm"


def verdict(facts: Facts) -> str:
    """One paragraph."""
    sentences = [_whether(facts), _which_tasks(facts), _how_sure(facts), _how_long(facts)]
    if facts.summary.status == "crashed":  # first things first
        sentences = [_why_it_ended(facts), _limit(facts), *sentences]
    else:
        sentences += [_why_it_ended(facts), _limit(facts)]
    return " ".join(sentence for sentence in sentences if sentence)


def tiles(facts: Facts) -> list[Tile]:
    """The figures that everybody asks for."""
    best, threshold = facts.best, facts.threshold
    needed = "no threshold known" if threshold is None else f"needed {number(threshold)}"
    if facts.success_threshold is not None:
        needed = f"{_rate(best)} successes, needed {facts.success_threshold:.0%}"
    reached = None if best is None else best["eval/mean_reward"]
    spread = None if best is None else best.get("eval/std_reward")
    speed = facts.env_steps / facts.seconds if facts.seconds else None
    return [
        Tile("best evaluation", score(reached, spread), needed),
        Tile("steps", count(facts.env_steps), _of_budget(facts)),
        Tile("time", took(facts.seconds), "training and evaluating"),
        Tile("speed", "–" if speed is None else count(speed), "steps per second, evaluations included"),
        _quality_tile(facts),
        Tile(
            "alerts", str(len(facts.diagnosis.roots)), f"{len(facts.diagnosis.not_fired)} checks did not fire"
        ),
    ]


def _of_budget(facts: Facts) -> str:
    of = f"of {count(facts.config.steps)}"
    if facts.config.budget_in == "env_steps":
        return of
    return f"{count(facts.place(facts.env_steps))} {of} vector steps"


def _quality_tile(facts: Facts) -> Tile:
    """A single evaluation is no curve, unless it solved the environment."""
    if facts.quality is None or (len(facts.evaluations) < 2 and not facts.solved):
        return Tile("quality", "–", "it takes two evaluations to tell")
    return Tile("quality", f"{facts.quality:.2f}", "area under the curve per sample")


def _whether(facts: Facts) -> str:
    name, best, threshold = facts.summary.name, facts.best, facts.threshold
    if facts.solved:
        proofs = [int(row["env_steps"]) for row in facts.evaluations if row.get("solved") == 1.0]
        when = proofs[0] if proofs else facts.env_steps
        share = when / max(1, facts.config.env_budget)
        return f"{name} is solved: the policy at step {count(when)} did it, {share:.0%} into the budget."
    running = facts.summary.status == "running"
    if best is None:
        return (
            f"{name} has not been evaluated{' yet' if running else ''}, so nothing is known of its success."
        )
    if facts.success_threshold is not None:
        told = f"{name} is not solved{' yet' if running else ''}: {_rate(best)} of the episodes of its best "
        return f"{told}evaluation were a success, and {facts.success_threshold:.0%} are needed."
    reached = number(best["eval/mean_reward"])
    if threshold is None:
        return f"No threshold is known for {name}; its best evaluation is {reached}."
    crossed = best["eval/mean_reward"] >= threshold
    verb = "reached the threshold once" if crossed else f"stayed below the threshold of {number(threshold)}"
    rest = ", but two long evaluations did not confirm it" if crossed else ""
    return f"{name} is not solved{' yet' if running else ''}: its best evaluation, {reached}, {verb}{rest}."


def _which_tasks(facts: Facts) -> str:
    """Which of several tasks are missing, in the evaluation that counts."""
    told = task_verdicts(facts.best or {})
    if not told:
        return ""
    missing = [one for one in told if not one.reached]
    if not missing:
        return f"Each of its {len(told)} tasks reached its threshold."
    return f"Of its {len(told)} tasks, these did not reach their thresholds: {'; '.join(map(str, missing))}."


def _rate(best: dict[str, Any] | None) -> str:
    rate = None if best is None else best.get("eval/success_rate")
    return "–" if rate is None else f"{rate:.0%}"


def _how_sure(facts: Facts) -> str:
    best = facts.best
    if best is None:
        return ""
    episodes, spread = best.get("eval/episodes"), best.get("eval/std_reward")
    if not episodes or spread is None or not math.isfinite(spread):
        return ""
    error = spread / math.sqrt(episodes)
    fresh = best.get("eval/confirm_mean_reward")
    confirmed = fresh is not None and math.isfinite(fresh)
    told = (
        f"The mean over {count(episodes)} episodes is {number(best['eval/mean_reward'])} with a standard "
        f"error of {number(error)}{_margin(best, facts.threshold, error, confirmed=confirmed)}"
    )
    if confirmed:
        told += f"; {count(best.get('eval/confirm_episodes') or 0)} more on fresh seeds gave {number(fresh)}"
    return told + "."


def _margin(best: dict[str, Any], threshold: float | None, error: float, *, confirmed: bool) -> str:
    if threshold is None:
        return ""
    gap = best["eval/mean_reward"] - threshold
    side = "above" if gap >= 0 else "below"
    if error == 0:
        return f", all episodes alike, {number(abs(gap))} {side} the threshold"
    if abs(gap) > 10 * error:
        return f", far {side} the threshold"
    doubt = ", which may be chance" if 0 <= gap < 2 * error and not confirmed else ""
    return f", {number(round(abs(gap) / error, 1))} of those {side} the threshold{doubt}"


def _how_long(facts: Facts) -> str:
    spent = facts.spent
    waited, whole = spent.get("eval", 0.0), sum(spent.values())
    rest = f", {took(waited)} of it evaluating" if waited >= 1 else ""
    more = whole - facts.seconds
    all_in_all = f"; with all around it {took(whole)}" if more >= 1 and more > 0.05 * whole else ""
    return f"Training took {count(facts.env_steps)} steps and {took(facts.seconds)}{rest}{all_in_all}."


def _why_it_ended(facts: Facts) -> str:
    status, reason = facts.summary.status, str(facts.summary.reason or "")
    if status == "running":
        return "It is still being trained."
    if status == "crashed":
        first = facts.diagnosis.roots[0]  # with the place in the user's code, where it is known
        told = reason.removeprefix("EnvFaultError: ") if first.evidence.sign else first.evidence.note
        return f"It crashed: {told}{'' if told.endswith('.') else '.'}"
    return f"It ended because {_ENDS[reason]}." if reason in _ENDS else ""


def _limit(facts: Facts) -> str:
    """What stands in the way, by the rules first and by the curve second."""
    roots = facts.diagnosis.roots
    serious = [alert for alert in roots if alert.severity in ("error", "warn")]
    if facts.solved and serious:
        serious = [alert for alert in serious if alert.active]
        if not serious:
            return "Alerts on the way were over by then."
    if serious and serious[0].ended:
        return f"What ended it: {serious[0].title} ({serious[0].cause}); {remedy_text(serious[0].to_json())}."
    if serious:
        lead = "What to look at" if facts.solved else "What limits it most likely"
        return f"{lead}: {serious[0].title} ({serious[0].cause}); {remedy_text(serious[0].to_json())}."
    if facts.solved:
        return "No alert fired."
    return _trend(facts)


def _trend(facts: Facts) -> str:
    points = [(x, y) for x, y in facts.points("rollout/ep_rew_mean") if math.isfinite(y)]
    if len(points) < 8 or facts.threshold is None:
        return "No alert fired; there is too little of it to say what limits it."
    first, late, last = points[0][1], points[-len(points) // 4][1], points[-1][1]
    way = facts.threshold - first
    if way > 0 and (last - late) / way > _RISING:
        return (
            "No alert fired, and the return of training episodes was still rising in the last quarter: "
            "a larger budget is the first thing to try (gymsolve resume with a higher --steps)."
        )
    if last > late:
        return (
            "No alert fired, but the return of training episodes rose little in the last quarter: from "
            f"{number(late)} to {number(last)}."
        )
    return "No alert fired, but the return of training episodes did not rise in the last quarter."
