"""The pages: one shell of HTML, and a module of JavaScript for each."""

from collections.abc import Mapping
from html import escape
from urllib.parse import quote

from gymsolve.web.assets import Assets

PAGES: dict[str, tuple[str, str]] = {
    "/": ("runs", "Runs"),
    "/run/{run}": ("run", "Run"),
    "/compare": ("compare", "Compare"),
    "/play": ("play", "Play"),
    "/inspect": ("inspect", "Inspect"),
}
"""By address: the module of a page, and its title."""

_STYLES = ("vendor/uPlot.min.css", "style.css", "watch.css")
_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · gymsolve</title>
{data}<link rel="icon" href="{place}/icon.svg">
{styles}<script src="{place}/theme.js"></script>
<script type="module" src="{place}/{module}.js"></script>
{imported}</head>
<body>
<header id="top"></header>
<main id="page" tabindex="-1"><p class="soft">Loading …</p></main>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
"""


def shell(assets: Assets, module: str, title: str, data: tuple[str, ...] = ()) -> str:
    """The HTML of a page, which its module fills; the browser loads `data` while it loads the module."""
    stamp = assets.stamp()
    place = f"/static/{stamp}"
    imported = assets.modules(f"{module}.js", stamp)[1:]
    return _SHELL.format(
        title=escape(title),
        place=place,
        module=module,
        data="".join(
            f'<link rel="preload" as="fetch" crossorigin href="{escape(address)}">\n' for address in data
        ),
        styles="".join(f'<link rel="stylesheet" href="{place}/{style}">\n' for style in _STYLES),
        imported="".join(f'<link rel="modulepreload" href="{place}/{other}">\n' for other in imported),
    )


def first_data(module: str, path: Mapping[str, str], query: Mapping[str, str]) -> tuple[str, ...]:
    """The first requests of a module, spelled as `runs.js` and `run.js` spell them."""
    if module == "runs" and not query:
        return ("/api/runs?query=&sort=created&order=down&offset=0&limit=50&trials=",)
    if module == "run":
        run = "/api/runs/" + quote(path["run"], safe="!~*'()")  # as encodeURIComponent does
        return f"{run}/follow?names=rollout%2Fep_rew_mean%0Aeval%2Fmean_reward", run
    return ()
