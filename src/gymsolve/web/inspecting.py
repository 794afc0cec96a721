"""What the inspector reads of stored episodes."""

from gymsolve.web.route import Route

__all__ = ["ROUTES"]

ROUTES: tuple[Route, ...] = ()
