"""A flame graph as one HTML file that needs nothing else: no network, no library."""

import html
import json
from collections.abc import Callable, Mapping
from typing import Any

Place = tuple[str, str]
Stack = tuple[Place, ...]

COLOURS = {
    "env": "#8fc98a",
    "acting": "#8ab6e8",
    "collecting": "#b9d4ee",
    "update": "#f0a860",
    "evaluation": "#c9a2e0",
    "checkpoint": "#e8a0a0",
    "records": "#e0d080",
    "video": "#d8b48c",
    "other": "#cfcfcf",
}


def flame_tree(seconds: Mapping[Stack, float], phase_of: Callable[[Stack], str]) -> dict[str, Any]:
    """Nested calls: label, seconds with everything below, phase, and the calls below, longest first."""
    root = _node("training", "other")
    for stack, spent in seconds.items():
        root["s"] += spent
        node = root
        for depth, place in enumerate(stack, start=1):
            label = f"{place[1]}  {place[0]}"
            node = node["c"].setdefault(label, _node(label, phase_of(stack[:depth])))
            node["s"] += spent
    return _listed(root)


def render_flame(
    title: str, seconds: Mapping[Stack, float], phase_of: Callable[[Stack], str], phases: Mapping[str, str]
) -> str:
    """The page. Wider is longer; below each call are the calls it made."""
    legend = "".join(
        f'<span style="background:{COLOURS[name]}" title="{html.escape(told)}">{name}</span>'
        for name, told in phases.items()
    )
    # "<" cannot be taken for the end of the script inside of one.
    data = json.dumps(flame_tree(seconds, phase_of), separators=(",", ":")).replace("<", "\\u003c")
    filled = {
        "TITLE": html.escape(title),
        "LEGEND": legend,
        "COLOURS": json.dumps(COLOURS),
        "DATA": data,
    }  # data last: it may hold anything
    page = _PAGE
    for name, text in filled.items():
        page = page.replace(f"@{name}@", text)
    return page


def _node(label: str, phase: str) -> dict[str, Any]:
    return {"n": label, "p": phase, "s": 0.0, "c": {}}


def _listed(node: dict[str, Any]) -> dict[str, Any]:
    below = sorted(node["c"].values(), key=lambda child: -child["s"])
    return {**node, "s": round(node["s"], 4), "c": [_listed(child) for child in below]}


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>@TITLE@</title><style>
body { font: 13px system-ui, sans-serif; margin: 16px; color: #222; background: #fff }
h1 { font-size: 16px; margin: 0 0 4px }
p { margin: 0 0 8px }
#legend span { padding: 1px 6px; margin-right: 4px; border-radius: 3px }
#flame { position: relative; margin-top: 10px }
#flame div { position: absolute; height: 18px; line-height: 18px; box-sizing: border-box; overflow: hidden;
  white-space: nowrap; text-indent: 4px; border: solid #fff; border-width: 0 1px 1px 0; cursor: pointer }
#flame div:hover { filter: brightness(0.9) }
#flame .above { opacity: 0.55 }
</style></head><body>
<h1>@TITLE@</h1>
<p id="legend">@LEGEND@</p>
<p>Wider is longer; below each call are the calls it made.
Click one to enlarge it, one above to go back.</p>
<div id="flame"></div>
<script>
const colours = @COLOURS@, tree = @DATA@, flame = document.getElementById("flame"), row = 19;
function link(node, above) { node.above = above; node.c.forEach(child => link(child, node)); }
function share(node) { return node.s.toFixed(2) + " s, " + (100 * node.s / tree.s).toFixed(1) + " %"; }
function box(node, left, width, depth, above) {
  const one = document.createElement("div");
  one.style.cssText = `left:${left}%;width:${width}%;top:${depth * row}px;background:${colours[node.p]}`;
  one.textContent = node.n.split("  ")[0];
  one.title = `${node.n.replace("  ", "\\n")}\\n${node.p}\\n${share(node)}`;
  if (above) one.className = "above";
  one.onclick = () => draw(node);
  flame.append(one);
}
function draw(focus) {
  flame.replaceChildren();
  const path = [];
  for (let node = focus.above; node; node = node.above) path.unshift(node);
  path.forEach((node, depth) => box(node, 0, 100, depth, true));
  let deepest = 0;
  function place(node, left, width, depth) {
    if (width < 0.05) return;
    deepest = Math.max(deepest, depth);
    box(node, left, width, depth, false);
    for (const child of node.c) {
      const part = width * child.s / node.s;
      place(child, left, part, depth + 1);
      left += part;
    }
  }
  place(focus, 0, 100, path.length);
  flame.style.height = (deepest + 1) * row + "px";
}
link(tree, null);
draw(tree);
</script></body></html>
"""
