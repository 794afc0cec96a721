"""The reward audit: size, frequency and components of the rewards."""

import csv
import io
import math
from statistics import fmean, pstdev
from typing import NamedTuple

from gymsolve.errors import RunDamagedError
from gymsolve.runs.files import read_file
from gymsolve.text import count, number
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.document import Block, Figures, Paragraph, Section, Table
from gymsolve.view.report.figures import Bars, Curves, Figure, Line, Split

_BINS = 20
_TABLE_BYTES = 64 << 20
_SHARE = "reward_share/"
_FAR = 4.0
"""Standard deviations from the mean at which a reward is called an outlier."""


def reward_audit(view: DiagnosedRun) -> Section:
    """Rewards of single steps (the newest stored rollout), of episodes, and of named components."""
    rewards = _stored_rewards(view)
    blocks: list[Block] = []
    charts: list[Figure] = []
    if rewards:
        blocks += [Paragraph(_summary(rewards)), _table(rewards)]
        charts.append(bars_of(rewards, "Rewards of single steps", "reward, as it was learned from"))
    returns = view.values("rollout/ep_rew_last")
    if len(returns) > 1:
        note = "One episode per record, over the whole training."
        charts.append(bars_of(returns, "Returns of training episodes", "raw return", note))
    parts = _parts(view)
    blocks += [_part_table(parts)] if parts else []
    charts += [chart for chart in (_components(parts), _shaping(view), _spread(view)) if chart is not None]
    return Section("Reward audit", [*blocks, *([Figures(charts)] if charts else [])])


def bars_of(values: list[float], title: str, x_label: str, note: str = "") -> Bars:
    """A histogram of equal bins; a single value gets a bin of its own."""
    low, high = min(values), max(values)
    if low == high:
        room = 0.5 * abs(low) or 0.5
        return Bars(title, [low - room, high + room], [len(values)], note, x_label)
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int((value - low) / (high - low) * _BINS))] += 1
    edges = [low + (high - low) * index / _BINS for index in range(_BINS + 1)]
    return Bars(title, edges, counts, note, x_label)


def _stored_rewards(view: DiagnosedRun) -> list[float]:
    """The rewards in the newest checkpoint's table of its last rollout; empty when there is none."""
    if not view.checkpoints:
        return []
    newest = next((saved for saved in view.checkpoints if saved["last"]), view.checkpoints[-1])
    path = view.run.path / "checkpoints" / newest["name"] / "rollout.csv"
    try:
        text = read_file(path, most=_TABLE_BYTES).decode(errors="replace")
        cells = [row.get("reward") for row in csv.DictReader(io.StringIO(text, newline=""))]
    except (RunDamagedError, csv.Error):  # a file that is only there for people
        return []
    return [value for value in map(_number, cells) if value is not None]


def _number(cell: str | None) -> float | None:
    try:
        value = float(cell or "")
    except ValueError:  # a damaged line of a file that is only there for people
        return None
    return value if math.isfinite(value) else None


def _summary(rewards: list[float]) -> str:
    paid = sum(1 for reward in rewards if reward != 0) / len(rewards)
    far = len(_outliers(rewards))
    values = len(set(rewards))
    kinds = "always the same" if values == 1 else f"{count(values)} different values"
    far_off = f"{count(far)} further than {_FAR:g} standard deviations from the mean"
    outliers = far_off if far else "no outliers"
    return (
        f"Of the last {count(len(rewards))} stored steps {paid:.1%} were rewarded (anything but 0); "
        f"{kinds}, {outliers}."
    )


def _table(rewards: list[float]) -> Table:
    ordered = sorted(rewards)
    middle, high = ordered[len(ordered) // 2], ordered[int(0.95 * (len(ordered) - 1))]
    zeros = sum(1 for reward in rewards if reward == 0) / len(rewards)
    figures = [fmean(rewards), pstdev(rewards), ordered[0], middle, high, ordered[-1]]
    headers = ("mean", "std", "smallest", "median", "95 %", "largest", "zeros")
    return Table(headers, [(*map(number, figures), f"{zeros:.1%}")], range(7))


def _outliers(rewards: list[float]) -> list[float]:
    mean, std = fmean(rewards), pstdev(rewards)
    return [reward for reward in rewards if std > 0 and abs(reward - mean) > _FAR * std]


class _Part(NamedTuple):
    """A component of the reward: its mean share, its last share, and its last value per step."""

    name: str
    share: float
    last_share: float
    per_step: float | None


def _parts(view: DiagnosedRun) -> list[_Part]:
    parts = []
    for name in view.history.series:
        shares = view.values(name) if name.startswith(_SHARE) else []
        if shares:
            part = name.removeprefix(_SHARE)
            parts.append(_Part(part, fmean(shares), shares[-1], view.history.last(f"reward/{part}")))
    return parts


def _part_table(parts: list[_Part]) -> Table:
    headers = ("component", "share, whole training", "share at the end", "per step at the end")
    rows = [
        (part.name, f"{part.share:.1%}", f"{part.last_share:.1%}", number(part.per_step)) for part in parts
    ]
    return Table(headers, rows, range(1, 4))


def _components(parts: list[_Part]) -> Split | None:
    """Share of each component of the reward."""
    means = [(part.name, part.share) for part in parts]
    note = "Share of the absolute reward, mean over the training."
    return Split("Components of the reward", means, note) if sum(mean for _, mean in means) > 0 else None


def _shaping(view: DiagnosedRun) -> Curves | None:
    """Shaped return, which the agent saw, against the raw one, which counts."""
    shaped = view.points("rollout/ep_shaped_rew_mean")
    if not shaped:
        return None
    lines = [Line("raw", view.points("rollout/ep_rew_mean")), Line("as the agent saw it", shaped)]
    return Curves("Raw and shaped return", lines, x_label=view.axis)


def _spread(view: DiagnosedRun) -> Curves | None:
    mean, std = view.points("rollout/reward_mean"), dict(view.points("rollout/reward_std"))
    if not mean:
        return None
    spread = [(x, y - std[x], y + std[x]) for x, y in mean if x in std]
    return Curves("Rewards per step", [Line("mean ± standard deviation", mean, spread)], x_label=view.axis)
