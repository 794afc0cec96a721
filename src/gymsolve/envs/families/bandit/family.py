"""`Bandit-v0`, which comes with gymsolve."""

from gymsolve.envs.families.bandit import env as bandit
from gymsolve.envs.families.family import Family

FAMILY = Family(
    "bandit",
    title="Bandits",
    owns=lambda env_id: env_id == "Bandit-v0",
    register=bandit.register,
    turns=True,
)
