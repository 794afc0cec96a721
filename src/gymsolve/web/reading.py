"""What the pages read: runs, their curves, and what was found in them."""

from gymsolve.web.route import Route

__all__ = ["ROUTES"]

ROUTES: tuple[Route, ...] = ()
