"""The state of a run while it trains, and lines of text about it."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gymsolve.doctor.history import History
from gymsolve.metrics.tasks import task_verdicts
from gymsolve.metrics.training_returns import CUT_SHARE, remark
from gymsolve.text import count, duration, number, plural, score

if TYPE_CHECKING:
    from gymsolve.training.counters import Counters
    from gymsolve.training.time_limit import TimeLimit


@dataclass
class View:
    """The state of a run; the watcher updates it in place, screens read it."""

    title: str
    budget: int
    threshold: float | None
    num_envs: int
    counters: "Counters"
    """The trainer's own; only read."""
    budget_in: str = "env_steps"
    """The unit of the budget."""
    time_limit: "TimeLimit | None" = None
    """The time limit of the command, if it has one."""
    best: float | None = None
    """Mean return of the best evaluation."""
    success_threshold: float | None = None
    """Share of successes that counts as solved, where it decides instead of the return."""
    stages: tuple[str, ...] = ()
    """The stages of a curriculum, in order."""
    training_unit: str = ""
    """`per point` where training episodes are parts of games; empty where evaluations play the same."""
    max_entropy: float | None = None
    """Entropy of the uniform policy; None where there is no largest entropy."""
    history: History = field(default_factory=History)
    """All records so far, those of earlier sittings included; only the rules append to it."""
    alerts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Active alerts and their causes by id, as in events; the root cause first."""
    rollout: tuple[int, int] = (0, 0)
    """Vector steps of the rollout under way, done and in total."""
    evaluation: tuple[int, int] | None = None
    """Episodes of the evaluation under way, done and in total."""
    evaluation_steps: int = 0
    """Vector steps of that evaluation so far."""
    evaluation_began: float = 0.0
    rollout_began: float = 0.0
    ended: str = ""
    """How the training ended: `solved` or `ended`; empty before."""
    began: float = field(default_factory=time.perf_counter)
    steps_before: int = field(init=False)
    """Steps at which this sitting of a resumed run began."""
    seconds_before: float = field(init=False)

    def __post_init__(self) -> None:
        self.steps_before, self.seconds_before = self.taken_now, self.counters.seconds
        self.rollout_began = self.began

    def evaluating(self, done: int, total: int, now: float) -> None:
        """Count a vector step of an evaluation; a long evaluation may follow a routine evaluation."""
        if self.evaluation is None or done < self.evaluation[0] or total != self.evaluation[1]:
            self.evaluation_steps, self.evaluation_began = 0, now
        self.evaluation, self.rollout = (done, total), (0, 0)
        self.evaluation_steps += 1

    def recorded(self) -> None:
        """Forget the rollout: its metrics are in the history now."""
        self.rollout = (0, 0)  # its steps are in the counters now

    def severity(self, metric: str) -> str | None:
        """The worst active alert about a metric; None when there is none."""
        alerts = [alert for alert in self.alerts.values() if alert["active"] and alert["metric"] == metric]
        severities = {alert["severity"] for alert in alerts}
        return next((severity for severity in ("error", "warn", "info") if severity in severities), None)

    @property
    def steps_now(self) -> int:
        """Environment steps, the rollout under way included; the last one may go beyond the budget."""
        return self.counters.env_steps + self.rollout[0] * self.num_envs

    @property
    def taken_now(self) -> int:
        """Steps in the unit of the budget, the rollout under way included."""
        in_vec_steps = self.budget_in == "vec_steps"
        return self.counters.vec_steps + self.rollout[0] if in_vec_steps else self.steps_now

    @property
    def fraction(self) -> float:
        return min(1.0, self.taken_now / self.budget)

    def elapsed(self, now: float) -> float:
        return self.seconds_before + now - self.began

    def remaining(self, now: float) -> float | None:
        """Seconds to the end of the budget at the pace of this sitting."""
        done = self.taken_now - self.steps_before
        if done <= 0:
            return None
        return max(0, self.budget - self.taken_now) * (now - self.began) / done

    def left(self, now: float) -> str:
        """The time to the end in words: of the budget, or of the time limit where that comes first."""
        remaining, limit = self.remaining(now), self.time_limit
        if limit is not None and (remaining is None or limit.left < remaining + limit.kept):
            return f"{duration(max(0.0, limit.left))} left of {duration(limit.seconds)}"
        return "" if remaining is None else f"{duration(remaining)} left"


def progress_line(view: View, now: float) -> str:
    """The progress of the run, on one line."""
    last = view.history.last
    parts = [f"{count(view.steps_now):>10} steps  {view.fraction:>4.0%}"]
    stage = view.stages[int(last("curriculum/stage") or 1) - 1] if view.stages else ""
    if (mean := last(f"task_return/{stage}" if stage else "rollout/ep_rew_mean")) is not None:
        where = f" in {stage}" if stage else ""
        parts.append(f"return {number(mean)}{where}{remark(view.training_unit, last(CUT_SHARE))}")
    parts.append(f"fps {count(last('time/fps') or 0)}")
    for name, label in (("train/loss", "loss"), ("train/approx_kl", "kl"), ("train/entropy", "entropy")):
        if (value := last(name)) is not None:
            parts.append(f"{label} {number(value)}")
    parts.append(view.left(now))
    return "  ".join(filter(None, parts))


def evaluating_line(view: View, now: float) -> str:
    """The progress of the evaluation under way, on one line."""
    done, total = view.evaluation or (0, 0)
    where = f"{count(view.steps_now):>10} steps  evaluating: {count(done)} of {count(total)} episodes"
    each = plural(view.evaluation_steps, "step")
    line = f"{where}, {each} in each copy, {duration(now - view.evaluation_began)}"
    return line if view.time_limit is None else f"{line}, {view.left(now)}"


def evaluation_line(
    record: dict[str, Any], threshold: float | None, success_threshold: float | None = None
) -> str:
    """The result of an evaluation, on one line."""
    if not record["eval/episodes"]:
        where = f"{count(record['env_steps']):>10} steps"
        return f"{where}  evaluation: no episode ended within eval.max_steps and eval.max_seconds"
    mean = score(record["eval/mean_reward"], record.get("eval/std_reward"))
    needed = "" if threshold is None else f", {number(threshold)} needed"
    played = plural(int(record["eval/episodes"]), "episode")
    line = f"{count(record['env_steps']):>10} steps  evaluation: {mean} over {played}"
    if "eval/confirm_mean_reward" in record:
        line += f", then {number(record['eval/confirm_mean_reward'])} on fresh seeds"
    if success_threshold is not None:
        needed = f", {record['eval/success_rate']:.0%} successes, {success_threshold:.0%} needed"
    tasks = task_verdicts(record)
    return line + (needed if not tasks else f": {'; '.join(map(str, tasks))}")
