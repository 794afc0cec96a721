"""`Bandit-v0`, which comes with gymsolve."""

from gymsolve.envs import bandit
from gymsolve.envs.families.family import Family

__all__ = ["FAMILY"]

FAMILY = Family(
    "bandit",
    title="Bandits",
    owns=lambda env_id: env_id == "Bandit-v0",
    register=bandit.register,
    turns=True,
)
