"""Drawing where there is no screen: what drawing libraries must be told before they are imported."""

import os
import sys

__all__ = ["draw_without_screen"]

_SETTINGS = (("SDL_VIDEODRIVER", "dummy"), ("SDL_AUDIODRIVER", "dummy"), ("MUJOCO_GL", "egl"))


def draw_without_screen() -> None:
    """Tell drawing libraries that there is no screen, if so: some complain without it, some fail.

    What the user has set stays. Processes that are started later inherit it.
    """
    screens = (os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if sys.platform == "linux" and not any(screens):
        for name, value in _SETTINGS:
            if not os.environ.get(name):
                os.environ[name] = value
