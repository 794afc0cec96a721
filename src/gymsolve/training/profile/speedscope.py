"""Sampled stacks as a file of speedscope (https://www.speedscope.app), which draws flame graphs of them."""

from collections.abc import Callable, Mapping
from typing import Any

Place = tuple[str, str]
"""A file (within the package, or its last two parts) and a function in it."""
Stack = tuple[Place, ...]
"""Outermost first."""

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope_profile(
    name: str, seconds: Mapping[Stack, float], phase_of: Callable[[Stack], str]
) -> dict[str, Any]:
    """The profile, JSON-ready; the outermost frame of every stack is its phase."""
    frames: dict[Place, int] = {}
    samples = []
    for stack in seconds:
        path: Stack = (("", phase_of(stack)), *stack)
        samples.append([frames.setdefault(place, len(frames)) for place in path])
    profile = {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": sum(seconds.values()),
        "samples": samples,
        "weights": list(seconds.values()),
    }
    listed = [{"name": function, **({"file": file} if file else {})} for file, function in frames]
    return {
        "$schema": _SCHEMA,
        "exporter": "gymsolve",
        "name": name,
        "shared": {"frames": listed},
        "profiles": [profile],
    }
