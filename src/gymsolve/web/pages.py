"""Which pages there are: one shell, and a module of JavaScript for each."""

from html import escape

__all__ = ["PAGES", "shell"]

PAGES: dict[str, tuple[str, str]] = {
    "/": ("runs", "Runs"),
    "/run/{run}": ("run", "Run"),
    "/compare": ("compare", "Compare"),
    "/play": ("play", "Play"),
    "/inspect": ("inspect", "Inspect"),
}
"""By address: the module of a page, and its title."""

_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · gymsolve</title>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/static/vendor/uPlot.min.css">
<link rel="stylesheet" href="/static/style.css">
<link rel="stylesheet" href="/static/watch.css">
<script src="/static/theme.js"></script>
<script type="module" src="/static/{module}.js"></script>
</head>
<body>
<header id="top"></header>
<main id="page" tabindex="-1"><p class="soft">Loading …</p></main>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
"""


def shell(module: str, title: str) -> str:
    """The HTML of a page; its module fills it."""
    return _SHELL.format(module=escape(module), title=escape(title))
