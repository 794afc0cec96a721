"""Small real runs in a temporary folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymsolve.runs import Run, create_run, save_checkpoint

MakeRun = Callable[..., Run]
Save = Callable[..., Path]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def make_run(base: Path) -> MakeRun:
    def make(name: str = "CartPole-v1:ppo", *, env_id: str | None = None, **fields: Any) -> Run:
        env_id = env_id or name.rpartition(":")[0] or name
        config = {"env": {"id": env_id}, "algo": {"name": "ppo"}, "steps": 1000, "seed": 3}
        fields = {"provenance": {"steps": "recipe"}, "command": ["gymsolve", "train", name], **fields}
        return create_run(base, name=name, config_json=config, seed=3, steps=1000, **fields)

    return make


@pytest.fixture
def save() -> Save:
    def save(run: Run, env_steps: int, *, state: dict[str, Any] | None = None, **meta: Any) -> Path:
        weights = np.full((3, 4), env_steps, np.float32)
        return save_checkpoint(
            run,
            env_steps,
            policy={"w": weights, "count": np.asarray(env_steps)},
            policy_metadata={"spec": "{}"},
            trainer_arrays={"adam/w": weights * 2},
            trainer_state={"updates": env_steps // 100} if state is None else state,
            meta={"vec_steps": env_steps // 8, "updates": env_steps // 100, "reason": "periodic", **meta},
        )

    return save
