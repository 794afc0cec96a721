"""Plans the trial of a remedy: the alert, the checkpoint, the settings and the number of steps.

`jobs/trials.py` trains both sides and compares their results.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from gymsolve.answers import Answer
from gymsolve.difference import fewest_seeds
from gymsolve.doctor.alerts import Alert
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.doctor.findings import Findings
from gymsolve.doctor.rules import RULES
from gymsolve.doctor.rules.rule import Change, Effect
from gymsolve.errors import CheckpointError, UnknownRunError, UsageError, did_you_mean
from gymsolve.recipes import apply_overrides, validate
from gymsolve.runs import Run, find_run, list_checkpoints, load_checkpoint, split_ref
from gymsolve.runs.summary import holds_run
from gymsolve.settings.changes import JUDGED, LASTING
from gymsolve.settings.config import TrainConfig

Side = Literal["original", "changed"]
SIDES: tuple[Side, ...] = ("original", "changed")
SEEDS = fewest_seeds()
"""Seeds of a trial by default: the fewest that can show a difference."""
_SHARE = 10
"""The shortest trial is this part of the budget."""
_EVALUATIONS = 3


@dataclass(frozen=True)
class FixPlan:
    """A remedy and the trial it will get."""

    run: Run
    alert: Alert | None
    """None when nothing fired."""
    obstacle: str | None = None
    """A sentence on why nothing can be tried."""
    checkpoint: str | None = None
    """The last one from before the alert; None begins at step 0."""
    steps: int = 0
    """Environment steps of each trial."""
    seeds: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    common: tuple[tuple[str, Any], ...] = ()
    """Settings that both sides get."""
    comparable: bool = True
    """Both sides are judged alike."""

    @property
    def start(self) -> int:
        return int(self.checkpoint or 0)

    @property
    def changes(self) -> tuple[Change, ...]:
        return () if self.alert is None else self.alert.changes

    @property
    def promise(self) -> Effect | None:
        """The effect that the remedy promises; None where it promises none."""
        if self.alert is None or not self.alert.effect:
            return None
        return next(rule.effect for rule in RULES if rule.id == self.alert.id)

    def overrides(self, side: Side, seed: int) -> dict[str, Any]:
        """The settings of one trial that differ from those of the run."""
        remedy = {change.path: change.new for change in self.changes} if side == "changed" else {}
        return remedy | dict(self.common) | {"seed": seed}

    def facts(self) -> dict[str, Any]:
        """The fields of `FixAnswer`."""
        alert = self.alert
        return {
            "run": self.run.id,
            "alert": None if alert is None else alert.id,
            "title": None if alert is None else alert.title,
            "onset": None if alert is None else alert.onset,
            "changes": self.changes,
            "effect": "" if alert is None else alert.effect,
            "obstacle": self.obstacle,
            "checkpoint": self.checkpoint,
            "steps": self.steps,
            "seeds": self.seeds,
            "notes": self.notes,
        }

    def answer(self) -> "PlannedFix":
        """The plan as a record, for `--dry-run`."""
        return PlannedFix(**self.facts())


@dataclass(frozen=True)
class FixAnswer(Answer):
    """A remedy and its trial, planned or done."""

    run: str
    alert: str | None
    title: str | None
    onset: int | None
    changes: tuple[Change, ...]
    effect: str
    """The promised effect of the remedy, in words."""
    obstacle: str | None
    """The reason why nothing can be tried."""
    checkpoint: str | None
    """The checkpoint from which both sides begin; None is step 0."""
    steps: int
    seeds: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PlannedFix(FixAnswer):
    """A trial that has not begun."""

    verdict: None = None


def plan_fix(
    ref: str,
    alert: str | None = None,
    *,
    steps: int | None = None,
    seeds: int = SEEDS,
    max_seconds: float | None = None,
    runs_dir: Path | str | None = None,
) -> FixPlan:
    """A plan to try the remedy of an alert, by default of the first root cause.

    `max_seconds` is the time limit of each trial.
    """
    if seeds < 1:
        raise UsageError(f"{seeds} seeds are none.", where="--seeds", hint="Give at least one.")
    if steps is not None and steps < 1:
        raise UsageError(f"{steps} steps are none.", where="--steps", hint="Give at least one.")
    if os.path.lexists(ref) and not holds_run(Path(ref)):
        message = f"'{ref}' is no run of gymsolve: it has no checkpoint and no settings to train with."
        raise UsageError(message, hint=f"If it is a log of another tool: gymsolve diagnose {ref}")
    run = find_run(split_ref(ref)[0], runs_dir)
    findings = diagnose_path(str(run.path))
    chosen = _choose(findings, alert)
    obstacle = _obstacle(run, findings, chosen)
    if chosen is None or obstacle is not None:
        return FixPlan(run, chosen, obstacle)
    return _trial(FixPlan(run, chosen), steps, seeds, max_seconds)


def _choose(findings: Findings, name: str | None) -> Alert | None:
    fired: list[Alert] = [*findings.roots, *findings.consequences]
    if name is None:
        return fired[0] if fired else None
    ids = [alert.id for alert in fired]
    if name in ids:
        return fired[ids.index(name)]
    listed = f"Those that did: {', '.join(ids)}." if ids else "None did."
    if name in {rule.id for rule in RULES}:
        hint = did_you_mean(name, ids) or listed
        raise UsageError(f"the alert '{name}' did not fire in this run.", where="ALERT", hint=hint)
    hint = did_you_mean(name, ids) or did_you_mean(name, [rule.id for rule in RULES]) or listed
    raise UsageError(f"there is no alert called '{name}'.", where="ALERT", hint=hint)


def _obstacle(run: Run, findings: Findings, alert: Alert | None) -> str | None:
    """The reason why nothing can be tried; None where a remedy can be."""
    if alert is None:
        checks = len(findings.not_fired)
        return f"no alert fired in this run ({checks} checks were made), so there is nothing to fix."
    if alert.changes:
        return None
    others = [root.id for root in findings.roots if root.changes and root.id != alert.id]
    also = f" A remedy can be tried for: gymsolve fix {run.id} {others[0]}" if others else ""
    return f"no setting mends '{alert.id}': {alert.cause}.{also}"


def _trial(plan: FixPlan, steps: int | None, seeds: int, max_seconds: float | None) -> FixPlan:
    config = validate(plan.run.config_json()["config"], f"{plan.run.id}/config.json")
    # Settings that do not go together are refused before anything is trained.
    _, changed = apply_overrides(config, {change.path: change.new for change in plan.changes})
    notes = []
    misfit = next((path for path in changed if path.startswith(LASTING)), None)
    if misfit is not None:
        checkpoint = None
        notes.append(f"saved weights do not fit another {misfit}: both sides begin at step 0")
    else:
        checkpoint, passed_over = _last_healthy(plan.run, plan.alert.onset if plan.alert else 0)
        notes += passed_over
    start = int(checkpoint or 0)
    budget = steps or _enough(config, start)
    common: dict[str, Any] = {"video.enabled": False, "video.every": 0, "max_seconds": max_seconds}
    if start + budget > config.env_budget:
        common["steps"] = -(-(start + budget) * config.steps // config.env_budget)
        notes.append("the trial goes beyond the budget of the run, so schedules are stretched on both sides")
    comparable = not any(path.startswith(JUDGED) for path in changed)
    if not comparable:
        notes.append("the remedy changes what is judged, so the returns of both sides do not compare")
    return replace(
        plan,
        checkpoint=checkpoint,
        steps=budget,
        seeds=tuple(range(config.seed, config.seed + seeds)),
        notes=tuple(notes),
        common=tuple(common.items()),
        comparable=comparable,
    )


def _enough(config: TrainConfig, start: int) -> int:
    """Steps of a trial: a tenth of the budget, or a few evaluations if the rest has room for them."""
    budget, every = config.env_budget, config.to_env_steps(config.eval_every)
    return max(1, budget // _SHARE, min(_EVALUATIONS * every, budget - start))


def _last_healthy(run: Run, onset: int) -> tuple[str | None, Sequence[str]]:
    """The newest readable checkpoint from before the alert, and notes on those that cannot be read."""
    passed_over = []
    for name in reversed([name for name in list_checkpoints(run) if int(name) < onset]):
        try:
            load_checkpoint(run, name)
        except (CheckpointError, UnknownRunError) as error:  # damaged, or pruned since the listing
            passed_over.append(f"checkpoint {name} was passed over: {error.message}")
            continue
        return name, passed_over
    return None, [*passed_over, "no checkpoint is from before the alert: both sides begin at step 0"]
