"""Settings of single tasks, where one policy learns several: the section `env.tasks`, and of wrappers.

A module beside `config.py` because that file is long enough.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_serializer, model_validator

from gymsolve.settings.kinds import BackendName, Model, Options, Positive, Whole, not_bool

Role = Literal["train", "eval", "play"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class WrapperConfig(Model):
    """One wrapper: `name`, `name: {option: value}`, or with `roles` to limit where it applies."""

    name: str
    options: Options = {}  # noqa: RUF012 - pydantic copies it
    roles: tuple[Role, ...] = ("train", "eval", "play")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and "name" not in value:
            if len(value) != 1:
                raise ValueError("a wrapper is written as `name` or as `name: {options}`")
            name, options = next(iter(value.items()))
            if not isinstance(options, dict | None):
                raise ValueError(f"the options of wrapper {name!r} should be a mapping, not {options!r}")
            options = dict(options or {})
            roles = options.pop("roles", ("train", "eval", "play"))
            return {"name": name, "options": options, "roles": roles}
        return value

    @model_serializer
    def _write(self) -> Any:
        options = dict(self.options)
        if set(self.roles) != {"train", "eval", "play"}:
            options["roles"] = list(self.roles)
        return {self.name: options} if options else self.name


class TaskConfig(Model):
    """One of several tasks: what differs from the settings in `env`."""

    share: Annotated[float, BeforeValidator(not_bool), Field(gt=0)] = 1.0
    """Its part of the copies, in proportion to the shares of the others; every task has one at least."""
    id: str | None = None
    """Another environment than `env.id`."""
    kwargs: Options = {}  # noqa: RUF012 - pydantic copies it
    """Passed to the constructor, over those of `env.kwargs`."""
    wrappers: tuple[WrapperConfig, ...] | None = None
    """Instead of `env.wrappers`."""
    max_episode_steps: Positive | None = None
    """Instead of `env.max_episode_steps`."""
    legal_actions: Annotated[tuple[Whole, ...], Field(min_length=1)] | None = None
    """Instead of `env.legal_actions`."""
    backend: BackendName | None = None
    """Instead of `env.backend`."""
    solved_at: Annotated[float, BeforeValidator(not_bool)] | None = None
    """What counts as solved in this task; None takes what leads on from a stage before the last, the run's
    `solved_at` where the task has no id of its own, else what its environment is registered with."""

    def settings(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of `env` that this task changes; `kwargs` are those that all tasks have."""
        own = ("id", "wrappers", "max_episode_steps", "legal_actions", "backend")
        changed = {name: value for name in own if (value := vars(self)[name]) is not None}
        return {**changed, "kwargs": {**kwargs, **self.kwargs}}


class TaskNetConfig(Model):
    """What the networks make of several tasks (`env.tasks`); without them it means nothing."""

    input: bool = True
    """The policy is told the number of the task, as a category; false hides it."""
    heads: Literal["shared", "each"] = "shared"
    """The policy's last layer: one for all tasks, or one for each."""
    values: Literal["shared", "each"] = "each"
    """The value function's last layer likewise; with one for each, `normalize_values` has units for each."""


def refuse_tasks(algo: Model, net: TaskNetConfig, engine: str) -> None:
    """A ValueError about settings that cannot learn several tasks."""
    if vars(algo).get("baseline") == "mean":
        raise ValueError(
            "algo.baseline: returns of several tasks have no common mean; use algo.baseline=value"
        )
    if net.heads == "each" and not net.input:
        raise ValueError(
            "net.tasks.heads: a head for each task tells the policy which one it is; to hide it, use "
            "net.tasks.heads=shared"
        )
    if engine == "numpy":
        raise ValueError("engine: the NumPy engine learns one task; use engine=torch for env.tasks")


def name_tasks(value: Any) -> Any:
    """`[ALE/Pong-v5, ALE/Breakout-v5]` as the mapping that it is short for; anything else as it is."""
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        return value
    names = [re.sub(r"[^A-Za-z0-9_-]", "_", re.split("[/:]", one)[-1]) for one in value]
    return {name: {"id": one} for name, one in zip(names, value, strict=True)} if _distinct(names) else value


def _distinct(names: list[str]) -> bool:
    return len(set(names)) == len(names)


def _read_tasks(value: Any) -> Any:
    named = {} if value is None else name_tasks(value)  # null undoes those of a recipe
    if isinstance(named, list | tuple):
        raise ValueError(
            "a list of tasks holds different ids; write `name: {settings}` to tell equal ones apart"
        )
    return named


def _check_names(tasks: dict[str, TaskConfig]) -> dict[str, TaskConfig]:
    if len(tasks) == 1:
        raise ValueError(
            f"{next(iter(tasks))!r} is the only task; give a second one, or put its settings into env"
        )
    for name in tasks:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name for a task: use up to 40 letters, digits, - and _")
    return tasks


Tasks = Annotated[dict[str, TaskConfig], BeforeValidator(_read_tasks), AfterValidator(_check_names)]


def spread_copies(shares: Mapping[str, float], count: int) -> dict[str, int]:
    """Copies of each task in proportion to its share, one at least while there are enough.

    What is left over goes to those with the largest remainders, the first of equals first.
    """
    if count < len(shares):
        return {name: int(index < count) for index, name in enumerate(shares)}
    total, free = sum(shares.values()), count - len(shares)
    # A copy each first; the rest makes up for what is missing to the exact part.
    wanted = {name: max(0.0, count * share / total - 1.0) for name, share in shares.items()}
    scale = free / sum(wanted.values()) if free else 0.0
    exact = {name: one * scale for name, one in wanted.items()}
    copies = {name: 1 + int(one) for name, one in exact.items()}
    left = sorted(exact, key=lambda name: int(exact[name]) - exact[name])
    for name in left[: count - sum(copies.values())]:
        copies[name] += 1
    return copies
