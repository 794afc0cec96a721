"""The curves of a report; curves of metrics that a run did not record are left out."""

import math
from collections.abc import Iterable, Mapping, Sequence

from gymsolve.metrics.action_shares import group_names, label_choices
from gymsolve.metrics.tables.learning import DECADES
from gymsolve.metrics.time_accounting import NAMES
from gymsolve.metrics.training_returns import CUT_SHARE, SELECTED
from gymsolve.text import took
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.document import Block, Figures, Section
from gymsolve.view.report.figures import Curves, Figure, Line, Point, Split, Stack

Range = tuple[float, float]
_HARDLY = 0.005
"""Parts of the time below this share are summed up."""


def learning_curves(view: DiagnosedRun) -> Section:
    """Everything over the steps that the run is measured in."""
    charts: list[Figure | None] = [return_figure(view), loss_figure(view), *_health(view)]
    charts += [*action_figures(view), _seen(view), _length(view), *_gradients(view)]
    figures = [on_axis(view, chart) for chart in charts if chart is not None]
    blocks: Sequence[Block] = [Figures(figures)] if figures else []
    return Section("Learning curves", blocks)


def on_axis(view: DiagnosedRun, chart: Figure) -> Figure:
    """The chart with the name of its axis; its points are there already."""
    return chart._replace(x_label=view.axis) if isinstance(chart, Curves | Stack) else chart


def return_figure(view: DiagnosedRun) -> Curves | None:
    """Training episodes with their range, evaluations with their spread, and the threshold.

    Of a curriculum all of them are those of its last stage.
    """
    goal = _goal(view)
    lows, highs = dict(view.points("rollout/ep_rew_min")), dict(view.points("rollout/ep_rew_max"))
    lines = []
    mean = view.points("rollout/ep_rew_mean")
    if mean:
        spread = [(x, lows[x], highs[x]) for x, _ in mean if x in lows and x in highs]
        unit = f" {view.training_unit}" if view.training_unit else ""
        lines.append(
            Line(f"training episodes{goal}{unit}, last 100: mean, smallest to largest", mean, spread)
        )
    judged = [(view.place(row["env_steps"]), float(row["eval/mean_reward"])) for row in view.judged]
    if judged:
        label = f"evaluation{goal}: mean ± standard deviation"
        lines.append(Line(label, judged, _whiskers(view), marks=True))
    if not lines:
        return None
    bar = view.return_threshold
    level = None if bar is None else (bar, f"threshold {bar:g}")
    note = "Raw return per episode" + (f"{goal}, the last stage." if goal else ".") + _quantities(view)
    return Curves("Return", lines, note, level=level, x_label=view.axis)


def _quantities(view: DiagnosedRun) -> str:
    """Why training and evaluation do not compare, where they do not."""
    shares = [share for _, share in view.points(CUT_SHARE) if math.isfinite(share)]
    note = ""
    if view.training_unit:
        note = (
            f" Training counts {view.training_unit}, evaluations whole games: they are different quantities."
        )
    if shares and max(shares) >= SELECTED:
        note += (
            f" Faults cut up to {max(shares):.0%} of the last training episodes, and the mean is that of "
            "those that were left; evaluations play cut episodes again."
        )
    return note


def _goal(view: DiagnosedRun) -> str:
    """The stage that returns are about, in words; empty without a curriculum."""
    stages = view.config.curriculum.names
    return f" of {stages[-1]}" if stages else ""


def loss_figure(view: DiagnosedRun) -> Curves | None:
    """Parts of the loss that the optimiser weighs against each other, in the same units."""
    lines = [
        Line("policy loss", _sizes(view.points("train/policy_loss"))),
        Line(
            "value loss × vf_coef",
            view.points("train/scaled_value_loss") or _product(view, "train/value_loss", "hyper/vf_coef"),
        ),
        Line(
            "entropy × ent_coef",
            _sizes(view.points("train/scaled_entropy") or _product(view, "train/entropy", "hyper/ent_coef")),
        ),
    ]
    drawn = [line for line in lines if any(y > 0 for _, y in line.points)]
    note = "Size of each part as it is weighed, without its sign; parts that are always 0 are left out."
    return _shown(Curves("Losses", drawn, note, logarithmic=True))


def action_figures(view: DiagnosedRun) -> list[Figure | None]:
    """Actions of the policy: shares of choices, or the range of a box."""
    groups = group_names(view.history.series)
    box = None if groups else _within(view, "Actions", "action", "The axis is the action space.")
    stacks: list[Figure | None] = [_stacked(view, part, named) for part, named in groups.items()]
    return [*(stacks or [None]), box]


def archive_figures(view: DiagnosedRun) -> list[Figure]:
    """Places found over time, and the best that was scored from any of them; of a curriculum, that of its
    last stage, as training's own returns are."""
    cells = Curves("Cells", [Line("in the archive", view.points("archive/cells"))])
    stages, goal = view.config.curriculum.names, _goal(view)
    several = not stages and any(name.startswith("archive_best_score/") for name in view.history.series)
    best = "best scores of the tasks, on average" if several else f"best score of any episode{goal}"
    scores = [
        Line(best, view.points(f"archive_best_score/{stages[-1]}" if stages else "archive/best_score")),
        Line(
            f"training episodes{goal} from a reset, last 100",
            view.points("rollout/ep_shaped_rew_mean") or view.points("rollout/ep_rew_mean"),
        ),
    ]
    charts = _shown(cells), _shown(Curves("Scores", [line for line in scores if line.points]))
    return [on_axis(view, chart) for chart in charts if chart is not None]


def _seen(view: DiagnosedRun) -> Curves | None:
    """Observations as the network sees them, in the range that space and scaling allow."""
    return _within(view, "Observations, as the network sees them", "obs", "The axis is all that is possible.")


def _within(view: DiagnosedRun, title: str, prefix: str, note: str) -> Curves | None:
    """Mean and spread, on an axis that the spaces of the run decide where they have ends."""
    limits = view.context.ranges.get(f"{prefix}/mean")
    mean, std = view.points(f"{prefix}/mean"), dict(view.points(f"{prefix}/std"))
    spread = [(x, y - std[x], y + std[x]) for x, y in mean if x in std]
    line = Line("mean ± standard deviation", mean, spread)
    return _shown(Curves(title, [line], note if limits else "", limits=limits))


def time_split(view: DiagnosedRun) -> Split | None:
    """Seconds of all sittings by part; for logs without shares, collecting and learning at least."""
    spent = {part: round(seconds, 2) for part, seconds in view.spent.items()}
    whole = sum(spent.values())
    if whole and set(spent) - {"eval"}:
        larger = {part: spent[part] for part in NAMES if spent.get(part, 0.0) >= _HARDLY * whole}
        parts = [(f"{NAMES[part]}, {took(seconds)}", seconds / whole) for part, seconds in larger.items()]
        rest = whole - sum(larger.values())
        small = [(f"less than {_HARDLY:.1%} each, {took(rest)}", rest / whole)] if rest > 0.005 else []
        return Split("Where the time went", [*parts, *small], f"{took(whole)} in all.")
    collect, update = _mean(view.values("time/collect_seconds")), _mean(view.values("time/update_seconds"))
    if not collect or not update or not view.seconds:
        return None
    share = min(1.0, spent.get("eval", 0.0) / view.seconds)
    both = collect + update
    parts = [("collecting", (1 - share) * collect / both), ("learning", (1 - share) * update / both)]
    return Split("Where the time went", [*parts, *([("evaluating", share)] if share > 0 else [])])


def _health(view: DiagnosedRun) -> list[Curves | None]:
    """Metrics of the updates; the shaded range is usual where things go well."""
    relative = view.points("policy/entropy_relative")
    highest = view.context.max_entropy
    if not relative and highest:
        relative = [(x, y / highest) for x, y in view.points("train/entropy")]
    box = [] if relative else view.points("train/entropy")
    return [
        _one("KL per update", "approximate KL", view.points("train/approx_kl"), (0.002, 0.02)),
        _one("Clipped ratios", "share", view.points("train/clip_fraction"), (0.02, 0.3)),
        _one("Entropy, relative", "1 is uniform, 0 decided", relative, (0.05, 1.0), limits=(0.0, 1.0)),
        _one("Entropy", "nats", box, None),
        _one("Explained variance", "of the returns", view.points("train/explained_variance"), (0.5, 1.0)),
        _one("Action values", "mean of those taken", view.points("train/q_mean"), None),
        _one("TD error", "mean distance from targets", view.points("train/td_error"), None),
        _one("Random actions", "share", view.points("hyper/epsilon"), None, limits=(0.0, 1.0)),
        _one("Gradient norm", "before clipping", view.points("train/grad_norm"), None),
    ]


def _length(view: DiagnosedRun) -> Curves | None:
    return _one("Episode length", "mean of the last 100", view.points("rollout/ep_len_mean"), None)


def _one(
    title: str, label: str, points: list[Point], healthy: Range | None, limits: Range | None = None
) -> Curves | None:
    note = "" if healthy is None else f"Shaded: {healthy[0]:g} to {healthy[1]:g}, usual where things go well."
    return _shown(Curves(title, [Line(label, points)], note, healthy=healthy, limits=limits))


def _shown(chart: Curves | None) -> Curves | None:
    """The chart, if there is anything to draw in it."""
    some = chart is not None and any(math.isfinite(y) for line in chart.lines for _, y in line.points)
    return chart if some else None


def _together(curves: Iterable[Sequence[Point]]) -> tuple[list[float], list[list[float]]]:
    """The steps of all curves, and the values of each at them: a record may lack some, which count as 0."""
    by_step = [dict(points) for points in curves]
    xs = sorted(set[float]().union(*by_step))
    return xs, [[_or_zero(points.get(x)) for x in xs] for points in by_step]


def _stacked(view: DiagnosedRun, part: int | None, named: Mapping[str, range]) -> Stack | None:
    xs, shares = _together(map(view.points, named))
    if not xs:
        return None
    labels = [f"action {label_choices(choices).replace('to', ' to ')}" for choices in named.values()]
    title = "Actions taken" if part is None else f"Actions taken, part {part}"
    return Stack(title, labels, xs, shares, "Share of each choice since the record before.")


def _gradients(view: DiagnosedRun) -> list[Stack]:
    """Sizes of the entries of gradients, by decade and by part of the network."""
    charts = []
    sizes = ["zero", *(f"1e{power}" for power in DECADES)]
    parts = {"trunk": "the shared layers", "policy": "the policy", "value": "the value function"}
    for part, what in parts.items():
        by_size = {size: view.points(f"gradient/{part}_{size}") for size in sizes}
        occurring = {size: points for size, points in by_size.items() if any(y > 0 for _, y in points)}
        if occurring:
            xs, shares = _together(occurring.values())
            note = "Share of the entries by size, in the last gradient step of some updates."
            charts.append(Stack(f"Gradient of {what}", list(occurring), xs, shares, note))
    return charts


def _or_zero(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else 0.0


def _whiskers(view: DiagnosedRun) -> list[tuple[float, float, float]]:
    whiskers = []
    for row in view.judged:
        mean, std = float(row["eval/mean_reward"]), row.get("eval/std_reward")
        if std is not None and math.isfinite(std):
            whiskers.append((view.place(row["env_steps"]), mean - std, mean + std))
    return whiskers


def _sizes(points: list[Point]) -> list[Point]:
    return [(x, abs(y)) for x, y in points]


def _product(view: DiagnosedRun, metric: str, weight: str) -> list[Point]:
    weights = dict(view.points(weight))
    return [(x, y * weights[x]) for x, y in view.points(metric) if x in weights]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
