"""What the pages do: start, stop and fork runs, behind the limits that the server was given."""

from gymsolve.web.route import Route

__all__ = ["ROUTES"]

ROUTES: tuple[Route, ...] = ()
