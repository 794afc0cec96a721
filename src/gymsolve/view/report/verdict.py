"""The verdict in plain words: solved or not, at which step, with which confidence, and the likely limit."""

import math
from typing import Any

from gymsolve.metrics.tasks import task_verdicts
from gymsolve.metrics.wording import remedy_text
from gymsolve.text import count, number, score, took
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.document import Tile, Tone

_ENDS = {
    "steps": "the budget was spent",
    "time": "the time was up",
    "observer": "an observer ended it",
    "stop file": "it was stopped on request",
    "interrupt": "it was stopped by Ctrl-C",
    "terminated": "the system stopped it",
    "hangup": "its terminal was closed",
}
_RISING = 0.05
"""Share of the way to the goal that the last quarter must gain to be called rising."""


def badge(view: DiagnosedRun) -> str:
    return view.summary.status


def tone(view: DiagnosedRun) -> Tone:
    if view.summary.status in ("crashed", "damaged") or any(
        alert.severity == "error" for alert in view.diagnosis.roots
    ):
        return "bad" if not view.solved else "good"
    return "good" if view.solved else "calm"


def verdict(view: DiagnosedRun) -> str:
    """One paragraph."""
    sentences = [_whether(view), _which_tasks(view), _how_sure(view), _how_long(view)]
    if view.summary.status == "crashed":  # first things first
        sentences = [_why_it_ended(view), _limit(view), *sentences]
    else:
        sentences += [_why_it_ended(view), _limit(view)]
    return " ".join(sentence for sentence in sentences if sentence)


def tiles(view: DiagnosedRun) -> list[Tile]:
    """The main figures."""
    best, threshold = view.best, view.return_threshold
    needed = "no threshold known" if threshold is None else f"needed {number(threshold)}"
    if view.success_threshold is not None:
        needed = f"{_rate(best)} successes, needed {view.success_threshold:.0%}"
    reached = None if best is None else best["eval/mean_reward"]
    spread = None if best is None else best.get("eval/std_reward")
    speed = view.env_steps / view.seconds if view.seconds else None
    return [
        Tile("best evaluation", score(reached, spread), needed),
        Tile("steps", count(view.env_steps), _of_budget(view)),
        Tile("time", took(view.seconds), "training and evaluating"),
        Tile("speed", "–" if speed is None else count(speed), "steps per second, evaluations included"),
        _quality_tile(view),
        Tile(
            "alerts", str(len(view.diagnosis.roots)), f"{len(view.diagnosis.not_fired)} checks did not fire"
        ),
    ]


def _of_budget(view: DiagnosedRun) -> str:
    of = f"of {count(view.config.steps)}"
    if view.config.budget_in == "env_steps":
        return of
    return f"{count(view.place(view.env_steps))} {of} vector steps"


def _quality_tile(view: DiagnosedRun) -> Tile:
    """A single evaluation is no curve, unless it solved the environment."""
    if view.quality is None or (len(view.judged) < 2 and not view.solved):
        return Tile("quality", "–", "it takes two evaluations to tell")
    return Tile("quality", f"{view.quality:.2f}", "area under the curve per sample")


def _whether(view: DiagnosedRun) -> str:
    name, best, threshold = view.summary.name, view.best, view.return_threshold
    if view.solved:
        proofs = [int(row["env_steps"]) for row in view.judged if row.get("solved") == 1.0]
        when = proofs[0] if proofs else view.env_steps
        share = when / max(1, view.config.env_budget)
        return f"{name} is solved: the policy at step {count(when)} did it, {share:.0%} into the budget."
    running = view.summary.status == "running"
    if best is None:
        return (
            f"{name} has not been evaluated{' yet' if running else ''}, so nothing is known of its success."
        )
    if view.success_threshold is not None:
        start = f"{name} is not solved{' yet' if running else ''}: {_rate(best)} of the episodes of its best "
        return f"{start}evaluation were a success, and {view.success_threshold:.0%} are needed."
    reached = number(best["eval/mean_reward"])
    if threshold is None:
        return f"No threshold is known for {name}; its best evaluation is {reached}."
    crossed = best["eval/mean_reward"] >= threshold
    verb = "reached the threshold once" if crossed else f"stayed below the threshold of {number(threshold)}"
    rest = ", but two long evaluations did not confirm it" if crossed else ""
    return f"{name} is not solved{' yet' if running else ''}: its best evaluation, {reached}, {verb}{rest}."


def _which_tasks(view: DiagnosedRun) -> str:
    """The tasks that miss their threshold in the best evaluation."""
    tasks = task_verdicts(view.best or {})
    if not tasks:
        return ""
    missing = [task for task in tasks if not task.reached]
    if not missing:
        return f"Each of its {len(tasks)} tasks reached its threshold."
    return f"Of its {len(tasks)} tasks, these did not reach their thresholds: {'; '.join(map(str, missing))}."


def _rate(best: dict[str, Any] | None) -> str:
    rate = None if best is None else best.get("eval/success_rate")
    return "–" if rate is None else f"{rate:.0%}"


def _how_sure(view: DiagnosedRun) -> str:
    best = view.best
    if best is None:
        return ""
    episodes, spread = best.get("eval/episodes"), best.get("eval/std_reward")
    if not episodes or spread is None or not math.isfinite(spread):
        return ""
    error = spread / math.sqrt(episodes)
    fresh = best.get("eval/confirm_mean_reward")
    confirmed = fresh is not None and math.isfinite(fresh)
    text = (
        f"The mean over {count(episodes)} episodes is {number(best['eval/mean_reward'])} with a standard "
        f"error of {number(error)}{_margin(best, view.return_threshold, error, confirmed=confirmed)}"
    )
    if confirmed:
        text += f"; {count(best.get('eval/confirm_episodes') or 0)} more on fresh seeds gave {number(fresh)}"
    return text + "."


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


def _how_long(view: DiagnosedRun) -> str:
    spent = view.spent
    waited, whole = spent.get("eval", 0.0), sum(spent.values())
    rest = f", {took(waited)} of it evaluating" if waited >= 1 else ""
    more = whole - view.seconds
    all_in_all = f"; with all around it {took(whole)}" if more >= 1 and more > 0.05 * whole else ""
    return f"Training took {count(view.env_steps)} steps and {took(view.seconds)}{rest}{all_in_all}."


def _why_it_ended(view: DiagnosedRun) -> str:
    status, reason = view.summary.status, str(view.summary.reason or "")
    if status == "running":
        return "It is still being trained."
    if status == "crashed":
        first = view.diagnosis.roots[0]  # with the place in the user's code, where it is known
        why = reason.removeprefix("EnvFaultError: ") if first.evidence.sign else first.evidence.note
        return f"It crashed: {why}{'' if why.endswith('.') else '.'}"
    return f"It ended because {_ENDS[reason]}." if reason in _ENDS else ""


def _limit(view: DiagnosedRun) -> str:
    """The likely obstacle: by the rules, else by the curve."""
    roots = view.diagnosis.roots
    serious = [alert for alert in roots if alert.severity in ("error", "warn")]
    if view.solved and serious:
        serious = [alert for alert in serious if alert.active]
        if not serious:
            return "Alerts on the way were over by then."
    if serious and serious[0].ended:
        return f"What ended it: {serious[0].title} ({serious[0].cause}); {remedy_text(serious[0].to_json())}."
    if serious:
        lead = "What to look at" if view.solved else "What limits it most likely"
        return f"{lead}: {serious[0].title} ({serious[0].cause}); {remedy_text(serious[0].to_json())}."
    if view.solved:
        return "No alert fired."
    return _trend(view)


def _trend(view: DiagnosedRun) -> str:
    points = [(x, y) for x, y in view.points("rollout/ep_rew_mean") if math.isfinite(y)]
    if len(points) < 8 or view.return_threshold is None or view.training_unit:
        return "No alert fired; there is too little of it to say what limits it."
    first, late, last = points[0][1], points[-len(points) // 4][1], points[-1][1]
    way = view.return_threshold - first
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
