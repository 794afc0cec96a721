"""Questions about progress that several rules ask: is the return flat, is the threshold reached?"""

from dataclasses import dataclass

from gymsolve.doctor.history import History, Series
from gymsolve.doctor.rules.rule import Check, Context, Evidence

_RETURN = "rollout/ep_rew_mean"
DECIDED = 0.05
"""A policy with a smaller share of the largest entropy no longer explores."""
ARCHIVE_WINDOW = 0.2
"""An archive should grow within this share of the budget."""
_GROWTH, _FEW_CELLS = 0.01, 2.0
"""An archive grows if it gains this share of its cells, and more than so many."""
_LITTLE = 0.02
"""A smaller share of the whole range of returns does not count as a gain."""
_NEAR = 0.1
"""A return within this share of its range from the threshold can only gain little."""


def is_reached(history: History, context: Context) -> bool:
    """The newest returns reach the threshold, so a suspicious number may be a sign of success."""
    bar = context.threshold
    if bar is None:
        return False
    answer = history.memo.get((bar,))  # most rules ask it of every record
    if answer is None:
        judged, trained = history.last("eval/mean_reward"), history.last(_RETURN)
        trained = trained if context.compares_returns else None
        answer = (judged is not None and judged >= bar) or (trained is not None and trained >= bar)
        if tasks := learned_at_once(context):  # a task far above its threshold does not make up for another
            answer = history.last("eval/tasks_reached") == len(tasks)
        history.memo[bar,] = answer
    return answer


def is_confirmed(history: History, context: Context) -> bool:
    """The newest evaluation reaches the threshold; training returns count only while there is none.

    For rules that doubt the training episodes themselves.
    """
    judged = history.last("eval/mean_reward")
    if context.threshold is None or judged is None or learned_at_once(context):
        return is_reached(history, context)
    return judged >= context.threshold


def is_flat(history: History, context: Context, share: float, *, luck: float = 0.0) -> bool:
    """The best training return has not grown within the last `share` of the budget, and should have.

    Episodes must have ended since it was reached: where all copies play long episodes, the return does not
    change for a while because none ends.

    A gain below `luck` times the range of the window's returns is taken for chance: the mean of 100 episodes
    has a standard error of about a fiftieth of that range.
    """
    asked = (share, luck, context.budget, context.threshold)  # a dozen rules ask the same of every record
    answer = history.memo.get(asked)
    if answer is None:
        answer = history.memo[asked] = _is_flat(history, context, share, luck)
    return answer


def while_flat(check: Check) -> Check:
    """A check that fires only while the return is flat."""

    def flat_check(history: History, context: Context, active: bool) -> Evidence | None:
        return check(history, context, active) if is_flat(history, context, 0.1) else None

    return flat_check


def _is_flat(history: History, context: Context, share: float, luck: float) -> bool:
    if not context.budget or is_reached(history, context):
        return False
    open_curves = [curve for curve in _curves(history, context) if not curve.is_near]
    since = history.env_steps - share * context.budget
    return bool(open_curves) and all(curve.stands_still(since, luck) for curve in open_curves)


def learned_at_once(context: Context) -> tuple[str, ...]:
    """Names of the tasks that are trained together; none with a curriculum."""
    config = context.config
    return () if config is None or config.curriculum.stages else tuple(config.env.tasks)


@dataclass(frozen=True)
class _Curve:
    """A return that training should raise."""

    returns: Series
    ended: Series | None
    """Episodes so far; None where they are not counted."""
    threshold: float | None
    spread: float
    """The range of single returns."""

    @property
    def is_near(self) -> bool:
        """The return is so near to the threshold that it can only gain little."""
        return self.threshold is not None and self.threshold - self.returns.peak <= _NEAR * self.returns.span

    def stands_still(self, since: float, luck: float) -> bool:
        """The best return has not grown since a step, although episodes have ended."""
        then = self.returns.index_at(since)
        if then is None or not self._is_news(self.returns.steps[then]):
            return False
        gained = self.returns.peak - self.returns.peak_at(then)
        return gained <= max(_LITTLE * self.returns.span, luck * self.spread)

    def _is_news(self, since: int) -> bool:
        """Episodes have ended since a step, or since the best return; assumed where they are not counted."""
        reached = self.returns.peak_step
        if self.ended is None or reached is None:
            return True
        then = self.ended.index_at(min(since, reached))
        return then is None or self.ended.last > self.ended.values[then]


def _curves(history: History, context: Context) -> list[_Curve]:
    """The run's return, or that of each task where several are trained together.

    The task with the largest returns dominates their mean, which would hide the gains of the others.
    """
    tasks = learned_at_once(context)
    stages = () if context.config is None else context.config.curriculum.names
    by_task = [(name, returns) for name in tasks if (returns := history.get(f"task_return/{name}"))]
    if by_task:
        return [
            _Curve(
                returns,
                history.get(f"task_episodes/{name}"),
                history.last(f"task_threshold/{name}"),
                returns.span,
            )
            for name, returns in by_task
        ]
    series = history.get(_RETURN)
    # Returns of a curriculum are those of its last stage, which may not be played at all.
    ended = history.get(f"task_episodes/{stages[-1]}" if stages else "rollout/episodes")
    goal = context.training_threshold
    return [] if series is None else [_Curve(series, ended, goal, return_range(history))]


def return_range(history: History) -> float:
    """The range of the newest single returns; 0 where it is unknown."""
    smallest, largest = history.last("rollout/ep_rew_min"), history.last("rollout/ep_rew_max")
    return 0.0 if smallest is None or largest is None else largest - smallest


def archive_growth(history: History, context: Context) -> tuple[float, float] | None:
    """Cells that the archive gained within the window, and the number above which it counts as growing.

    None without an archive, or before the window is over.
    """
    series = history.get("archive/cells")
    if series is None or not context.budget:
        return None
    then = series.index_at(history.env_steps - ARCHIVE_WINDOW * context.budget)
    if then is None:
        return None
    before = series.values[then]
    return series.last - before, max(_FEW_CELLS, _GROWTH * before)


def is_finding(history: History, context: Context) -> bool:
    """An archive grows, or is young; until it stops growing, a flat return is no fault."""
    growth = archive_growth(history, context)
    return history.get("archive/cells") is not None and (growth is None or growth[0] > growth[1])


def relative_entropy(history: History, context: Context) -> tuple[Series, float] | None:
    """The series of the entropy, and the factor that turns it into a share of uniform; None for boxes."""
    measured = history.get("policy/entropy_relative")
    if measured is not None:
        return measured, 1.0
    series = history.get("train/entropy")
    if series is None or not context.max_entropy:
        return None
    return series, 1.0 / context.max_entropy


def is_decided(history: History, context: Context) -> bool:
    """Hardly any entropy is left."""
    entropy = relative_entropy(history, context)
    return entropy is not None and entropy[0].last * entropy[1] < DECIDED


def categorical(context: Context) -> bool:
    """Actions are choices."""
    return bool(context.max_entropy)


def entropy_evidence(factor: float, value: float, limit: float, sign: str, note: str) -> Evidence:
    """Evidence about the entropy; `value` is a share of a uniform policy's."""
    if factor == 1.0:
        return Evidence("policy/entropy_relative", value, limit, sign, f"where 1 is uniform, {note}")
    share = "train/entropy as a share of a uniform policy's"
    return Evidence("train/entropy", value, limit, sign, note, meaning=share)
