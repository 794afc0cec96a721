"""Writes the pages of docs/ that follow from the code: python docs/generate.py (or `make docs`).

`cli.md` comes from the help of every command (`command_page.py`), `json.md` from what they print
(`json_page.py`), `config.md` from the models in `gymsolve.settings.config`, `metrics.md` from the metric
catalogue, `alerts.md` from the rules, `environments/` from families and recipes (`environment_pages.py`),
`modules.md` from docstrings (`module_page.py`), the table of wrappers in `guide.md` from the wrappers'
signatures, and the index of bundled recipes from their files. A test fails when one of them is stale.
"""

import inspect
import json
import re
import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from command_page import render_commands
from environment_pages import render_environments
from json_page import render_json
from module_page import render_modules
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gymsolve.doctor.failure import FAILURES
from gymsolve.doctor.rules import RULES, Rule
from gymsolve.metrics.catalog import GROUPS, Metric
from gymsolve.recipes.index import INDEX, make_index
from gymsolve.recipes.schema import ALGORITHM_MODELS, describe_field
from gymsolve.registry import WRAPPERS, load
from gymsolve.settings.config import OptimizerConfig, TrainConfig, WrapperConfig
from gymsolve.settings.curriculum import StageConfig
from gymsolve.settings.environment import TaskConfig
from gymsolve.settings.kinds import BACKENDS, BackendName, Seconds
from gymsolve.settings.schedules import Schedule, Steps

__all__ = ["HERE", "pages", "render_alerts", "render_config", "render_metrics", "render_wrappers"]

HERE = Path(__file__).parent
_BLOCK = re.compile(r"(?<=<!-- wrappers: made by docs/generate.py -->\n).*?(?=<!-- end -->)", re.DOTALL)
_SIGNS: dict[type[Any], tuple[str, str]] = {
    Gt: ("gt", ">"),
    Ge: ("ge", "≥"),
    Lt: ("lt", "<"),
    Le: ("le", "≤"),
}
_WORDS = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    Any: "anything",
    Schedule: "schedule",
    StageConfig: "stage",
    WrapperConfig: "wrapper",
    type(None): "null",
}
_CONFIG_INTRO = """\
<!-- Made by docs/generate.py from gymsolve.settings.config; do not edit. -->

# Settings

Every setting of a run, by the path that `--set` and recipes use. `gymsolve recipes show ENV --explain`
prints the value each of them has for a recipe, and which layer decided it.

- *schedule*: a number, or how it changes over the run (see [guide.md](guide.md#schedules)).
- *steps*: environment steps, as `200000`, `200k`, `1e6`, or as a share of the budget such as `5%`.
- *seconds*: a number, or a text such as `10min`, `2h`, `1h30min`.
- *null* is YAML's word for "none".
"""

_METRICS_INTRO = """\
<!-- Made by docs/generate.py from gymsolve.metrics.tables; do not edit. -->

# Metrics

Every name that a record of `metrics.jsonl` can hold. A record with another name is refused when it is
written, and a test trains each algorithm and fails when a name is listed for one that does not emit it.

A record is one line. Training records come after every update at first, then farther apart, but never more
than 16 updates apart: `train/…` is the mean over the updates since the record before, everything else the
newest value. Some fifty of them also hold what takes time to measure (all of *What was collected*, gradients
by part, steps of the weights, dormant units, rank and churn); `time/diagnose_share` says what that costs.
Dormant units, rank and churn are measured on up to 128 observations (32 pictures) of the first rollout, or
of the first steps in a replay buffer, which checkpoints keep. An update without a gradient step reports no
step, churn or gradient.
Evaluation records are separate lines, under the step whose weights were judged. A value that was NaN or
infinite is stored as `null`. The *for* column says which algorithms emit a metric; *evaluation* marks
evaluation records, *both* is in every record, *own* in those of an
[algorithm of your own](parts.md#an-algorithm). An asterisk means: only under the condition given. A value
outside of its *range* raises an alert; some ranges are narrower in a given run, such as that of the entropy,
which cannot exceed the logarithm of the number of choices.
Spreads are standard deviations, never variances: they have the unit of what they are the spread of.
"""
_ALERTS_INTRO = """\
<!-- Made by docs/generate.py from gymsolve.doctor.rules; do not edit. -->

# Alerts

What the rules look for, in the order in which findings are explained: the environment first. They run while
a run trains and again, over the same records, in `gymsolve diagnose`. A rule fires after several cases in a
row and is cleared after several records without one; most keep quiet during the first twentieth of the budget
and once the threshold is reached. A rule whose metrics were not recorded is listed as not checked.

An alert that another one explains is shown as its consequence. *error* means that going on is a waste,
*warn* that settings should change, *info* that something costs time.

A remedy is proposed only if it changes what the run does and stays within what is usual for its setting; a
schedule is scaled as a whole. Within one report every setting is given one value: that of the first cause.
"""
_FAILURES_INTRO = """
## What ends a run

An error, a kill or a full disk leaves no number in a record. What ended a run that did not end by itself is
read from its last words and comes before everything else that the rules found.
"""


def pages() -> dict[Path, str]:
    """Every generated page, and what it should hold."""
    guide = HERE / "guide.md"
    return {
        HERE / "cli.md": render_commands(),
        HERE / "json.md": render_json(),
        HERE / "config.md": render_config(),
        HERE / "metrics.md": render_metrics(),
        HERE / "alerts.md": render_alerts(),
        HERE / "modules.md": render_modules(),
        INDEX: make_index(),
        **render_environments(HERE / "environments"),
        guide: _BLOCK.sub(lambda _: render_wrappers(), guide.read_text(encoding="utf-8")),
    }


# ---------------------------------------------------------------------------------- settings


def render_config() -> str:
    """All settings as tables, one per section."""
    models = {name: _model(field) for name, field in TrainConfig.model_fields.items()}
    plain = [name for name, model in models.items() if model is None and name != "algo"]
    parts = [_CONFIG_INTRO, _section("The run", TrainConfig, "", only=plain)]
    for name, model in models.items():
        if name == "algo":
            parts += [
                _section(f"`algo`, when its name is `{algorithm}`", one, "algo.")
                for algorithm, one in ALGORITHM_MODELS.items()
            ]
            parts.append(_optimizer())
        elif model is not None:
            parts.append(_section(f"`{name}`", model, f"{name}."))
            parts += [
                _section(f"`{name}.{inner}`, null unless one of these is set", one, f"{name}.{inner}.")
                for inner, one in _optional_models(model)
            ]
            parts += [_section(f"`{name}.{inner}`", one, f"{name}.{inner}.") for inner, one in _inner(model)]
    parts += [
        _section(f"`{name}`, null unless one of these is set", section, f"{name}.")
        for name, section in _optional_models(TrainConfig)
        if name != "algo"
    ]
    return "\n".join(parts)


def _section(title: str, model: type[BaseModel], prefix: str, only: Sequence[str] | None = None) -> str:
    about = inspect.getdoc(model) or ""
    names = [name for name in model.model_fields if only is None or name in only]
    names.sort(key=lambda name: name != "name")
    rows = [
        _row(f"{prefix}{name}", model.model_fields[name], describe_field(model, name))
        for name in names
        if _model(model.model_fields[name]) is None and name not in dict(_optional_models(model))
    ]
    return f"## {title}\n\n{about}\n\n{_table(('setting', 'type', 'default', 'meaning'), rows)}"


def _optimizer() -> str:
    """The optimizer's settings are the same for all algorithms, their defaults are not."""
    told = _section("`algo.optimizer`", OptimizerConfig, "algo.optimizer.")
    own = OptimizerConfig()
    lines = []
    for algorithm, model in ALGORITHM_MODELS.items():
        given = model.model_fields["optimizer"].default
        changed = [
            f"`algo.optimizer.{name}` is `{_value(value)}`"
            for name, value in given
            if value != getattr(own, name)
        ]
        lines += [f"With `{algorithm}` the default of {text}." for text in changed]
    return told + ("\n" + "\n".join(lines) + "\n" if lines else "")


def _row(path: str, field: FieldInfo, description: str) -> tuple[str, str, str, str]:
    default = "*required*" if field.default is PydanticUndefined else f"`{_value(field.default)}`"
    return f"`{path}`", _kind(field.annotation, field.metadata), default, description


def _model(field: FieldInfo) -> type[BaseModel] | None:
    """The section a field opens, if it is one."""
    kind = field.annotation
    if isinstance(kind, type) and issubclass(kind, BaseModel) and kind is not Schedule:
        return kind
    return None


def _optional_models(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Sections that may be null, by name."""
    for name, field in model.model_fields.items():
        for kind in () if get_origin(field.annotation) in (dict, tuple) else get_args(field.annotation):
            section = isinstance(kind, type) and issubclass(kind, BaseModel)
            if section and kind not in (Schedule, WrapperConfig, StageConfig):
                yield name, kind


def _inner(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Sections within a section, by name; a mapping of them by what its keys are."""
    for name, field in model.model_fields.items():
        section = _model(field)
        if section is not None:
            yield name, section
        elif get_origin(field.annotation) is dict and get_args(field.annotation)[1] is TaskConfig:
            yield f"{name}.<task>", TaskConfig


def _value(value: Any) -> str:
    if isinstance(value, Schedule):
        value = value.model_dump()
    if isinstance(value, float) and value == int(value):
        value = int(value)
    return value if isinstance(value, str) and value else json.dumps(value)


# ------------------------------------------------------------------------------------- types


def _kind(kind: Any, metadata: Iterable[Any] = ()) -> str:
    """A type in words, with its bounds."""
    metadata = list(metadata)
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        unpacked = [m for one in more for m in (one.metadata if isinstance(one, FieldInfo) else [one])]
        return _kind(inner, [*unpacked, *metadata])
    bounds = [f"{sign} {getattr(one, name):g}" for one in metadata for name, sign in _bound(one)]
    return " ".join([_bare(kind, metadata), ", ".join(bounds)]).strip()


def _bound(one: Any) -> list[tuple[str, str]]:
    return [_SIGNS[type(one)]] if type(one) in _SIGNS else []


def _bare(kind: Any, metadata: list[Any]) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if any(isinstance(one, BeforeValidator) and one in get_args(Steps) for one in metadata):
        return "steps"
    if any(isinstance(one, BeforeValidator) and one in get_args(Seconds) for one in metadata):
        return "seconds"
    if any(one in get_args(BackendName) for one in metadata):
        return ", ".join(f"`{name}`" for name in BACKENDS) + " or `package/name`"
    if kind in _WORDS:
        return _WORDS[kind]
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(_kind(one) for one in inner)
    if origin is tuple and inner[-1] is not Ellipsis:
        return f"[{', '.join(_kind(one) for one in inner)}]"
    if origin in (tuple, list):
        return f"list of: {_kind(inner[0])}"
    if origin is dict or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return "mapping"
    raise TypeError(f"no words for the type {kind!r}")


# ----------------------------------------------------------------------------------- metrics


def render_metrics() -> str:
    """Every metric that is emitted, by group."""
    parts = [_METRICS_INTRO]
    for group in GROUPS:
        rows = [_metric_row(metric) for metric in group.metrics]
        if rows:
            about = f"{group.about}\n\n" if group.about else ""
            headers = ("metric", "for", "unit", "better", "range", "meaning")
            parts.append(f"## {group.title}\n\n{about}{_table(headers, rows)}")
    return "\n".join(parts)


def _metric_row(metric: Metric) -> tuple[str, ...]:
    bounds = ("", "") if metric.low is None and metric.high is None else (metric.low, metric.high)
    low, high = ("" if bound is None or bound == "" else f"{bound:g}" for bound in bounds)
    span = f"{low} to {high}" if low and high else f"≥ {low}" if low else f"≤ {high}" if high else ""
    condition = f"; only {metric.condition}" if metric.condition else ""
    by = f"{metric.by}*" if metric.condition else metric.by
    return f"`{metric.name}`", by, metric.unit, metric.better or "", span, metric.meaning + condition


def render_alerts() -> str:
    """Every rule: when it is looked at, what it means, what to expect of its remedy."""
    headers = ("alert", "level", "what it says", "looks at", "likely cause", "after a remedy")
    ends = [(f"`{one.id}`", one.title, one.cause, one.remedy) for one in FAILURES]
    told = _table(("alert", "what it says", "likely cause", "before the run is resumed"), ends)
    return f"{_ALERTS_INTRO}\n{_table(headers, map(_rule_row, RULES))}{_FAILURES_INTRO}\n{told}"


def _rule_row(rule: Rule) -> tuple[str, ...]:
    looks = ", ".join(f"`{name}`" for name in rule.needs)
    return f"`{rule.id}`", rule.severity, rule.title, looks, rule.cause, str(rule.effect or "")


# ---------------------------------------------------------------------------------- wrappers


def render_wrappers() -> str:
    """Every wrapper that recipes can name, with its options."""
    rows = []
    for name, path in sorted(WRAPPERS.items()):
        wrapper = load(path, name)
        about = " ".join((inspect.getdoc(wrapper) or "").split())
        rows.append((f"`{name}`", "<br>".join(_options(wrapper)) or "none", about))
    return "\n" + _table(("wrapper", "options", "what it does"), rows) + "\n"


def _options(wrapper: type[Any]) -> list[str]:
    hints = get_type_hints(wrapper.__init__, include_extras=True)
    told = []
    for name, parameter in list(inspect.signature(wrapper.__init__).parameters.items())[2:]:  # self, env
        needed = parameter.default is inspect.Parameter.empty
        default = "required" if needed else f"default `{_value(parameter.default)}`"
        told.append(f"`{name}`: {_kind(hints[name])}, {default}")
    return told


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def main() -> None:
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
