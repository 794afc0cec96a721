"""Brings checkpoints of earlier versions into today's form when they are read; files stay as they are.

Format 1 kept the trainer's state in one flat list and numbered the optimizer's parameters. Since format 2
every part has an entry of its own, and moments go by the name of their parameter.
"""

from collections.abc import Sequence
from typing import Any

from gymsolve.errors import CheckpointError
from gymsolve.runs.loading import Checkpoint
from gymsolve.spec import Array
from gymsolve.training.trainer import FORMAT


def upgrade(
    saved: Checkpoint, parameters: Sequence[str]
) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
    """Arrays by `<part>/<name>`, and the state of every part.

    `parameters` are the names of what the optimizer steps, in its order.
    """
    version = saved.trainer_state.get("format", 1)
    if version == 1:
        return _name_arrays(saved.trainer, parameters), _sort_state(saved.trainer_state)
    if version != FORMAT:
        raise CheckpointError(
            f"the checkpoint was written by a newer gymsolve (format {version}, this one reads {FORMAT}).",
            where=str(saved.path),
            hint="Upgrade gymsolve.",
        )
    return saved.trainer, saved.trainer_state["parts"]


def _name_arrays(arrays: dict[str, Array], parameters: Sequence[str]) -> dict[str, Array]:
    named = {}
    for key, array in arrays.items():
        owner, _, rest = key.partition("/")
        if owner == "optimizer":
            place, _, moment = rest.partition("/")
            # A number beyond this network's has no name; the optimizer refuses it.
            name = parameters[int(place)] if int(place) < len(parameters) else place
            key = f"optimizer/{name}/{moment}"
        elif key == "torch_rng":
            key = "engine/torch_rng"
        named[key] = array
    return named


def _sort_state(state: dict[str, Any]) -> dict[str, dict[str, Any]]:
    kept = {name: state[name] or {} for name in ("counters", "algorithm", "window", "averager", "scaler")}
    return kept | {
        "random": {"policy": state["policy_rng"], "minibatch": state["minibatch_rng"]},
        "collector": {
            "env_steps": state["counters"]["env_steps"],
            "capturable": state["capturable"],
            "envs": state["envs"],
        },
    }
