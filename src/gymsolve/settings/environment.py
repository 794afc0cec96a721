"""Settings of the environment: the section `env`, with its wrappers and tasks."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_serializer, model_validator

from gymsolve.settings.kinds import BackendName, Model, Options, Positive, Seconds, Whole, not_bool

Role = Literal["train", "eval", "play"]
_ROLES: tuple[Role, ...] = ("train", "eval", "play")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class WrapperConfig(Model):
    """One wrapper: `name`, `name: {option: value}`, or with `roles` to limit where it applies."""

    name: str
    options: Options = {}  # noqa: RUF012 - pydantic copies it
    roles: tuple[Role, ...] = _ROLES

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
            roles = options.pop("roles", _ROLES)
            return {"name": name, "options": options, "roles": roles}
        return value

    @model_serializer
    def _write(self) -> Any:
        options = dict(self.options)
        if set(self.roles) != set(_ROLES):
            options["roles"] = list(self.roles)
        return {self.name: options} if options else self.name


class TaskConfig(Model):
    """One of several tasks: the settings that differ from those in `env`."""

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
    """The return that counts as solved in this task. None takes the `promote_at` of a stage before the last,
    the run's `solved_at` where the task has no id of its own, else the threshold of its registration."""

    def settings(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of `env` that this task changes; `kwargs` are those that all tasks have."""
        own = ("id", "wrappers", "max_episode_steps", "legal_actions", "backend")
        changed = {name: value for name in own if (value := vars(self)[name]) is not None}
        return {**changed, "kwargs": {**kwargs, **self.kwargs}}


def name_tasks(value: Any) -> Any:
    """`[ALE/Pong-v5, ALE/Breakout-v5]` as the mapping that it is short for; anything else as it is."""
    if not isinstance(value, list | tuple) or not all(isinstance(env_id, str) for env_id in value):
        return value
    names = [re.sub(r"[^A-Za-z0-9_-]", "_", re.split("[/:]", env_id)[-1]) for env_id in value]
    if len(set(names)) < len(names):
        return value
    return {name: {"id": env_id} for name, env_id in zip(names, value, strict=True)}


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


class EnvConfig(Model):
    """The environment, its copies, and the wrappers between it and the policy."""

    id: str
    """The Gymnasium id; `module:Id` imports `module` first."""
    kwargs: Options = {}  # noqa: RUF012 - pydantic copies it
    """Passed to the environment's constructor."""
    num_envs: Annotated[Positive, Field(le=65_536)] = 8
    """Copies stepped in parallel; more gives larger rollouts. `auto` measures, and keeps their size."""
    backend: BackendName = "auto"
    """The code that steps the copies: this process (`sync`), worker processes (`async`), compiled rules
    (classic control), ALE's vector class (Atari), EnvPool (training only), or a backend of another package
    (`package/name`). `auto` takes the quickest one; EnvPool only serves on request."""
    workers: Positive | None = None
    """Processes of the async backend; None takes one per core."""
    step_timeout: Seconds | None = 300.0
    """Seconds that one `step` of a Python environment may take before it counts as hanging; None waits."""
    reset_timeout: Seconds | None = 600.0
    """The same for one `reset`."""
    build_timeout: Seconds | None = 600.0
    """The same for building one copy."""
    lean: bool = True
    """Take quicker code with the same results, bit for bit, where there is some (LunarLander, classic
    control)."""
    wrappers: tuple[WrapperConfig, ...] = ()
    """Applied in order, the first one nearest to the environment."""
    max_episode_steps: Positive | None = None
    """Time limit in environment steps before frame skipping; None keeps the registered one."""
    frame_stack: Positive = 1
    """Observations of the last k steps are joined (channels of images, elements of vectors)."""
    action_masks: Literal["auto", "on", "off"] = "auto"
    """Take `info["action_mask"]`: when it is there, always (its absence is an error), or never."""
    legal_actions: Annotated[tuple[Whole, ...], Field(min_length=1)] | None = None
    """Only these choices of a Discrete action are ever legal; None allows all."""
    tasks: Tasks = {}  # noqa: RUF012 - pydantic copies it
    """Several tasks that one policy learns at once, by name, each with the settings that differ from those
    here. `[CartPole-v1, Acrobot-v1]` is short for two ids. Empty: one task."""

    def for_task(self, name: str) -> "EnvConfig":
        """The settings of one task's environments."""
        return self.model_copy(update={**self.tasks[name].settings(self.kwargs), "tasks": {}})

    @property
    def copies(self) -> dict[str, int]:
        """Number of copies of each task at the start."""
        return spread_copies({name: task.share for name, task in self.tasks.items()}, self.num_envs)


def spread_copies(shares: Mapping[str, float], count: int) -> dict[str, int]:
    """Copies of each task in proportion to its share, one at least while there are enough.

    Copies left over go to the tasks with the largest remainders, the first of equals first.
    """
    if count < len(shares):
        return {name: int(index < count) for index, name in enumerate(shares)}
    total, free = sum(shares.values()), count - len(shares)
    # A copy each first; the others bring each task closer to its exact part.
    wanted = {name: max(0.0, count * share / total - 1.0) for name, share in shares.items()}
    scale = free / sum(wanted.values()) if free else 0.0
    exact = {name: part * scale for name, part in wanted.items()}
    copies = {name: 1 + int(part) for name, part in exact.items()}
    left = sorted(exact, key=lambda name: int(exact[name]) - exact[name])
    for name in left[: count - sum(copies.values())]:
        copies[name] += 1
    return copies
