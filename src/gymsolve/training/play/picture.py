"""What a session shows of an environment: an encoded picture, or a table of what is observed."""

import io
import math

import numpy as np
from PIL import Image

from gymsolve.envs.stage import PlayStage, Scene
from gymsolve.errors import EnvFaultError
from gymsolve.spec import Array, ObsSpec

__all__ = ["encode", "tabulate"]

_QUALITY = 80
_MOST_ROWS = 64


def encode(frame: Array) -> bytes:
    """A picture [H, W, 3] as JPEG."""
    held = io.BytesIO()
    try:
        Image.fromarray(np.ascontiguousarray(frame)).save(held, "JPEG", quality=_QUALITY)
    except (ValueError, OSError, TypeError) as error:
        raise EnvFaultError(
            f"a picture of shape {frame.shape} cannot be encoded: {error}.",
            hint="render() should return an array [height, width, 3] of uint8, up to 65,000 pixels wide.",
        ) from error
    return held.getvalue()


def tabulate(stage: PlayStage, scene: Scene) -> list[list[str]]:
    """Names and values of an observation, for environments without a picture."""
    rows: list[list[str]] = []
    for entry, spec in stage.spec.obs.items():
        values = np.ravel(scene.obs[entry][0])
        names = stage.obs_names if entry == "obs" else ()
        for place, value in enumerate(values[:_MOST_ROWS]):
            name = names[place] if names else entry if values.size == 1 else f"{entry} {place}"
            rows.append([name, _told(float(value), spec, place)])
        if values.size > _MOST_ROWS:
            rows.append([entry, f"and {values.size - _MOST_ROWS} more numbers"])
    return rows


def _told(value: float, spec: ObsSpec, place: int) -> str:
    if spec.kind == "discrete":
        return str(int(value) + (spec.start[place] if spec.start else 0))
    return f"{value:.4g}" if math.isfinite(value) else str(value)
