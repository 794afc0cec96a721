"""Suggests our command to people who type commands and options of other tools.

Nothing of it is accepted: a sentence names the right command. `translate` is called only after a command line
was refused.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from gymsolve.registry import ALGORITHMS

_COMMANDS = {
    "train": ("train", "learn", "fit", "run", "start", "solve", "training"),
    "resume": ("resume", "continue", "restart"),
    "record": ("record", "enjoy", "watch", "render", "video", "film", "demo", "rollout"),
    "play": ("play", "human", "keyboard"),
    "eval": ("eval", "evaluate", "evaluation", "test", "score"),
    "runs": ("runs", "ls", "list", "ps", "history", "status"),
    "runs show": ("show", "info", "inspect"),
    "runs compare": ("compare", "diff"),
    "recipes": ("recipes", "envs", "environments", "zoo"),
    "report": ("report", "plot", "plots", "curves", "dashboard"),
    "diagnose": ("diagnose", "why", "explain"),
    "push": ("push", "upload", "publish", "share"),
    "pull": ("pull", "download"),
    "stop": ("stop", "kill", "abort"),
    "--help": ("help",),
    "--version": ("version",),
}
_MEANT = {word: command for command, words in _COMMANDS.items() for word in words}
_SEARCHES = ("tune", "hpo", "sweep", "optimize", "optimise", "search", "optuna", "hyperopt")
_EXPORTS = ("export", "convert", "onnx", "to_onnx", "save")
_EXPORT = (
    "There is no export: a run keeps its policies as checkpoints/<steps>/policy.safetensors, "
    "and gymsolve.load_policy(RUN) of Python loads one."
)
_SEARCH = (
    "To search hyperparameters: `gymsolve sweep ENV`; `gymsolve tune-speed ENV` measures which settings are "
    "fastest, and `gymsolve fix RUN` tries the remedy of an alert."
)
_ENV = ("env", "env_id", "env_name", "gym_id", "environment", "task", "game")
_ALGO = ("algo", "algorithm", "agent", "policy_algo")
_FLAGS = {
    "--steps": ("total_timesteps", "timesteps", "n_timesteps", "num_timesteps", "max_steps", "n", "budget"),
    "--track": ("tracker", "logger"),
    "--runs-dir": ("log_dir", "logdir", "log_folder", "output_dir", "save_dir", "folder", "f"),
    "--from": ("trained_agent", "checkpoint", "load", "pretrained", "i"),
}
_FLAG = {name: flag for flag, names in _FLAGS.items() for name in names}
_SETTINGS = {
    "eval_freq": "eval.every",
    "n_eval_episodes": "eval.episodes",
    "eval_episodes": "eval.episodes",
    "save_freq": "checkpoint.every",
    "num_threads": "threads",
    "optimizer": "algo.optimizer.name",
}
_SWITCHES = {
    "cuda": ["--set", "device=cuda"],
    "gpu": ["--set", "device=cuda"],
    "cpu": ["--set", "device=cpu"],
    "tensorboard": ["--track", "tensorboard"],
    "wandb": ["--track", "wandb"],
    "no_video": ["--set", "video.enabled=false"],
}
_DROPPED = ("verbose", "render", "render_mode", "exp_name", "progress", "progress_bar", "v", "p")


@dataclass
class _Wish:
    """The request of a refused command line."""

    words: list[str] = field(default_factory=list)
    env: str | None = None
    algo: str | None = None
    options: list[str] = field(default_factory=list)
    foreign: bool = False
    """The command line has words that are spelled differently here."""


def translate(arguments: Sequence[str], commands: Sequence[str], *, missing: bool = False) -> str | None:
    """A sentence with the command that was probably meant, or None.

    `commands` are those that exist; `missing` says that an argument was left out.
    """
    given = list(arguments)
    first = given[0] if given else ""
    if any(word.lstrip("-") in _SEARCHES for word in given if word == first or word.startswith("-")):
        return _SEARCH
    if first in _EXPORTS:
        return _EXPORT
    command = _MEANT.get(first.lower())
    is_command = command is not None or first in commands
    if not is_command and not first.startswith("-") and not re.search(r"-v\d+", first):
        return None
    target = command or (first if first in commands else "train")
    wish = _read(given[1:] if is_command else given)
    if first == "run" and not (wish.env or wish.words):
        target = "runs"
    if first == target and not (wish.foreign or (missing and not wish.options)):
        return None  # the mistake has nothing to do with other tools
    words = shlex.join(["gymsolve", *target.split(), *_rest(target, wish)])
    return f"{_on_algorithm(wish.algo)}{'Such as' if missing and first == target else 'Here it is'}: {words}"


def _on_algorithm(name: str | None) -> str:
    if name is None or name.lower() in ALGORITHMS:
        return ""
    return f"There is no {name.upper()} here, but {', '.join(ALGORITHMS)}. "


def _rest(target: str, wish: _Wish) -> list[str]:
    if target in ("train", "check", "tune-speed"):
        name, algo = wish.env or next(iter(wish.words), "CartPole-v1"), (wish.algo or "").lower()
        return [f"{_base(name)}:{algo}" if algo in ALGORITHMS else name, *wish.options]
    if target in ("record", "eval", "resume", "report", "diagnose", "runs show", "push", "stop"):
        run = next(iter(wish.words), f"@best:{wish.env}" if wish.env else "@last")
        return [run, *(wish.options if target == "resume" else ())]
    if target == "runs compare":
        return wish.words or ["RUN", "RUN"]
    return wish.words


def _base(name: str) -> str:
    """A name without its variant."""
    return re.sub(r"(-v\d+):.*", r"\1", name)


def _read(words: Sequence[str]) -> _Wish:
    wish, rest = _Wish(), list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or re.fullmatch(r"-\d.*", word):
            wish.words.append(word)
            continue
        name, equals, value = word.partition("=")
        takes = bool(rest) and not rest[0].startswith("--")
        plain = name.lstrip("-").replace("-", "_").lower()
        _take(wish, word, plain, value if equals else None, rest if takes else [])
    return wish


def _take(wish: _Wish, word: str, name: str, value: str | None, rest: list[str]) -> None:
    """Translate one option; its value is `value`, or the next of the words in `rest`."""

    def taken() -> str:
        return value if value is not None else rest.pop(0) if rest else "…"

    path = _SETTINGS.get(name) or _path_of(name)
    if name in _ENV:
        wish.env = taken()
    elif name in _ALGO:
        wish.algo = taken()
    elif name in _SWITCHES and value is None:
        wish.options += _SWITCHES[name]
    elif name in _FLAG:
        wish.options += [_FLAG[name], taken()]
    elif name == "batch_size":  # there a number of steps, here a number of minibatches
        taken()
        wish.options += ["--set", "algo.num_minibatches=…"]
    elif path is not None:
        wish.options += ["--set", f"{path}={taken()}"]
    elif name in _DROPPED:
        if value is None and rest:
            rest.pop(0)
    else:
        wish.options += [word, *([rest.pop(0)] if value is None and rest else [])]
        return
    wish.foreign = True


def _path_of(name: str) -> str | None:
    """The setting of that name, in our words or in those of other libraries."""
    from gymsolve.recipes.schema import leaf_paths
    from gymsolve.recipes.validation import OTHER_NAMES

    if name in ("seed", "steps", "track"):
        return None  # options of their own
    paths = {path.rsplit(".", 1)[-1]: path for path in reversed(leaf_paths("ppo"))}
    return OTHER_NAMES.get(name) or paths.get(name)
