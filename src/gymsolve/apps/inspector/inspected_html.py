"""An inspected episode as HTML for notebooks: facts, pictures, a curve; no script, no external files."""

import base64
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from gymsolve.text import number

if TYPE_CHECKING:
    from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
    from gymsolve.spec import Array

_PICTURES = 8
_ROWS = 12
_WIDTH, _HEIGHT = 640, 120
_SHOWN = ("step", "label", "reward", "value", "advantage", "td_error", "return_to_go", "entropy", "log_prob")


def episode_html(episode: "InspectedEpisode") -> str:
    """The whole HTML."""
    facts = episode.facts
    how = "likeliest actions" if facts["deterministic"] else "sampled actions"
    title = f"{facts['env_id']} · checkpoint {facts['checkpoint']} · seed {facts['seed']} · {how}"
    earned = facts.get("return")
    result = "" if earned is None else f"return {number(float(earned))}, {facts.get('end', '')}"
    notes = "".join(f"<p>{escape(str(note))}.</p>" for note in facts.get("notes", ()))
    parts = [_pictures(episode), _curve(episode), _table(episode)]
    head = f"<b>{escape(title)}</b><br>{len(episode)} steps, {escape(result)}"
    return f'<div style="font-family:system-ui,sans-serif"><p>{head}</p>{notes}{"".join(parts)}</div>'


def _pictures(episode: "InspectedEpisode") -> str:
    """Some states, evenly spread, with the action that was taken there."""
    count, labels = min(len(episode.frames), len(episode) + 1), episode.labels
    if not count:
        return ""
    chosen = sorted({int(place) for place in np.linspace(0, count - 1, min(_PICTURES, count))})
    figures = []
    for state in chosen:
        raw = episode.frames.encoded(state)
        if raw:
            label = labels[state] if state < len(labels) else "end"
            data = base64.b64encode(raw).decode()
            figures.append(
                f'<figure style="margin:0;display:inline-block;width:150px">'
                f'<img alt="state {state}" style="width:100%" src="data:image/jpeg;base64,{data}">'
                f"<figcaption>{state}: {escape(label)}</figcaption></figure>"
            )
    return f'<div style="display:flex;flex-wrap:wrap;gap:6px">{"".join(figures)}</div>'


def _curve(episode: "InspectedEpisode") -> str:
    """Value and return-to-go over the steps."""
    if len(episode) < 2:
        return ""
    columns = episode.credit()
    series = {"value": episode.values[: len(episode)], "return-to-go": columns["return_to_go"]}
    finite = np.concatenate([values[np.isfinite(values)] for values in series.values()])
    if not finite.size:
        return ""
    low, high = float(finite.min()), float(finite.max())
    drawn = ""
    for colour, (name, values) in zip(("#1f6fb2", "#c8500b"), series.items(), strict=True):
        points = _points(values, low, (high - low) or 1.0)
        drawn += f'<polyline fill="none" stroke="{colour}" points="{points}"><title>{name}</title></polyline>'
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    caption = f"value (blue) and return-to-go (orange), from {number(low)} to {number(high)}"
    return f'<svg {box} role="img" aria-label="{caption}">{drawn}</svg><p>{caption}</p>'


def _points(values: "Array", low: float, span: float) -> str:
    step = max(1, len(values) // _WIDTH)
    points = [(at, float(value)) for at, value in enumerate(values) if at % step == 0 and np.isfinite(value)]
    width = max(1, len(values) - 1)
    return " ".join(
        f"{at / width * _WIDTH:.1f},{_HEIGHT - 4 - (value - low) / span * (_HEIGHT - 8):.1f}"
        for at, value in points
    )


def _table(episode: "InspectedEpisode") -> str:
    """The first steps."""
    table = episode.table()
    names = [name for name in _SHOWN if name in table]
    if not names:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = ""
    for row in range(min(_ROWS, len(episode))):
        cells = (table[name][row] for name in names)
        rows += "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in cells) + "</tr>"
    more = f"<p>… {len(episode) - _ROWS} more: <code>.table()</code></p>" if len(episode) > _ROWS else ""
    return f"<table><tr>{head}</tr>{rows}</table>{more}"


def _cell(value: object) -> str:
    return str(value) if isinstance(value, str) else number(float(value))  # type: ignore[arg-type]
