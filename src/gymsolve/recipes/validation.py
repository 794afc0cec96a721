"""Turns pydantic's findings into sentences that a person can act on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gymsolve.errors import ConfigError, did_you_mean
from gymsolve.recipes.schema import ALGORITHM_MODELS, MEASURED, key_order, leaf_paths, without_autos
from gymsolve.registry import FOREIGN_ALGORITHMS
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.schedules import Schedule, parse_amount

OTHER_NAMES = {
    # What the same setting is called in Stable-Baselines3, CleanRL and common speech.
    "lr": "algo.learning_rate",
    "n_steps": "algo.num_steps",
    "n_epochs": "algo.num_epochs",
    "epochs": "algo.num_epochs",
    "update_epochs": "algo.num_epochs",
    "batch_size": "algo.num_minibatches",
    "n_envs": "env.num_envs",
    "clip_range": "algo.clip_coef",
    "clip_range_vf": "algo.clip_value",
    "entropy_coef": "algo.ent_coef",
    "temperature": "algo.ent_coef",
    "train_freq": "algo.num_steps",
    "target_update_interval": "algo.target_every",
    "target_network_frequency": "algo.target_every",
    "policy_delay": "algo.policy_every",
    "policy_frequency": "algo.policy_every",
    "action_noise": "algo.exploration_noise",
    "target_policy_noise": "algo.policy_noise",
    "target_noise_clip": "algo.noise_clip",
    "top_quantiles_to_drop_per_net": "algo.drop_quantiles",
    "n_quantiles": "net.quantiles",
    "n_critics": "net.critics.count",
    "value_coef": "algo.vf_coef",
    "lambda": "algo.gae_lambda",
    "discount": "algo.gamma",
    "net_arch": "net.hidden",
    "hidden_sizes": "net.hidden",
    "hidden_dims": "net.hidden",
    "env_id": "env.id",
    "env_kwargs": "env.kwargs",
    "timesteps": "steps",
    "total_timesteps": "steps",
    "max_timesteps": "steps",
    "reward_threshold": "solved_at",
    "threshold": "solved_at",
    # Names that also the section `explore` has.
    "learning_rate": "algo.learning_rate",
    "gamma": "algo.gamma",
    "num_epochs": "algo.num_epochs",
    "num_minibatches": "algo.num_minibatches",
    "hidden": "net.hidden",
}
_ONE_SLIP = 0.85
"""The similarity of words that differ by about one letter."""
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
    "list": "a list",
    "dict": "a mapping",
    "model": "a mapping",
}


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a configuration."""

    path: str
    message: str
    """A sentence that follows the path and a colon; ends with a full stop."""
    hint: str | None = None

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{place}{self.message}{f' {self.hint}' if self.hint else ''}"


def validate(data: Mapping[str, Any], source: str = "") -> TrainConfig:
    """A mapping → the settings, or a ConfigError that names each wrong path; `source` says whose it is."""
    config = find_problems(data)
    if not isinstance(config, TrainConfig):
        raise_problems(config, lambda path: source)
    return config


def find_problems(data: Mapping[str, Any]) -> TrainConfig | list[Problem]:
    """The settings, or everything that is wrong with them; `auto` counts as the number in its place."""
    data, _ = without_autos(data)
    try:
        return TrainConfig.model_validate(data, context={"steps": _budget(data)})
    except ValidationError as error:
        block = data.get("algo")
        algorithm = block.get("name") if isinstance(block, Mapping) else None
        return [_explain(item, algorithm) for item in error.errors(include_url=False)]


def raise_problems(problems: list[Problem], source: Callable[[str], str]) -> NoReturn:
    """Raise them as one error; `source` tells which layer a path was set by ("" when unknown)."""
    problems = [_with_source(problem, source(problem.path)) for problem in problems]
    if len(problems) == 1:
        raise ConfigError(problems[0].message, where=problems[0].path or None, hint=problems[0].hint)
    lines = "".join(f"\n  {problem}" for problem in problems)
    raise ConfigError(f"{len(problems)} settings are wrong:{lines}")


def _budget(data: Mapping[str, Any]) -> int | None:
    steps = data.get("steps", TrainConfig.model_fields["steps"].default)
    try:
        amount = parse_amount(steps)
    except ValueError:
        return None  # reported by the model itself
    return int(amount) if 1 <= amount < float("inf") else None


def _with_source(problem: Problem, source: str) -> Problem:
    if not source or source == "default":
        return problem
    return Problem(problem.path, f"{problem.message.removesuffix('.')} (from {source}).", problem.hint)


def _explain(item: ErrorDetails, algorithm: Any) -> Problem:
    loc = [str(part) for part in item["loc"]]
    path = ".".join(loc)
    kind, value = item["type"], item["input"]
    if kind == "extra_forbidden":
        return _unknown_key(loc, algorithm)
    if kind == "missing":
        return Problem(path, "is required.")
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _wrong_algorithm(algorithm)
    if kind == "literal_error":
        return Problem(path, f"{_should(item['msg'])}, not {value!r}.", _nearest_literal(item))
    if kind == "value_error":
        message = str(item["ctx"]["error"])
        return Problem(path, message if message.endswith("?") else f"{message}.")
    family = kind.split("_")[0]
    if family in _TYPES and not kind.endswith(("_too_long", "_too_short")):
        also = " or auto" if path in MEASURED else ""
        hint = f"Write algo.name={value}." if path == "algo" and isinstance(value, str) else None
        return Problem(path, f"should be {_TYPES[family]}{also}, not {_shown(value)}.", hint)
    return Problem(path, f"{_should(item['msg'])}, not {_shown(value)}.")


def _unknown_key(loc: list[str], algorithm: Any) -> Problem:
    path, key = ".".join(loc), loc[-1]
    parent = tuple(loc[:-1])
    message = "unknown key."
    if parent == ("algo",):
        owners = [name for name, model in ALGORITHM_MODELS.items() if key in model.model_fields]
        if owners:
            return Problem(path, f"{algorithm} has no such setting; it belongs to {' and '.join(owners)}.")
    paths = leaf_paths(algorithm if isinstance(algorithm, str) else None)
    if OTHER_NAMES.get(key) in paths:
        return Problem(path, message, f"Did you mean {OTHER_NAMES[key]!r}?")
    if ".".join(parent) in paths:  # inside a setting that may be a mapping: a schedule
        hint = did_you_mean(key, Schedule.model_fields)
        return Problem(path, message, hint or f"A schedule has: {', '.join(Schedule.model_fields)}.")
    siblings = {".".join((*parent, name)): name for name in key_order(parent, algorithm)}
    elsewhere = {full: full.rsplit(".", 1)[-1] for full in paths}
    # A typing error is looked for everywhere, a word that is merely similar only in the same section.
    hint = (
        _nearest(key, siblings, _ONE_SLIP)
        or _nearest(key, elsewhere, _ONE_SLIP)
        or _nearest(key, siblings)
        or (None if parent else _nearest(key, elsewhere))
    )
    if hint is None and siblings:
        hint = f"Known here: {', '.join(siblings.values())}."
    return Problem(path, message, hint)


def _nearest(key: str, full_paths: Mapping[str, str], alike: float = 0.6) -> str | None:
    """A did-you-mean hint with whole paths; `full_paths` maps each path to its last word."""
    exact = [full for full, word in full_paths.items() if word == key]
    if exact:
        return f"Did you mean {' or '.join(map(repr, exact[:3]))}?"
    hint = did_you_mean(key, full_paths.values(), alike)
    if hint is None:
        return None
    near = [full for full, word in full_paths.items() if repr(word) in hint]
    near.sort(key=lambda full: hint.index(repr(full_paths[full])))
    return f"Did you mean {' or '.join(map(repr, near[:3]))}?"


def _wrong_algorithm(algorithm: Any) -> Problem:
    listed = f"Known: {', '.join(sorted(ALGORITHM_MODELS))}."
    if algorithm is None:
        return Problem("algo.name", "is required.", listed)
    if str(algorithm).lower() in FOREIGN_ALGORITHMS:
        return Problem("algo.name", f"there is no {str(algorithm).upper()} here.", listed)
    hint = did_you_mean(str(algorithm), ALGORITHM_MODELS) or listed
    return Problem("algo.name", f"unknown algorithm {algorithm!r}.", hint)


def _nearest_literal(item: ErrorDetails) -> str | None:
    words = [word.strip("' ") for word in item["ctx"]["expected"].replace(" or ", ",").split(",")]
    return did_you_mean(str(item["input"]), words)


def _should(message: str) -> str:
    return message.replace("Input should", "should", 1)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
