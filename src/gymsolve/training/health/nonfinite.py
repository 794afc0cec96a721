"""Numbers that are not finite: a few sums notice them, and only then a search finds their place.

The error blames the source of the first one: an environment (`EnvFaultError`), or learning
(`DivergenceError`). Nothing is repaired here; `Trainer.undo` restores the state before.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from gymsolve.envs.backends.episode_stats import fault
from gymsolve.envs.labels import name_dimensions
from gymsolve.errors import BadKind, BadNumber, DivergenceError, EnvFaultError, GymsolveError, OwnCodeError
from gymsolve.experience.rollout import Rollout
from gymsolve.spec import Array, EnvSpec

if TYPE_CHECKING:
    from gymsolve.training.trainer import Trainer

_TRY = {
    "reward": "Try algo.normalize_rewards=true, or the wrapper scale_reward.",
    "advantage": "Try algo.normalize_rewards=true, or the wrapper scale_reward.",
    "action": "Try net.normalize_obs=running, a lower algo.learning_rate or algo.max_grad_norm=0.5.",
    "log_prob": "Try net.normalize_obs=running, a lower algo.learning_rate or algo.max_grad_norm=0.5.",
    "value": "Try net.normalize_obs=running, a lower algo.learning_rate or algo.max_grad_norm=0.5.",
}
_LARGEST_SQUARED = float(np.sqrt(np.finfo(np.float32).max))
_TRY_RATE = "Try a lower algo.learning_rate, algo.max_grad_norm=0.5 or net.normalize_obs=running."


# ------------------------------------------------------------------------------- who is to blame


def blame(trainer: "Trainer", error: EnvFaultError) -> GymsolveError:
    """The fault of an environment in the middle of a rollout, with the steps of the run.

    An environment that was given a bad action is not the one to blame for what follows.
    """
    collector = trainer.collector
    row = collector.begun - 1
    bad = _bad_action(trainer.policy.spec, collector.rollout.actions[row])
    if bad is not None:
        return _diverged(_at(trainer, bad, row + 1))
    return error if error.bad is None else fault(_at(trainer, error.bad, row + 1), trainer.envs.spec.id)


def blame_evaluation(error: EnvFaultError, spec: EnvSpec, vec_steps: int) -> EnvFaultError:
    """The fault of an environment in an evaluation, which counts its own steps."""
    if error.bad is None:
        return error
    return fault(replace(error.bad, role="eval", vec_steps=vec_steps), spec.id)


def date_fault(error: GymsolveError, env_id: str, env_steps: int) -> GymsolveError:
    """The error of an evaluation, with the step of training that was evaluated."""
    if error.bad is None:
        return error
    bad = replace(error.bad, env_steps=env_steps)
    return fault(bad, env_id) if isinstance(error, EnvFaultError) else _diverged(bad)


def raise_as(explained: GymsolveError, error: GymsolveError) -> NoReturn:
    """Raise `told` in place of `error`; the same error keeps its own cause."""
    if explained is error:
        raise error
    raise explained from error


def require_finite_actions(spec: EnvSpec, actions: Array, vec_steps: int) -> None:
    """Refuse to give an environment a bad action in an evaluation."""
    bad = _bad_action(spec, actions)
    if bad is not None:
        raise _diverged(replace(bad, role="eval", vec_steps=vec_steps))


def _bad_action(spec: EnvSpec, actions: Array) -> BadNumber | None:
    """The first number among the actions [N, A] of a box that is not finite."""
    if spec.action.kind != "box" or math.isfinite(float(actions.sum())):
        return None
    place = _first_bad(actions)
    if place is None:
        return None
    names = name_dimensions(spec.id, spec.action)
    label = names[place[1]] if names else None
    return BadNumber("action", str(actions[place]), place[0], None, place[1:], label)


# ------------------------------------------------------------------------- before and after learning


@np.errstate(all="ignore")
def require_finite_rollout(trainer: "Trainer", rollout: Rollout) -> None:
    """Refuse to learn from numbers that are not finite; says which came first."""
    total = float(rollout.values.sum()) + float(rollout.log_probs.sum()) + float(rollout.rewards.sum())
    if math.isfinite(total):
        return
    firsts = [_first_of(what, entry, array) for what, entry, array in _columns(trainer, rollout)]
    first = min((first for first in firsts if first is not None), key=lambda first: first[0], default=None)
    if first is None:
        return  # only the sum is too large
    row, bad = first
    # A step's results exist after it; the policy's numbers exist before it.
    bad = _at(trainer, bad, row + (bad.what == "reward"))
    if bad.what in ("log_prob", "value"):
        _require_sound_encoder(trainer, rollout, row, bad)
    theirs = bad.what == "observation" or (bad.what == "reward" and not trainer.config.algo.scales_rewards)
    raise fault(bad, trainer.envs.spec.id) if theirs else _diverged(bad)


def _require_sound_encoder(trainer: "Trainer", rollout: Rollout, row: int, bad: BadNumber) -> None:
    """Name an encoder of the user's own whose weights are finite and whose features are not."""
    encoder = trainer.config.net.encoder
    if encoder is None or not math.isfinite(trainer.policy.checksum()):
        return
    obs = {key: np.ascontiguousarray(np.asarray(stored)[row]) for key, stored in rollout.obs.items()}
    if trainer.learner.policy.finds_bad_features(obs):
        raise OwnCodeError(
            f"{encoder.name} returned numbers that are not finite for environment {bad.env}{bad.moment}; its "
            "weights and the observation are finite.",
            where="net.encoder",
            hint="Look for divisions by zero, logarithms and roots.",
        )


@np.errstate(all="ignore")
def require_finite_update(trainer: "Trainer", rollout: Rollout, metrics: dict[str, float]) -> None:
    """Refuse to go on with an update that left the finite numbers."""
    names: dict[BadKind, str] = {"loss": "train/loss", "gradient": "train/grad_norm"}
    measured = {what: metrics.get(name, 0.0) for what, name in names.items()}
    _require_finite_bonus(trainer, rollout, metrics)
    if math.isfinite(sum(measured.values()) + trainer.policy.checksum()):
        return
    bad = _bad_credit(trainer, rollout)
    if bad is None:
        bad = _bad_measure(measured) or _bad_weight(trainer.policy.arrays())
        if bad is None:
            return
        bad = _at(trainer, bad, rollout.vec_steps)
    raise _diverged(bad)


def _require_finite_bonus(trainer: "Trainer", rollout: Rollout, metrics: dict[str, float]) -> None:
    """Refuse to go on with a bonus whose networks left the finite numbers; the policy may still be sound."""
    loss = metrics.get("bonus/loss", 0.0) + metrics.get("bonus/value_loss", 0.0)
    if math.isfinite(loss):
        return
    bad = _at(trainer, BadNumber("loss", str(loss)), rollout.vec_steps)
    raise DivergenceError(
        f"the loss of the bonus for exploring became {bad.number}{bad.moment}.",
        where="explore",
        hint="Try a lower explore.learning_rate, or explore.entries without numbers that grow for ever.",
        bad=bad,
    )


def require_finite_weights(trainer: "Trainer", arrays: dict[str, Array]) -> None:
    """Refuse to save a number that is not finite."""
    bad = _bad_weight(arrays)
    if bad is not None:
        raise _diverged(_at(trainer, bad, 0))


# --------------------------------------------------------------------------------------- details


def _columns(trainer: "Trainer", rollout: Rollout) -> list[tuple[BadKind, str | None, Array]]:
    """The arrays of a rollout, in the order in which one follows from the other."""
    columns: list[tuple[BadKind, str | None, Array]] = [
        ("observation", key, np.asarray(stored))
        for key, stored in rollout.obs.items()
        if stored.dtype.kind == "f"
    ]
    if trainer.policy.spec.action.kind == "box":
        columns.append(("action", None, rollout.actions))
    columns += [("log_prob", None, rollout.log_probs), ("value", None, rollout.values)]
    return [*columns, ("reward", None, rollout.rewards)]


def _first_of(what: BadKind, entry: str | None, array: Array) -> tuple[int, BadNumber] | None:
    """Row and place of the first bad number of [T, N, …]."""
    place = _first_bad(array)
    if place is None:
        return None
    return place[0], BadNumber(what, str(array[place]), place[1], entry, place[2:])


def _bad_credit(trainer: "Trainer", rollout: Rollout) -> BadNumber | None:
    """The first value or advantage whose square float32 cannot hold: no loss can be computed from it."""
    credit = trainer.learner.credit(rollout, trainer.progress)
    if credit is None:
        return None
    # Values come one after the other; advantages are summed backwards, so the last bad row is their first.
    columns: list[tuple[BadKind, Array, int]] = [
        ("value", rollout.values, 1),
        ("advantage", credit.advantages, -1),
    ]
    for what, array, direction in columns:
        place = _first_bad(np.where(credit.rows, array, 0.0)[::direction], _LARGEST_SQUARED)
        if place is not None:
            row = place[0] if direction == 1 else len(array) - 1 - place[0]
            return _at(trainer, BadNumber(what, str(array[row, place[1]]), place[1]), row + 1)
    return None


def _bad_measure(measured: dict[BadKind, float]) -> BadNumber | None:
    bad = (BadNumber(name, str(value)) for name, value in measured.items() if not math.isfinite(value))
    return next(bad, None)


def _bad_weight(arrays: dict[str, Array]) -> BadNumber | None:
    for name, array in arrays.items():
        place = _first_bad(array) if array.dtype.kind == "f" else None
        if place is not None:
            return BadNumber("weight", str(array[place]), entry=name, element=place)
    return None


def _first_bad(array: Array, largest: float | None = None) -> tuple[int, ...] | None:
    """Index of the first element that is not finite, or larger than that."""
    good = np.isfinite(array) if largest is None else np.abs(array) <= largest  # never true of NaN
    return None if good.all() else tuple(np.argwhere(~good)[0].tolist())


def _at(trainer: "Trainer", bad: BadNumber, steps: int) -> BadNumber:
    """The number, dated to this many vector steps into the rollout under way."""
    counters, rollout = trainer.counters, trainer.collector.rollout
    # The flags of the newest row may not be there yet; all of its environments were stepped.
    done = int(np.count_nonzero(rollout.valid[: steps - 1])) + trainer.envs.num_envs if steps else 0
    return replace(bad, env_steps=counters.env_steps + done, vec_steps=counters.vec_steps + steps)


def _diverged(bad: BadNumber) -> DivergenceError:
    whose = "" if bad.env is None else f" for environment {bad.env}"
    return DivergenceError(
        f"{bad.place}{whose} became {bad.number}{bad.moment}.",
        where="training" if bad.role == "train" else "evaluation",
        hint=_TRY.get(bad.what, _TRY_RATE),
        bad=bad,
    )
