"""Where a signal raises its error: not in Python code that native code has called.

Python handles a signal before any of its next steps, also in the middle of a callback. Native code need not
expect an error there: Box2D throws one of its own while it clears up, which aborts the process. In a
finalizer, Python drops the error, and the signal does nothing. In both, the error waits for the return to the
code below.

Callbacks are known by their object, whose class SWIG has made for native code to call. Those of ctypes and
cffi are not recognized.
"""

import sys
from types import FrameType
from typing import Any

_CALLED_BY_NATIVE = "__disown__"
"""A method of all classes whose methods SWIG lets C++ call."""
_FINALIZER = "__del__"


def raise_outside(error: BaseException, frame: FrameType | None) -> None:
    """Raise an error in the code that a signal has interrupted, or as soon as the callback there is over."""
    below = _below_callbacks(frame)
    if below is None:
        raise error

    def raise_here(at: FrameType, event: str, argument: Any) -> None:
        raise error

    # Python asks a frame that is under way, too, when it goes on; the error ends the tracing.
    below.f_trace_opcodes = True
    below.f_trace = raise_here
    sys.settrace(lambda *_: None)


def _below_callbacks(frame: FrameType | None) -> FrameType | None:
    """The code that has called the native code whose callbacks are under way; None where there are none."""
    below = None
    while frame is not None:
        if _must_not_raise(frame):
            below = frame.f_back
        frame = frame.f_back
    return below


def _must_not_raise(frame: FrameType) -> bool:
    code = frame.f_code
    if code.co_name == _FINALIZER:
        return True
    owner = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    return hasattr(type(owner), _CALLED_BY_NATIVE)
