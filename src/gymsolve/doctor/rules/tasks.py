"""Rules about several tasks of one policy: one is starved, forgotten, or holds a curriculum up."""

import math

from gymsolve.doctor.history import History, Series
from gymsolve.doctor.rules.learning_trend import learned_at_once
from gymsolve.doctor.rules.remedies import all_of, set_to
from gymsolve.doctor.rules.rule import ODD_ENTROPY, Context, Effect, Evidence, ProposedChange, Rule

_STARVED = 0.05
"""A task with a smaller part of its equal share of the advantages hardly counts."""
_FELL = 0.5
"""A task that loses this share of its gain counts as forgotten."""
_LEARNED = 0.5
"""A task that has come this share of the way to its threshold counts as learned."""
_STUCK = 0.3
"""A stage should come nearer to its end within this share of the budget."""
_NEARER = 0.1
"""It comes nearer if it gains this share of the way that was left."""
_REHEARSED = 0.25
"""Share of the copies that play earlier stages, as curricula have it by default."""
_NEAR = 0.25
"""A task that is below its best by no more than this share of its gain does well."""


def _starved(history: History, context: Context, active: bool) -> Evidence | None:
    """A task that has not reached its threshold has tiny advantages beside the other tasks."""
    names = _tasks(context)
    bar = (2.0 if active else 1.0) * _STARVED
    for name in names:
        metric = f"task_signal/{name}"
        signal = history.last(metric)
        if signal is None or signal * len(names) >= bar or _does_well(history, context, name):
            continue
        return Evidence(metric, signal, _STARVED / len(names), "<", f"{name} is not where it should be")
    return None


def _forgotten(history: History, context: Context, active: bool) -> Evidence | None:
    """A task that was learned has lost most of it, beyond chance, while another task is at its best."""
    names = _tasks(context)
    for name in names:
        metric = _judged(context, name)
        series = history.get(metric)
        if series is None or len(series.values) < 3 or history.last(f"task_reached/{name}") == 1.0:
            continue
        first = _at_first(history, context, name, series)
        needed = history.last(f"task_threshold/{name}")
        gained = series.peak - first
        if needed is not None and gained < _LEARNED * (needed - first):
            continue
        bar = series.peak - (0.7 if active else 1.0) * _FELL * gained
        error = _standard_error(history, context, name)
        if gained > 4.0 * error and series.last < bar and series.peak - series.last > 4.0 * error:
            best = series.steps[series.values.index(series.peak)]
            others = [other for other in names if _rises(history.get(_judged(context, other)), best)]
            if others:
                note = f"after {series.peak:.4g} at step {best:,}, while {others[0]} does well"
                return Evidence(metric, series.last, bar, "<", note)
    return None


def _stuck(history: History, context: Context, active: bool) -> Evidence | None:
    """A stage that is not the last one comes no nearer to its threshold."""
    place, achieved = history.get("curriculum/stage"), history.get("curriculum/achieved")
    if context.config is None or place is None or achieved is None:
        return None
    ladder, number = context.config.curriculum, int(place.last)
    since = history.env_steps - _STUCK * context.budget
    then, first = place.index_at(since), achieved.index_at(since)
    if number >= len(ladder.stages) or then is None or first is None or set(place.values[then:]) != {number}:
        return None
    stage = ladder.stages[number - 1]
    if stage.steps is not None:  # the next one begins anyway
        return None
    needed = history.last(f"task_threshold/{stage.name}")
    bar = ladder.bar(stage, context.config.solved_by, needed)
    middle = (first + len(achieved.values)) // 2
    if bar is None or middle == first:
        return None
    before, after = max(achieved.values[first:middle]), max(achieved.values[middle:])
    if after - before > (2.0 if active else 1.0) * _NEARER * (bar - before):
        return None
    note = f"in stage {number} of {len(ladder.stages)}, {stage.name}, for {_STUCK:.0%} of the budget"
    return Evidence("curriculum/achieved", achieved.last, bar, "<", note)


def _by_success(context: Context) -> bool:
    """Thresholds are shares of successes, not returns."""
    return context.config is not None and context.config.solved_by == "success_rate"


def _judged(context: Context, name: str) -> str:
    """The metric of evaluations that a task's threshold is compared with."""
    return f"task_eval_success/{name}" if _by_success(context) else f"task_eval/{name}"


def _trained(context: Context, name: str) -> str:
    """The metric of training that a task's threshold is compared with."""
    return f"task_success/{name}" if _by_success(context) else f"task_return/{name}"


def _at_first(history: History, context: Context, name: str, judged: Series) -> float:
    """The first return of a task; that of training where it was lower than the first evaluation's."""
    trained = history.get(_trained(context, name))
    first = judged.values[0]
    return first if trained is None else min(first, trained.values[0])


def _tasks(context: Context) -> tuple[str, ...]:
    return () if context.config is None else tuple(context.config.env.tasks)


def _does_well(history: History, context: Context, name: str) -> bool:
    """The task has reached its threshold in training, or gained something where none is known."""
    series = history.get(_trained(context, name))
    if series is None or not series.values:
        return False
    needed = history.last(f"task_threshold/{name}")
    if needed is not None:
        return history.last(f"task_reached/{name}") == 1.0 or series.last >= needed
    return series.last - series.values[0] > _NEAR * series.span and series.span > 0.0


def _rises(series: Series | None, since: int) -> bool:
    """The series has gained since a step, and is near its best."""
    if series is None or not series.values:
        return False
    gained = series.peak - series.values[0]
    before = [value for step, value in zip(series.steps, series.values, strict=True) if step <= since]
    return gained > 0.0 and series.last >= series.peak - _NEAR * gained and series.last > max(before)


def _standard_error(history: History, context: Context, name: str) -> float:
    """The standard error of the newest evaluation; `eval/episodes` of a curriculum counts its last stage."""
    assert context.config is not None
    played = history.last("eval/episodes")
    if not played:
        return 0.0
    staged = bool(context.config.curriculum.stages)
    episodes = min(played, context.config.eval.episodes) if staged else played / len(_tasks(context))
    if not _by_success(context):
        return (history.last(f"task_eval_std/{name}") or 0.0) / math.sqrt(episodes)
    share = ((history.last(_judged(context, name)) or 0.0) * episodes + 1.0) / (episodes + 2.0)
    return math.sqrt(share * (1.0 - share) / (episodes + 2.0))


def _has_tasks(context: Context) -> bool:
    return bool(_tasks(context))


def _all_at_once(context: Context) -> bool:
    """Several tasks without a curriculum, which leaves stages out on purpose."""
    return bool(learned_at_once(context))


def _keep(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """Play the task again where no copy does, and share less; a hidden task cannot have a head of its own."""
    ladder = context.setting("curriculum")
    dropped = ladder is not None and ladder.stages and ladder.choice == "ladder" and not ladder.rehearsal
    hidden = context.setting("net.tasks.input") is False
    path, value = ("net.tasks.input", True) if hidden else ("net.tasks.heads", "each")
    again = [ProposedChange("curriculum.rehearsal", "up", value=_REHEARSED)] if dropped else []
    return [
        *again,
        ProposedChange(path, "set", value=value),
        ProposedChange("algo.normalize_advantages", "set", value="task"),
    ]


TASKS = (
    Rule(
        id="task_starved",
        signal=34,
        title="a task is starved: next to nothing is learned about it",
        needs=("rollout/advantage_std",),
        check=_starved,
        cause="rewards of other tasks are so much larger that its own do not count, or it is hardly played",
        remedy=all_of(
            set_to("algo.normalize_advantages", "task"),
            set_to("net.normalize_values", "popart"),
            set_to("net.tasks.values", "each"),
        ),
        instead="give the task more copies: a larger env.tasks.<task>.share",
        effect=Effect(None, "rises", above=_STARVED),
        # `value_scale` is about all tasks together: to scale them together would starve this one further.
        explains=("return_flat", *ODD_ENTROPY, "ev_zero", "task_forgotten", "value_scale"),
        applies=_all_at_once,
        warmup=0.1,
        standing=True,
    ),
    Rule(
        id="task_forgotten",
        signal=34,
        title="a task is forgotten while another one is learned",
        needs=("eval/mean_reward",),
        check=_forgotten,
        cause="what is learned for other tasks overwrites it: too few of its steps, or too much is shared",
        remedy=_keep,
        instead="give the task more copies: a larger env.tasks.<task>.share, or curriculum.rehearsal",
        effect=Effect(None, "keeps its best value"),
        explains=("return_flat", "return_fell"),
        persistence=2,
        patience=2,
        applies=_has_tasks,
    ),
    Rule(
        id="stage_stuck",
        signal=34,
        title="a stage of the curriculum comes no nearer to its end",
        needs=("curriculum/stage", "curriculum/achieved"),
        check=_stuck,
        cause="the stage is too hard for what comes before it, or more is asked of it than can be achieved",
        instead="put an easier stage before it, lower its promote_at, or give it steps, after which the next "
        "one begins anyway",
        effect=Effect("curriculum/achieved", "rises"),
        applies=_has_tasks,
        warmup=_STUCK,
    ),
)
