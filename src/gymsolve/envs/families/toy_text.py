"""Gymnasium's toy text: grids and cards with a handful of states."""

from gymsolve.envs.families.family import Family, by_code

__all__ = ["FAMILY"]

FAMILY = Family(
    "toy text",
    title="Toy text",
    owns=by_code("gymnasium.envs.toy_text"),
    choices={
        "FrozenLake": ("left", "down", "right", "up"),
        "FrozenLake8x8": ("left", "down", "right", "up"),
        "CliffWalking": ("up", "right", "down", "left"),
        "CliffWalkingSlippery": ("up", "right", "down", "left"),
        "Taxi": ("south", "north", "east", "west", "pick up", "drop off"),
        "Blackjack": ("stick", "hit"),
    },
    keys={"Taxi": ("down", "up", "right", "left", "p", "d"), "Blackjack": ("s", "h")},
)
