"""Examining an environment before training, and choosing the fastest settings for it.

The records need neither torch nor gymnasium; the verbs import both when they are called, since they build and
step environments in this process.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gymsolve.answers import Answer
from gymsolve.spec import EnvSpec

if TYPE_CHECKING:
    from gymsolve.training.planning.plan import Plan
    from gymsolve.training.planning.tuning import Choice


@dataclass(frozen=True)
class SeedEffects(Answer):
    """What seeds do; the fields are those of `envs.determinism.Determinism`."""

    copies_identical: bool
    seed_reproduces: bool
    resumes_exactly: bool
    strays: list[str]


@dataclass(frozen=True)
class BlindPolicy(Answer):
    """What a policy that knows nothing met with; the fields are those of `envs.random_policy.Census`."""

    policy: str
    env_steps: int
    episodes: int
    terminated: int
    truncated: int
    mean_return: float | None
    std_return: float | None
    mean_length: float | None
    nonzero_rewards: float
    telling_rewards: float
    min_reward: float
    max_reward: float
    image_values: dict[str, tuple[float, bool]]
    cut: bool


@dataclass(frozen=True)
class CheckedEnv(Answer):
    """An environment examined: `gymsolve check`."""

    spec: EnvSpec
    backend: str
    determinism: SeedEffects | None
    reset_seconds: float | None
    step_seconds: float | None
    steps_per_second: dict[str, float]
    census: list[BlindPolicy]
    offers: list[str]
    problems: list[str]
    cautions: list[str]
    notes: list[str]
    has_time_limit: bool
    name: str
    derived: list[str]
    """Why settings were derived as they are; empty where there is a recipe."""
    steps: int
    solved_at: float | None
    seconds_of_stepping: float | None
    """Seconds that stepping alone takes for the whole budget; training takes longer."""


@dataclass(frozen=True)
class Predicted(Answer):
    """Settings, and where the time of a run with them would go, in microseconds per environment step."""

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


def check_env(plan: "Plan") -> CheckedEnv:
    """Examine the environment of a planned run."""
    from gymsolve.doctor.lint import lint
    from gymsolve.envs.preflight import preflight
    from gymsolve.training.watchdog import Watchdog

    config = plan.config
    with Watchdog(config.env):
        looked = preflight(config.env)
    seeds = None if looked.determinism is None else asdict(looked.determinism)
    speed = looked.steps_per_second.get(looked.backend)
    return CheckedEnv(
        spec=looked.spec,
        backend=looked.backend,
        determinism=None if seeds is None else SeedEffects(**seeds),
        reset_seconds=looked.reset_seconds,
        step_seconds=looked.step_seconds,
        steps_per_second=looked.steps_per_second,
        census=[BlindPolicy(**asdict(one)) for one in looked.census],
        offers=list(looked.offers),
        problems=list(looked.problems),
        cautions=[*looked.cautions, *map(str, lint(config, looked.spec))],
        notes=list(looked.notes),
        has_time_limit=looked.has_time_limit,
        name=plan.resolved.name,
        derived=plan.reasons,
        steps=config.steps,
        solved_at=config.solved_at,
        seconds_of_stepping=config.env_budget / speed if speed else None,
    )


def answer_choice(name: str, choice: "Choice", written: WrittenVariant | None) -> TunedSpeed:
    """The choice of settings as an answer."""
    return TunedSpeed(
        recipe=name,
        current=Predicted(**choice.current.to_json()),
        best=Predicted(**choice.best.to_json()),
        changes=choice.changes,
        gain=round(choice.gain, 3),
        reasons=list(choice.reasons),
        candidates=[Predicted(**one.to_json()) for one in choice.candidates],
        written=written,
    )


def write_choice(plan: "Plan", choice: "Choice") -> WrittenVariant | None:
    """Save the chosen settings as a variant in `./recipes`; None where nothing is to be changed."""
    if not choice.changes:
        return None
    from gymsolve.recipes.local import write_variant

    derived = [f"Derived: {reason}." for reason in plan.reasons]
    reasons = ["Measured by gymsolve tune-speed.", *choice.reasons, *derived]
    path, name = write_variant(plan.resolved, choice.changes, "tuned", reasons)
    return WrittenVariant(str(path), name)
