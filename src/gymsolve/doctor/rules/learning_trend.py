"""Is it learning? What several rules ask before they call a number a problem."""

from dataclasses import dataclass

from gymsolve.doctor.history import History, Series
from gymsolve.doctor.rules.rule import Context, Evidence

_RETURN = "rollout/ep_rew_mean"
DECIDED = 0.05
"""Share of the largest entropy below which a policy no longer tries anything."""
ARCHIVE_WINDOW = 0.2
"""Share of the budget within which an archive should grow."""
_GROWTH, _FEW_CELLS = 0.01, 2.0
"""By this share, and by more than so many cells."""
_LITTLE = 0.02
"""A gain below this share of all that was ever gained is none."""
_NEAR = 0.1
"""Within this share of all that was ever gained from the threshold, gains have to become small."""


def is_reached(history: History, context: Context) -> bool:
    """The newest returns are good enough: what looks like a symptom may be success."""
    bar = context.threshold
    if bar is None:
        return False
    answer = history.memo.get((bar,))  # most rules ask it of every record
    if answer is None:
        judged, trained = history.last("eval/mean_reward"), history.last(_RETURN)
        answer = (judged is not None and judged >= bar) or (trained is not None and trained >= bar)
        if tasks := learned_at_once(context):  # one far beyond its bar does not make up for another
            answer = history.last("eval/tasks_reached") == len(tasks)
        history.memo[bar,] = answer
    return answer


def is_confirmed(history: History, context: Context) -> bool:
    """The newest evaluation is good enough; returns of training count only while there is none.

    For rules that doubt the episodes of training themselves.
    """
    judged = history.last("eval/mean_reward")
    if context.threshold is None or judged is None or learned_at_once(context):
        return is_reached(history, context)
    return judged >= context.threshold


def is_flat(history: History, context: Context, share: float, *, luck: float = 0.0) -> bool:
    """The best training return has not grown within the last `share` of the budget, and should have.

    Episodes must have ended since it was reached: where all copies play long ones, returns stand still for a
    while because there are no new ones.

    A gain below `luck` times the range of the window's returns is taken for chance: the mean of 100 episodes
    has a standard error of about a fiftieth of that range.
    """
    asked = (share, luck, context.budget, context.threshold)  # a dozen rules ask the same of every record
    answer = history.memo.get(asked)
    if answer is None:
        answer = history.memo[asked] = _is_flat(history, context, share, luck)
    return answer


def _is_flat(history: History, context: Context, share: float, luck: float) -> bool:
    if not context.budget or is_reached(history, context):
        return False
    open_curves = [one for one in _curves(history, context) if not one.is_near]
    since = history.env_steps - share * context.budget
    return bool(open_curves) and all(one.stands_still(since, luck) for one in open_curves)


def learned_at_once(context: Context) -> tuple[str, ...]:
    """Several tasks, without a curriculum; none where there is one, or where they are stages."""
    config = context.config
    return () if config is None or config.curriculum.stages else tuple(config.env.tasks)


@dataclass(frozen=True)
class _Curve:
    """A return that training should raise."""

    returns: Series
    ended: Series | None
    """Episodes so far; None where nobody counts them."""
    threshold: float | None
    spread: float
    """Of single episodes."""

    @property
    def is_near(self) -> bool:
        """Is it so near to the threshold that gains have to become small?"""
        return self.threshold is not None and self.threshold - self.returns.peak <= _NEAR * self.returns.span

    def stands_still(self, since: float, luck: float) -> bool:
        """Has nothing been gained since then, although episodes have ended?"""
        then = self.returns.index_at(since)
        if then is None or not self._is_news(self.returns.steps[then]):
            return False
        gained = self.returns.peak - self.returns.peak_at(then)
        return gained <= max(_LITTLE * self.returns.span, luck * self.spread)

    def _is_news(self, since: int) -> bool:
        """Have episodes ended since then, or since the best return? Where nobody counts, they may have."""
        reached = self.returns.peak_step
        if self.ended is None or reached is None:
            return True
        then = self.ended.index_at(min(since, reached))
        return then is None or self.ended.last > self.ended.values[then]


def _curves(history: History, context: Context) -> list[_Curve]:
    """The run's own return; of tasks that are learned at once, those of each.

    Their mean is ruled by the task with the largest returns, and hides what the others gain.
    """
    tasks, stages = (
        learned_at_once(context),
        () if context.config is None else context.config.curriculum.names,
    )
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
    smallest, largest = history.last("rollout/ep_rew_min"), history.last("rollout/ep_rew_max")
    spread = 0.0 if smallest is None or largest is None else largest - smallest
    # Returns of a curriculum are those of its last stage, which may not be played at all.
    ended = history.get(f"task_episodes/{stages[-1]}" if stages else "rollout/episodes")
    return [] if series is None else [_Curve(series, ended, context.threshold, spread)]


def archive_growth(history: History, context: Context) -> tuple[float, float] | None:
    """Cells that the archive has found within the window, and how many show that it grows.

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
    """An archive grows, or is young: meanwhile, nothing needs to be earned."""
    growth = archive_growth(history, context)
    return history.get("archive/cells") is not None and (growth is None or growth[0] > growth[1])


def relative_entropy(history: History, context: Context) -> tuple[Series, float] | None:
    """The series of the entropy and what to multiply it by, so that 1 is uniform; None for boxes."""
    measured = history.get("policy/entropy_relative")
    if measured is not None:
        return measured, 1.0
    series = history.get("train/entropy")
    if series is None or not context.max_entropy:
        return None
    return series, 1.0 / context.max_entropy


def is_decided(history: History, context: Context) -> bool:
    """Next to no entropy is left."""
    found = relative_entropy(history, context)
    return found is not None and found[0].last * found[1] < DECIDED


def categorical(context: Context) -> bool:
    """Actions are choices among more than one."""
    return bool(context.max_entropy)


def entropy_evidence(factor: float, value: float, limit: float, sign: str, note: str) -> Evidence:
    """`value` is a share of a uniform policy's entropy, whether measured as such or not."""
    if factor == 1.0:
        return Evidence("policy/entropy_relative", value, limit, sign, f"where 1 is uniform, {note}")
    share = "train/entropy as a share of a uniform policy's"
    return Evidence("train/entropy", value, limit, sign, note, meaning=share)
