"""The run as text for a language model: a ready prompt, numbers first, charts as characters."""

import math

from gymsolve.metrics.catalog import by_priority, find_metric
from gymsolve.metrics.wording import remedy_text
from gymsolve.text import number, resample, setting, sparkline
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.curves import return_figure
from gymsolve.view.report.document import Block, Code, Fold, Paragraph, Section
from gymsolve.view.report.sections import train_command
from gymsolve.view.report.textchart import plot
from gymsolve.view.report.verdict import verdict

_ASK = """You are an expert in reinforcement learning. Below is the log of one training run.
1. Say in two sentences whether it learned and what limits it, with the numbers that show it.
2. Name the single most likely root cause; say which numbers would be different if you were wrong.
3. Propose at most three changes of settings as `--set path=value`, the most promising first, each with
   the metric that should move and by how much.
Do not repeat the log. If the log does not tell, say what to measure."""
_SKIPPED = ("hyper/", "gradient/", "env_steps", "vec_steps", "updates", "progress", "time/elapsed")
_PERIODS, _SAMPLES = 24, 8


def language_model(view: DiagnosedRun) -> Section:
    """The prompt, folded away; to be copied as it is."""
    blocks: list[Block] = [
        Paragraph("Paste this into a language model; it holds the question and all numbers it needs."),
        Fold("the prompt", [Code(prompt_text(view))]),
    ]
    return Section("For a language model", blocks)


def prompt_text(view: DiagnosedRun) -> str:
    parts = [_ASK, _about(view), settings_text(view), _metrics(view), _chart(view), alerts_text(view)]
    return "\n\n".join(part for part in parts if part)


def _about(view: DiagnosedRun) -> str:
    return f"## Run\n{train_command(view)}\n{verdict(view)}"


def settings_text(view: DiagnosedRun) -> str:
    """Settings of algorithm, environment and network."""
    lines = [
        f"{path}={setting(value)}"
        for path, value in view.settings.items()
        if path.startswith(("algo.", "env.", "net.")) and value not in (None, [], {})
    ]
    return "## Settings\n" + "\n".join(lines)


def _metrics(view: DiagnosedRun) -> str:
    """Each metric as a sparkline and as samples over the training, first to last."""
    names = [name for name in by_priority(view.history.series) if not name.startswith(_SKIPPED)]
    lines = []
    for name in names:
        means = resample(view.history.series[name].values, _PERIODS)
        if find_metric(name) is None or not any(map(math.isfinite, means)):
            continue
        samples = " ".join("nan" if math.isnan(mean) else number(mean) for mean in resample(means, _SAMPLES))
        lines.append(f"{name}: {sparkline(means, _PERIODS)} {samples}")
    head = "## Metrics (sparkline from smallest to largest, then means over equal parts of the training)"
    return "\n".join([head, *lines]) if lines else ""


def _chart(view: DiagnosedRun) -> str:
    chart = return_figure(view)
    return "" if chart is None else f"## {chart.title}\n{plot(chart)}"


def alerts_text(view: DiagnosedRun) -> str:
    """Root causes, what follows from them, and what did not fire."""
    diagnosis = view.diagnosis.to_json()
    lines = [
        f"{alert['severity']} {alert['id']} (active {alert['share']:.0%} of training): {alert['title']}; "
        f"{alert['cause']}; {remedy_text(alert)}"
        for alert in diagnosis["roots"]
    ]
    lines += [
        f"consequence of {alert['because']}: {alert['id']}, {alert['title']}"
        for alert in diagnosis["consequences"]
    ]
    lines.append(f"did not fire: {', '.join(diagnosis['not_fired']) or 'none'}")
    return "## Alerts of rules over these metrics\n" + "\n".join(lines)
