"""Names that other frameworks give our settings, and the settings in their logs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gymsolve.doctor.rules.rule import Change
from gymsolve.text import setting

_SAME = ("learning_rate", "ent_coef", "vf_coef", "gamma", "gae_lambda", "max_grad_norm", "target_kl")
"""Settings of the section `algo` that have the same names everywhere."""
_SB3 = {
    **{f"algo.{name}": name for name in _SAME},
    "algo.num_epochs": "n_epochs",
    "algo.clip_coef": "clip_range",
    "algo.clip_value": "clip_range_vf",
    "algo.num_steps": "n_steps",
    "algo.normalize_rewards": "VecNormalize(norm_reward=…)",
    "net.normalize_obs": "VecNormalize(norm_obs=…)",
    "net.activation": "policy_kwargs['activation_fn']",
    "net.log_std_init": "policy_kwargs['log_std_init']",
    "net.squash": "policy_kwargs['squash_output']",
    "net.shared": "policy_kwargs['share_features_extractor']",
    "env.num_envs": "n_envs",
    "env.max_episode_steps": "gymnasium.make(max_episode_steps=…)",
    "eval.deterministic": "EvalCallback(deterministic=…)",
    "steps": "total_timesteps",
}
_CLEANRL = {
    **{
        f"algo.{name}": f"--{name.replace('_', '-')}"
        for name in (*_SAME, "num_minibatches", "clip_coef", "num_steps")
    },
    "algo.num_epochs": "--update-epochs",
    "env.num_envs": "--num-envs",
    "env.max_episode_steps": "gymnasium.make(max_episode_steps=…)",
    "algo.normalize_rewards": "gym.wrappers.NormalizeReward",
    "net.normalize_obs": "gym.wrappers.NormalizeObservation",
    "steps": "--total-timesteps",
}
_OWNERS = {"Stable-Baselines3": _SB3, "CleanRL": _CLEANRL}
_VALUES = {("net.normalize_obs", "running"): True, ("net.activation", "relu"): "torch.nn.ReLU"}
"""Values that have another name in other frameworks."""
_CELL = re.compile(r"^\|([^|]+)\|(.*)\|\s*$")
_RUN_NAME = re.compile(r"(?P<env>.+?)__(?P<exp>.+)__(?P<seed>\d+)__\d+")
_MOST_SETTINGS = 500


def their_changes(owner: str, changes: Sequence[Change], settings: Mapping[str, Any]) -> tuple[Change, ...]:
    """Remedies in the words of the tool that wrote the log, with the value that it logged."""
    names = next((table for tool, table in _OWNERS.items() if owner.startswith(tool)), None)
    if names is None:
        return tuple(changes)
    return tuple(_theirs(change, names, settings) for change in changes)


def _theirs(change: Change, names: Mapping[str, str], settings: Mapping[str, Any]) -> Change:
    name = names.get(change.path)
    advice = change.advice
    if change.new is not None:
        value = _VALUES.get((change.path, change.new), change.new)
        advice = "use it" if name is not None and name.startswith("gym.wrappers.") else f"set it to {value}"
    if name is None:
        return replace(change, advice=f"{advice} (as gymsolve calls it)")
    old = settings.get(name.removeprefix("--").replace("-", "_"))
    current = "" if old is None else f" (it is {setting(old)})"
    return replace(change, path=name, advice=f"{advice}{current}")


def parse_table(text: str) -> dict[str, Any]:
    """The settings in CleanRL's text summary, a table in Markdown."""
    settings: dict[str, Any] = {}
    for line in text.splitlines()[: _MOST_SETTINGS + 2]:
        cell = _CELL.match(line)
        if cell is not None and set(cell[1].strip()) - {"-"} and cell[1].strip() != "param":
            settings[cell[1].strip()] = _value(cell[2].strip())
    return settings


def env_of(settings: Mapping[str, Any], run_name: str) -> str | None:
    """The environment: from the settings, else from a name such as CleanRL's `ENV__ppo__1__1700000000`."""
    for key in ("env_id", "env_name", "gym_id"):
        if isinstance(settings.get(key), str):
            return str(settings[key])
    named = _RUN_NAME.fullmatch(run_name)
    return None if named is None else named["env"]


def steps_of(settings: Mapping[str, Any]) -> int:
    """The budget that was asked for; 0 when unknown."""
    asked: Any = settings.get("total_timesteps")
    return int(asked) if type(asked) in (int, float) and 0 < asked < 1e15 else 0


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and abs(number) < 1e15 and "e" not in text.lower() else number
