"""Make the small runs that are kept here: `python tests/runs/known_good/make.py FOLDER [NAME …]`.

Each of them is a real training of a second or two. `made.json` beside it records the arithmetic that it was
computed with: only where that is the same can a resume be expected to repeat it bit for bit.
"""

import hashlib
import json
import platform
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import gymsolve
from gymsolve.kernels import load_kernels
from gymsolve.runs.checkpoints import list_checkpoints

__all__ = ["RUNS", "arithmetic", "middle"]

TRAINING_ENVS = Path(__file__).parents[2] / "training"
BRIEF = {
    "env.num_envs": 2,
    "net.hidden": [8],
    "steps": 512,
    "checkpoint.every": 256,
    "checkpoint.keep": None,
    "eval.every": 256,
    "eval.episodes": 4,
    "solved_at": 1e9,
    "video.enabled": False,
    "seed": 1,
    "threads": 1,
}
PPO = {
    "algo.normalize_rewards": True,
    "algo.num_steps": 32,
    "algo.num_epochs": 2,
    "algo.num_minibatches": 2,
}
TINY = {
    "algo.normalize_rewards": True,
    "algo.num_steps": 8,
    "algo.num_epochs": 2,
    "algo.num_minibatches": 2,
    "net.hidden": [4],
    "steps": 64,
    "checkpoint.every": 32,
    "eval.every": 64,
    "eval.episodes": 2,
    "engine": "torch",
    "env.backend": "sync",
}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "cartpole_ppo": ("CartPole-v1:ppo", PPO | {"engine": "numpy", "checkpoint.every": 128}),
    "cartpole_ppo_torch": ("CartPole-v1:ppo", PPO | {"engine": "torch", "env.backend": "sync"}),
    "pendulum_a2c": (
        "Pendulum-v1",
        {
            "algo": {"name": "a2c", "num_steps": 16, "normalize_rewards": True},
            "net.normalize_obs": "running",
            "engine": "numpy",
        },
    ),
    "cartpole_reinforce": (
        "CartPole-v1:reinforce",
        {"algo.baseline": "mean", "algo.num_steps": 64, "env.backend": "sync", "engine": "numpy"},
    ),
    "everything_ppo": (
        "training_envs:Everything-v0:ppo",
        {
            "net.cnn": "small",
            "net.hidden": [2],
            "net.normalize_obs": "running",
            "algo.num_steps": 16,
            "algo.num_epochs": 1,
            "algo.num_minibatches": 2,
            "steps": 128,
            "checkpoint.every": 64,
            "eval.every": 64,
        },
    ),
    "cartpole_memory": ("CartPole-v1:positions", TINY | {"net.memory.size": 4, "net.memory.sequence": 4}),
    "cartpole_archive": (
        "CartPole-v1:ppo",
        TINY | {"explore": "go_explore", "explore.archive.leave_after": 5, "explore.archive.capacity": 20},
    ),
    "cartpole_acrobot_tasks": (
        "CartPole-v1:ppo",
        TINY
        | {
            "env.tasks": {"pole": {}, "acro": {"id": "Acrobot-v1", "max_episode_steps": 40}},
            "net.normalize_values": "popart",
            "net.tasks.heads": "each",
        },
    ),
    "cartpole_curriculum": (
        "CartPole-v1:ppo",
        TINY
        | {
            "env.tasks": {"short": {"max_episode_steps": 5}, "long": {}},
            "curriculum": {"stages": ["short", "long"], "promote_at": 4.0, "episodes": 4},
        },
    ),
    "cartpole_bonus": (
        "CartPole-v1:ppo",
        TINY | {"explore": "noveld", "explore.hidden": [4], "explore.features": 4, "explore.repeat": 0.5},
    ),
}
"""Dict observations and action masks are in `everything_ppo`, whose environment is in tests/training."""


def middle(checkpoints: Sequence[str]) -> str:
    """The checkpoint to go on from: as many updates before it as after it."""
    return sorted(checkpoints, key=int)[len(checkpoints) // 2 - 1]


def arithmetic(engine: str) -> dict[str, Any]:
    """What decides the last bit of a training: libraries, processor, compiled kernels, and their results."""
    kernels = load_kernels()
    compiled = None if kernels is None else Path(str(kernels.__file__)).read_bytes()
    facts = {
        "engine": engine,
        "versions": {name: version(name) for name in ("numpy", "gymnasium")},
        "libc": " ".join(platform.libc_ver()),
        "processor": _processor(),
        "kernels": None if kernels is None else kernels.SOURCE,
        "compiler": None if compiled is None else _compiler(compiled),
        "numpy": _digest(np.tanh, np.exp, np.sum, np.matmul),
    }
    if engine == "torch":
        import torch

        def on(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *arrays: function(*map(torch.from_numpy, arrays)).numpy()

        facts["versions"]["torch"] = version("torch")
        facts["instructions"] = torch.backends.cpu.get_cpu_capability()
        facts["torch"] = _digest(on(torch.tanh), on(torch.exp), on(torch.sum), on(torch.matmul))
    return facts


def _processor() -> str:
    """The kind of processor and its vector instructions, which -march=native builds for."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except FileNotFoundError:
        return f"{platform.machine()} {platform.processor()}"
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    vectors = re.findall(r"\b(?:avx\w*|fma\w*|f16c|bmi\d|sve\w*|asimd\w*)\b", flags[1]) if flags else []
    return " ".join([platform.machine(), *sorted(set(vectors))])


def _compiler(compiled: bytes) -> str | None:
    found = re.search(rb"GCC: \(.*?\) [\d.]+|clang version [\d.]+", compiled)
    return None if found is None else found[0].decode()


def _digest(*functions: Callable[..., Any]) -> str:
    """Of the results of functions of one array, and of the product, which is the last."""
    draw = np.random.default_rng(0)
    found = hashlib.sha256()
    for rows, columns in ((4, 8), (64, 24), (33, 130)):
        left = draw.normal(size=(rows, columns)).astype(np.float32)
        right = draw.normal(size=(columns, rows)).astype(np.float32)
        for function in functions[:-1]:
            found.update(function(left).tobytes())
        found.update(functions[-1](left, right).tobytes())
    return found.hexdigest()


def _make(name: str, folder: Path) -> None:
    env, settings = RUNS[name]
    place = folder / name
    scratch = folder / f".{name}"
    run = gymsolve.train(env, BRIEF | settings, runs_dir=scratch).run
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(run.path, place, ignore=shutil.ignore_patterns("report.*"))
    info = json.loads((place / "run.json").read_text())
    info |= {"host": "somewhere", "git": None, "command": ["python", "make.py", name]}
    (place / "run.json").write_text(json.dumps(info, indent=2) + "\n")
    started = next(event for event in run.read_events().rows if event["kind"] == "started")
    facts = {"resume_from": middle(list_checkpoints(run)), "arithmetic": arithmetic(started["engine"])}
    (place / "made.json").write_text(json.dumps(facts, indent=2) + "\n")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.path.insert(0, str(TRAINING_ENVS))
    target, *names = sys.argv[1:]
    for name in names or RUNS:
        _make(name, Path(target))
