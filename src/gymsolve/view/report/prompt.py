"""The run as text for a language model: a ready prompt, numbers first, charts as characters."""

import math

from gymsolve.metrics.catalog import by_priority, find_metric
from gymsolve.metrics.wording import remedy_text
from gymsolve.text import number, resample, setting, sparkline
from gymsolve.view.report.curves import return_figure
from gymsolve.view.report.document import Block, Code, Fold, Paragraph, Section
from gymsolve.view.report.facts import Facts
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


def language_model(facts: Facts) -> Section:
    """The prompt, folded away; to be copied as it is."""
    blocks: list[Block] = [
        Paragraph("Paste this into a language model; it holds the question and all numbers it needs."),
        Fold("the prompt", [Code(prompt_text(facts))]),
    ]
    return Section("For a language model", blocks)


def prompt_text(facts: Facts) -> str:
    parts = [_ASK, _about(facts), settings_text(facts), _metrics(facts), _chart(facts), alerts_text(facts)]
    return "\n\n".join(part for part in parts if part)


def _about(facts: Facts) -> str:
    return f"## Run\n{train_command(facts)}\n{verdict(facts)}"


def settings_text(facts: Facts) -> str:
    """Settings of algorithm, environment and network."""
    shown = [
        f"{path}={setting(value)}"
        for path, value in facts.settings.items()
        if path.startswith(("algo.", "env.", "net.")) and value not in (None, [], {})
    ]
    return "## Settings\n" + "\n".join(shown)


def _metrics(facts: Facts) -> str:
    """Each metric as a sparkline and as samples over the training, first to last."""
    names = [name for name in by_priority(facts.history.series) if not name.startswith(_SKIPPED)]
    told = []
    for name in names:
        means = resample(facts.history.series[name].values, _PERIODS)
        if find_metric(name) is None or not any(map(math.isfinite, means)):
            continue
        samples = " ".join("nan" if math.isnan(one) else number(one) for one in resample(means, _SAMPLES))
        told.append(f"{name}: {sparkline(means, _PERIODS)} {samples}")
    head = "## Metrics (sparkline from smallest to largest, then means over equal parts of the training)"
    return "\n".join([head, *told]) if told else ""


def _chart(facts: Facts) -> str:
    chart = return_figure(facts)
    return "" if chart is None else f"## {chart.title}\n{plot(chart)}"


def alerts_text(facts: Facts) -> str:
    """Root causes, what follows from them, and what did not fire."""
    found = facts.diagnosis.to_json()
    told = [
        f"{one['severity']} {one['id']} (active {one['share']:.0%} of training): {one['title']}; "
        f"{one['cause']}; {remedy_text(one)}"
        for one in found["roots"]
    ]
    told += [f"consequence of {one['because']}: {one['id']}, {one['title']}" for one in found["consequences"]]
    told.append(f"did not fire: {', '.join(found['not_fired']) or 'none'}")
    return "## Alerts of rules over these metrics\n" + "\n".join(told)
