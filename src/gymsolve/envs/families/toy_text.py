"""Gymnasium's toy text: grids and cards with a handful of states."""

import json
from functools import partial
from typing import Any

from gymsolve.envs.arguments import CHANCE, check_arguments
from gymsolve.envs.families.family import AnyEnv, Clone, Family, by_code
from gymsolve.envs.plain_data import pack, plain_attributes, unpack
from gymsolve.errors import EnvFaultError

_CHANCES = dict.fromkeys(("success_rate", "rainy_probability", "fickle_probability"), CHANCE)


def _save(env: AnyEnv) -> dict[str, Any]:
    """States are numbers and hands of cards; tables of the rules are not plain data, and never change."""
    return {"game": type(env).__name__, "attributes": pack(plain_attributes(env))}


def _load(env: AnyEnv, saved: dict[str, Any]) -> None:
    if saved["game"] != type(env).__name__:
        raise EnvFaultError(f"the snapshot is of {saved['game']}.")
    vars(env).update(unpack(saved["attributes"]))


def _state(env: AnyEnv) -> bytes:
    """The number of the state, or the cards."""
    here = plain_attributes(env.unwrapped)
    names = ("s",) if "s" in here else ("player", "dealer")
    return json.dumps([here.get(name) for name in names], default=int).encode()


FAMILY = Family(
    "toy text",
    title="Toy text",
    clone=Clone(_save, _load),
    state=_state,
    owns=by_code("gymnasium.envs.toy_text"),
    arguments=partial(check_arguments, known=_CHANCES),
    # Not Taxi, where EnvPool also starts with the passenger at the destination, nor Blackjack, where it shows
    # another observation.
    envpool=("CliffWalking-v1", "FrozenLake-v1", "FrozenLake8x8-v1"),
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
