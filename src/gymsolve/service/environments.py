"""Examines an environment before training, and answers with the fastest settings for it.

Heavy: it builds and steps environments in this process.
"""

from dataclasses import dataclass
from typing import Any

from gymsolve.answers import Answer
from gymsolve.doctor.lint import lint
from gymsolve.envs.determinism import Determinism
from gymsolve.envs.preflight import preflight
from gymsolve.envs.random_policy import Census
from gymsolve.recipes.local import write_variant
from gymsolve.service.planning import decided_settings, decisions
from gymsolve.spec import EnvSpec
from gymsolve.training.planning.plan import Plan
from gymsolve.training.planning.tuning import Choice
from gymsolve.training.watchdog import Watchdog


@dataclass(frozen=True)
class CheckedEnv(Answer):
    """The result of `gymsolve check`."""

    spec: EnvSpec
    backend: str
    determinism: Determinism | None
    reset_seconds: float | None
    step_seconds: float | None
    steps_per_second: dict[str, float]
    census: tuple[Census, ...]
    offers: tuple[str, ...]
    problems: tuple[str, ...]
    cautions: tuple[str, ...]
    notes: tuple[str, ...]
    has_time_limit: bool
    name: str
    derived: list[str]
    """Reasons for derived settings; empty where there is a recipe."""
    steps: int
    solved_at: float | None
    seconds_of_stepping: float | None
    """Seconds that stepping alone takes for the whole budget; training takes longer."""
    settings: dict[str, Any]
    """Settings that are not defaults."""
    decided_by: dict[str, str]
    doubts: list[str]
    """Settings that rarely work; they stand among the cautions, too."""


@dataclass(frozen=True)
class Predicted(Answer):
    """Settings, and the time of a run with them by part, in microseconds per environment step."""

    num_envs: int
    num_steps: int
    backend: str
    engine: str
    device: str
    threads: int
    env_us: float
    acting_us: float
    update_us: float
    steps_per_second: float


@dataclass(frozen=True)
class WrittenVariant(Answer):
    """A variant that was written, and its file."""

    path: str
    recipe: str


@dataclass(frozen=True)
class TunedSpeed(Answer):
    """The fastest settings on this machine: `gymsolve tune-speed`."""

    recipe: str
    current: Predicted
    best: Predicted
    changes: dict[str, Any]
    """Settings in which the best differ from the current ones, by dotted path."""
    gain: float
    reasons: list[str]
    candidates: list[Predicted]
    written: WrittenVariant | None


def check_env(plan: Plan) -> CheckedEnv:
    """Examine the environment of a planned run."""
    config = plan.config
    with Watchdog(config.env):
        report = preflight(config.env)
    speed = report.steps_per_second.get(report.backend)
    doubts = [str(doubt) for doubt in lint(config, report.spec)]
    decided = decisions(plan.resolved.provenance)
    return CheckedEnv(
        **{**vars(report), "cautions": (*report.cautions, *doubts)},
        has_time_limit=report.has_time_limit,
        name=plan.resolved.name,
        derived=plan.reasons,
        steps=config.steps,
        solved_at=config.solved_at,
        seconds_of_stepping=config.env_budget / speed if speed else None,
        settings=decided_settings(config, decided),
        decided_by=decided,
        doubts=doubts,
    )


def answer_choice(name: str, choice: Choice, written: WrittenVariant | None) -> TunedSpeed:
    """The choice of settings as an answer."""
    return TunedSpeed(
        recipe=name,
        current=Predicted(**choice.current.to_json()),
        best=Predicted(**choice.best.to_json()),
        changes=choice.changes,
        gain=round(choice.gain, 3),
        reasons=list(choice.reasons),
        candidates=[Predicted(**candidate.to_json()) for candidate in choice.candidates],
        written=written,
    )


def write_choice(plan: Plan, choice: Choice) -> WrittenVariant | None:
    """Save the chosen settings as a variant in `./recipes`; None where nothing is to be changed."""
    if not choice.changes:
        return None
    derived = [f"Derived: {reason}." for reason in plan.reasons]
    reasons = ["Measured by gymsolve tune-speed.", *choice.reasons, *derived]
    path, name = write_variant(plan.resolved, choice.changes, "tuned", reasons)
    return WrittenVariant(str(path), name)
