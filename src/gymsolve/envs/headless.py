"""Drawing where there is no screen: what drawing libraries must be told before they are imported."""

import ctypes
import os
import sys
from contextlib import suppress


def draw_without_screen() -> None:
    """Tell drawing libraries that there is no screen, if so: some complain without it, some fail.

    What the user has set stays. Processes that are started later inherit it.
    """
    screens = (os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if sys.platform != "linux" or any(screens):
        return
    wanted = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
    if not os.environ.get("MUJOCO_GL") and has_egl():  # told to draw by EGL without it, MuJoCo does not start
        wanted["MUJOCO_GL"] = "egl"
    for name, value in wanted.items():
        if not os.environ.get(name):
            os.environ[name] = value


def has_egl() -> bool:
    """Is the library there that draws without a screen?"""
    with suppress(OSError):
        return bool(ctypes.CDLL("libEGL.so.1"))
    return False
