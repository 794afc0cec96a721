"""The state of an emulator that a trained policy reaches in a console game."""

from pathlib import Path
from typing import Any

from gymsolve.apps.loaded_policy import load_policy
from gymsolve.envs.families import find_family
from gymsolve.envs.families.retro.states import state_of_snapshot
from gymsolve.errors import UsageError
from gymsolve.experience.agent import Agent
from gymsolve.seeding import integer_seeds


def reach_state(
    ref: str, *, steps: int | None = None, runs_dir: Path | str | None = None, trust: bool = False
) -> tuple[str, bytes, int]:
    """Let the likeliest actions of a run play; the id of its game, the state, and the steps to get there.

    Without `steps`, that is the last state before the episode ends.
    """
    loaded = load_policy(ref, runs_dir=runs_dir, trust=trust)
    env_id = loaded.config.env.id
    if find_family(env_id).name != "retro":
        raise UsageError(f"run {loaded.run.id} played {env_id}, which is no console game.", where="--run")
    envs = loaded.make_envs(1)
    try:
        obs, masks = envs.reset(integer_seeds(loaded.config.seed, "eval", 1, 0))
        agent, taken = Agent(loaded.policy, 1), 0
        saved: Any = envs.snapshots([0])[0]
        while steps is None or taken < steps:
            step = envs.step(loaded.policy.spec.action.to_env(agent.choose(obs, masks, None)))
            if step.terminated[0] or step.truncated[0]:
                break
            obs, masks, taken = step.obs, step.masks, taken + 1
            saved = envs.snapshots([0])[0]
    finally:
        envs.close()
    if steps is not None and taken < steps:
        raise UsageError(f"the episode ended after {taken + 1} steps.", where="--steps")
    return env_id, state_of_snapshot(saved), taken
