"""What to do after a training, as commands to type."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.text import setting, size

if TYPE_CHECKING:
    from gymsolve.config import WrapperConfig
    from gymsolve.training.session import Outcome

__all__ = ["next_steps"]

_GOES_ON = ("steps", "time", "stop file", "interrupt", "terminated")
"""Ends of a training that has not had its fill."""
_SHAPING = ("env.kwargs", "env.wrappers", "env.max_episode_steps", "env.frame_stack", "env.action_masks")
"""Settings that make another environment of it."""


def next_steps(outcome: "Outcome", runs_dir: Path | None) -> list[str]:
    """More of the same is proposed only where no cause is known that it would meet again."""
    where = "" if runs_dir is None else f" --runs-dir {runs_dir}"
    causes = [one for one in outcome.alerts if one.id not in outcome.because and one.severity != "info"]
    known = bool(causes) and not outcome.solved
    steps = [f"gymsolve diagnose @last{where}"] if causes else []
    if known and causes[0].changes:
        steps.append(f"gymsolve fix @last{where}")
    elif known:
        steps += _look(outcome)
    steps.append(f"gymsolve eval @last{where}")
    if outcome.reason in _GOES_ON and not known:
        budget = outcome.run.info()["steps"]
        enough = 2 * budget if 2 * budget > outcome.env_steps else 2 * outcome.env_steps
        more = f" --steps {size(enough)}" if outcome.reason == "steps" else ""
        steps.append(f"gymsolve resume @last{more}{where}")
    return [*steps, f"gymsolve runs show @last{where}"]


def _look(outcome: "Outcome") -> list[str]:
    """No setting mends it: what is left is the environment, and what lies around it."""
    from gymsolve.recipes import validate

    stored = outcome.run.config_json()
    config = validate(stored["config"], "config.json")
    chosen = [path for path in _SHAPING if stored["provenance"].get(path, "").startswith("--set")]
    changes = [f"{path}={setting(_value(stored['config'], path))}" for path in chosen]
    words = ["gymsolve", "check", stored["name"], *(word for one in changes for word in ("--set", one))]
    wrappers = [_wrapper(one) for one in config.env.wrappers]
    plural = "s" if len(wrappers) > 1 else ""
    looks = [f"look at the wrapper{plural} {', '.join(wrappers)}"] if wrappers else []
    return [shlex.join(words), *looks]


def _wrapper(wrapper: "WrapperConfig") -> str:
    sides = {"train": "training", "eval": "evaluation"}
    used = [told for role, told in sides.items() if role in wrapper.roles]
    return f"{wrapper.name} ({used[0]} only)" if len(used) == 1 else wrapper.name


def _value(config: dict[str, Any], path: str) -> Any:
    section, _, key = path.partition(".")
    return config[section][key]
