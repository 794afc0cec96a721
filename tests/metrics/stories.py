"""Made-up histories: a healthy run in which every metric is measured, and ways to spoil it."""

import math
from collections.abc import Callable
from typing import Any

from gymsolve.doctor.rules.rule import Context
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec

BUDGET = 100_000
RECORDS = 100

Column = float | list[float] | Callable[[int], float]
"""A constant, one value per record, or a function of the record's number."""


def make_config(**changes: Any) -> TrainConfig:
    """PPO on eight copies; `changes` are sections, such as `algo={"gamma": 1.0}`."""
    sections: dict[str, Any] = {
        "env": {"id": "Story-v0", "num_envs": 8},
        "algo": {"name": "ppo"},
        "steps": BUDGET,
    }
    for name, value in changes.items():
        sections[name] = {**sections.get(name, {}), **value} if isinstance(value, dict) else value
    return TrainConfig.model_validate(sections)


def make_spec(kind: str = "discrete", obs: str = "vector", limit: int | None = 500, **more: Any) -> EnvSpec:
    if kind == "discrete":
        action = ActionSpec("discrete", (), nvec=(4,), start=(0,))
    else:
        action = ActionSpec("box", (2,), low=(-1.0, -1.0), high=(1.0, 1.0), dtype="float32")
    seen = {
        "vector": ObsSpec("vector", (3,), "float32"),
        "image": ObsSpec("image", (3, 84, 84), "uint8", low=(0.0,), high=(255.0,)),
    }[obs]
    return EnvSpec("Story-v0", {"obs": seen}, action, reward_threshold=200.0, max_episode_steps=limit, **more)


def make_context(kind: str = "discrete", *, spec: dict[str, Any] | None = None, **changes: Any) -> Context:
    return Context.of(make_config(**changes), make_spec(kind, **(spec or {})))


def healthy(i: int) -> dict[str, float]:
    """Record number `i` of a run that goes well: the return rises to the end, all else is calm."""
    wave = 0.1 * math.sin(i)
    return {
        "env_steps": (i + 1) * BUDGET // RECORDS,
        "vec_steps": (i + 1) * BUDGET // RECORDS // 8,
        "updates": i + 1,
        "progress": (i + 1) / RECORDS,
        "time/elapsed": 2.0 * (i + 1),
        "time/env_share": 0.4,
        "time/eval_share": 0.05,
        "time/memory": 300.0,
        "rollout/episodes": 20.0 * (i + 1),
        "rollout/faults": 1.0,
        "rollout/cut_episodes": 4.0,
        "rollout/cut_share": 0.0,
        "eval/faults": 1.0,
        **{
            f"blind/{name}_{part}": 9.0
            for name in ("idle", "random")
            for part in ("reward", "std", "episodes")
        },
        "rollout/ep_rew_mean": 20.0 + 1.5 * i,
        "rollout/ep_rew_std": 12.0,
        "rollout/ep_rew_min": 10.0,
        "rollout/ep_rew_max": 60.0 + 1.5 * i,
        "rollout/ep_len_mean": 20.0 + 1.5 * i,
        "rollout/ep_len_std": 12.0,
        "rollout/truncated_share": 0.1,
        "rollout/bootstrapped_share": 1.0,
        "rollout/reset_synchrony": 0.3,
        "rollout/return_p95abs": 5.0,
        "rollout/advantage_mean": wave,
        "rollout/advantage_std": 1.0,
        "reward/survival": 1.5,
        "reward/goal": -1.0,
        "reward_share/survival": 0.6,
        "reward_share/goal": 0.4,
        "obs/abs_max": 3.0,
        "obs/constant_share": 0.0,
        "obs/first_size": 0.8,
        "action/largest_share": 0.4,
        "action/saturated_share": 0.05,
        "policy/log_std_mean": -0.5,
        "train/loss": 0.3 + wave,
        "train/entropy": math.log(4) * (0.99 - 0.004 * i),
        "train/approx_kl": 0.01,
        "train/clip_fraction": 0.1,
        "train/first_ratio": 1.0,
        "train/explained_variance": 0.6 + wave,
        "train/terminal_correlation": 0.5,
        "train/grad_norm": 1.0 + wave,
        "train/grad_norm_policy": 0.5,
        "train/grad_norm_value": 1.0,
        "train/step_rms": 1e-4,
        "train/dormant_share": 0.02,
        "train/feature_rank": 30.0,
        "train/churn": 0.1 + 0.1 * wave,
        "hyper/learning_rate": 3e-4,
        "hyper/gamma": 0.99,
        "hyper/clip_coef": 0.2,
        "hyper/vf_coef": 0.5,
        "hyper/ent_coef": 0.0,
        "hyper/max_grad_norm": 0.5,
    }


def evaluation(i: int) -> dict[str, float]:
    """The evaluation after record `i`: a little better than training."""
    where = {name: healthy(i)[name] for name in ("env_steps", "vec_steps", "updates", "progress")}
    judged = {"eval/mean_reward": 30.0 + 1.5 * i, "eval/std_reward": 5.0, "eval/episodes": 20.0}
    judged["eval/first_obs_size"] = 0.9
    return {**where, **judged}


def story(columns: dict[str, Column] | None = None, count: int = RECORDS) -> list[dict[str, float]]:
    """Records of the healthy run with some columns replaced, and an evaluation every fifth record."""
    rows: list[dict[str, float]] = []
    for i in range(count):
        row = healthy(i)
        judged = evaluation(i)
        for name, column in (columns or {}).items():
            value = column(i) if callable(column) else column[i] if isinstance(column, list) else column
            (judged if name.startswith(("eval/", "task_eval")) else row)[name] = value
        rows.append(row)
        if i % 5 == 4:
            rows.append(judged)
    return rows


FLAT: dict[str, Column] = {"rollout/ep_rew_mean": 20.0}
"""Training without any gain."""
