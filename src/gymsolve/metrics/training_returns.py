"""Where the mean return of training is another quantity than that of an evaluation, in words for beside it.

Wrappers may end training episodes within a game, which evaluations play to its end. Faults may cut episodes:
the mean is then one of those that were left, which may be the short ones. Evaluations play those again.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

CUT_SHARE = "rollout/cut_share"
SELECTED = 0.05
"""From this share of cut episodes on, the mean of the others is not one of all."""
_PARTS = {"episodic_life": "life", "episodic_point": "point"}


def training_unit(env: Mapping[str, Any]) -> str:
    """`per life` or `per point` where that ends a training episode; empty where evaluations play the same.

    `env` is the section of that name as config.json has it.
    """
    parts = {part: None for name in _wrappers_of_training(env) if (part := _PARTS.get(name))}
    return f"per {' or '.join(parts)}" if parts else ""


def selection(cut_share: float | None) -> str:
    """A remark on a mean of the episodes that faults have left; empty where they cut none, or few."""
    if cut_share is None or not math.isfinite(cut_share) or cut_share < SELECTED:
        return ""
    return f"of those left: faults cut {cut_share:.0%}"


def note(unit: str, cut_share: float | None) -> str | None:
    """Both; None where training's mean return is the quantity that evaluations have."""
    return ", ".join(filter(None, (unit, selection(cut_share)))) or None


def remark(unit: str, cut_share: float | None) -> str:
    """The note in brackets, to be put behind a training return: ` (per point)`."""
    words = note(unit, cut_share)
    return "" if words is None else f" ({words})"


def _wrappers_of_training(env: Mapping[str, Any]) -> Iterator[str]:
    """Names of the wrappers of training, of all tasks; each is written `name` or `{name: options}`.

    The settings are as a file has them, so anything else in their place is passed over.
    """
    tasks = env.get("tasks")
    for section in (env, *(tasks.values() if isinstance(tasks, Mapping) else ())):
        wrappers = section.get("wrappers") if isinstance(section, Mapping) else None
        for wrapper in wrappers if isinstance(wrappers, list | tuple) else ():
            named = (
                wrapper if isinstance(wrapper, Mapping) else {wrapper: None} if type(wrapper) is str else {}
            )
            for name, options in named.items():
                roles = options.get("roles") if isinstance(options, Mapping) else None
                if roles is None or (isinstance(roles, list | tuple) and "train" in roles):
                    yield str(name)
