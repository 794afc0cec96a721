"""Turns remedies into changes of settings that have an effect and do no harm.

A change is proposed only if it changes the run and stays within the usual range of its setting; a factor
multiplies all of a schedule. In one report a setting gets one value: the first cause decides, and a remedy
that asks for the opposite waits (`settle`).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gymsolve.doctor.rules.rule import Change, Context, ProposedChange
from gymsolve.settings.schedules import Schedule
from gymsolve.text import setting

if TYPE_CHECKING:
    from gymsolve.doctor.alerts import Alert

USUAL: dict[str, tuple[float, float]] = {
    "algo.learning_rate": (1e-6, 1e-2),
    "algo.ent_coef": (0.0, 0.1),
    "algo.vf_coef": (0.01, 2.0),
    "algo.num_epochs": (1, 20),
    "algo.num_steps": (1, 4096),
    "algo.gamma": (0.9, 0.9999),
    "algo.clip_coef": (0.05, 0.4),
    "algo.target_kl": (0.005, 0.05),
    "algo.max_grad_norm": (0.1, 10.0),
    "net.policy_gain": (0.0, 1.0),
    "net.log_std_init": (-2.0, 0.5),
    "net.dropout": (0.0, 0.5),
}
"""Remedies never leave these ranges; a value that is outside already is only brought nearer."""
_SGD_RATE = 1.0
"""Plain gradient steps take larger rates than steps that are divided by the size of gradients."""
_WHOLE = ("algo.num_epochs", "algo.num_steps")
_ZERO_IS_OFF = ("algo.max_grad_norm",)
_NO_VECTORS = "net.normalize_obs"
_OF_ACTORS = ("net.normalize_values", "net.shared")
"""Settings of actor-critics alone."""
_OF_CRITICS = ("algo.vf_coef", "net.normalize_values")
_OF_BOXES = ("net.squash", "net.log_std_init")


@dataclass(frozen=True)
class Prescription:
    """The changes that a remedy comes down to."""

    changes: tuple[Change, ...]
    instead: str
    """The reason where no change is left, in words."""


def prescribe(context: Context, wishes: Iterable[ProposedChange]) -> Prescription:
    """The changes that a rule's remedy comes down to in a run with these settings."""
    changes: dict[str, Change] = {}
    idle: list[str] = []
    for wish in wishes:
        if context.config is None:
            changes.setdefault(wish.path, Change(wish.path, None, None, _advice(wish), wish.move))
            continue
        if not _is_known(context, wish.path) or _is_inert(context, wish.path):
            continue
        if wish.move != "set" and _is_learned(context, wish.path):
            continue
        old = context.setting(wish.path)
        new = _wished(context, wish, old)
        if _plain(old) == new:
            idle.append(f"{wish.path}={setting(_plain(old))}")
        else:
            changes.setdefault(wish.path, Change(wish.path, _plain(old), new, move=wish.move))
    if changes or not idle:
        return Prescription(tuple(changes.values()), "")
    return Prescription((), f"the settings that usually help are there already ({', '.join(idle)})")


def settle(alerts: Sequence["Alert"]) -> list["Alert"]:
    """The alerts of one report, the most important first, with remedies that do not contradict each other."""
    decided: dict[str, tuple[str, Change]] = {}
    settled = []
    for alert in alerts:
        kept: list[Change] = []
        others: list[str] = []
        for change in alert.changes:
            owner, first = decided.setdefault(change.path, (alert.id, change))
            if first == change or (first.move == change.move != "set"):
                kept.append(first)  # one value for a setting, whichever alert asks for it
            elif owner not in others:
                others.append(owner)
        waits = "" if kept else _wait_for(others)
        settled.append(replace(alert, changes=tuple(kept), instead=waits or alert.instead))
    return settled


def _wait_for(others: Sequence[str]) -> str:
    if not others:
        return ""
    verb = "come" if len(others) > 1 else "comes"
    return f"wait: {' and '.join(others)} {verb} first, with the opposite change"


def peak(value: Any) -> float | None:
    """The largest value of a number or schedule; None for anything else."""
    if isinstance(value, Schedule):
        return max(value.values())
    if isinstance(value, dict):
        return peak(Schedule.model_validate(value))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _wished(context: Context, wish: ProposedChange, old: Any) -> Any:
    """The new value as it would be stored; the old one where the change is impossible."""
    if wish.move == "set":
        top = peak(wish.value)
        usual = 1.0 if not top else _clamped(context, wish.path, top) / top
        return wish.value if usual == 1.0 else _mapped(wish.value, lambda value: value * usual, wish.path)
    high = peak(old)
    if high is None or (high == 0.0 and (wish.factor != 1.0 or wish.path in _ZERO_IS_OFF)):
        # Off, or 0, which no factor moves.
        wanted = wish.value if wish.factor == 1.0 or wish.move == "up" else None
        return _plain(old) if wanted is None else _whole(wish.path, _within(context, wish, wanted, None))
    if wish.factor == 1.0:
        return _mapped(old, lambda value: _barred(context, wish, value), wish.path)
    factor = _within(context, wish, high * wish.factor, high) / high
    return _plain(old) if factor == 1.0 else _mapped(old, lambda value: value * factor, wish.path)


def _barred(context: Context, wish: ProposedChange, value: float) -> float:
    bar = _within(context, wish, wish.value, value)
    return max(value, bar) if wish.move == "up" else min(value, bar)


def _within(context: Context, wish: ProposedChange, wanted: float, old: float | None) -> float:
    """The wanted value within the usual range; the old one where that would move the other way."""
    near = _clamped(context, wish.path, wanted)
    if old is None:
        return near
    return max(near, old) if wish.move == "up" else min(near, old)


def _clamped(context: Context, path: str, value: float) -> float:
    low, high = USUAL.get(path, (-math.inf, math.inf))
    if path == "algo.learning_rate" and context.setting("algo.optimizer.name") == "sgd":
        high = _SGD_RATE
    return min(max(value, low), high)


def _mapped(value: Any, to: Callable[[float], float], path: str) -> Any:
    """A number, or all values of a schedule, with three digits."""

    def map_number(number: float) -> Any:
        moved = to(number)
        return number if moved == number else _whole(path, float(f"{moved:.3g}"))

    plain = _plain(value)
    if not isinstance(plain, dict):
        return map_number(plain)
    ends = ("start", "end", "floor")
    out = {key: map_number(inner) if key in ends else inner for key, inner in plain.items()}
    if "points" in out:
        out["points"] = [[at, map_number(inner)] for at, inner in out["points"]]
    return out


def _whole(path: str, value: float) -> Any:
    return max(1, round(value)) if path in _WHOLE else value


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, Schedule) else value


def _advice(wish: ProposedChange) -> str:
    """A change in words, for logs whose settings are not known."""
    if wish.factor == 1.0:
        bound = {"up": " at least", "down": " at most", "set": ""}[wish.move]
        return f"set it to {setting(wish.value)}{bound}"
    verb = "raise" if wish.move == "up" else "lower"
    size = max(wish.factor, 1.0 / wish.factor)
    from_zero = f", or to {wish.value:g} from 0" if wish.value is not None and wish.move == "up" else ""
    return f"{verb} it by a factor of {f'{size:,.0f}' if size >= 10 else f'{size:.2g}'}{from_zero}"


def _is_known(context: Context, path: str) -> bool:
    """The run has a setting of that name, which not all algorithms have."""
    section, _, key = path.rpartition(".")
    node = context.setting(section) if section else context.config
    return node is not None and key in type(node).model_fields


def _is_learned(context: Context, path: str) -> bool:
    """The run learns this number itself: raising it would put a fixed one in its place."""
    learned = context.setting(path) is None and context.setting("algo.ent_coef_init") is not None
    return path == "algo.ent_coef" and learned


def _is_inert(context: Context, path: str) -> bool:
    """The setting has no effect in this run."""
    assert context.config is not None
    spec = context.spec
    if path in _OF_ACTORS and not context.values_states:
        return True
    if path in _OF_CRITICS:
        return not context.config.algo.has_critic
    if spec is None:
        return False
    if path == _NO_VECTORS:
        return all(entry.kind != "vector" for entry in spec.obs.values())
    return path in _OF_BOXES and spec.action.kind != "box"
