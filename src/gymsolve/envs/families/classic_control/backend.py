"""The contract over environments whose rules are compiled: classic control.

They reset in the same step, each copy by its own generator, and give what the `sync` backend gives.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from gymsolve.envs.backends import bare_obstacle, refuse
from gymsolve.envs.backends.episode_stats import refuse_bad_obs
from gymsolve.envs.build import find_spec
from gymsolve.envs.contract import Episode, Snapshot, Step
from gymsolve.envs.describe import describe
from gymsolve.envs.families.classic_control.lean import Classic, ClassicRows, find_classic
from gymsolve.envs.families.family import Backend
from gymsolve.kernels import find_kernels, load_kernels
from gymsolve.settings.config import EnvConfig, Role
from gymsolve.spec import Array, EnvSpec, Obs


def compiled_obstacle(config: EnvConfig, role: Role) -> str | None:
    """Why compiled rules cannot step this environment, or None; the text follows "cannot be used:"."""
    registered = find_spec(config.id)
    kind = find_classic(registered.entry_point)
    if kind is None:
        return f"there are no compiled rules of {config.id} as it is installed"
    if not config.lean:
        return "env.lean is off"
    if find_kernels().kind != "c":
        return f"the compiled kernels {find_kernels().obstacle or 'are turned off'}"
    if obstacle := bare_obstacle(config, role):
        return obstacle
    options = {**registered.kwargs, **config.kwargs}
    unknown = [name for name, value in options.items() if name != kind.option or not _is_number(value)]
    return f"it does not take {', '.join(sorted(unknown))}" if unknown else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


class CompiledEnvs:
    """`Envs` over compiled rules."""

    backend = "compiled"

    def __init__(self, rows: ClassicRows, spec: EnvSpec, kind: Classic) -> None:
        self._rows, self.spec, self._kind = rows, spec, kind
        self.num_envs = len(rows.rewards)
        (self._key,) = spec.obs
        self._valid = np.ones(self.num_envs, dtype=bool)  # [N]
        self._valid.flags.writeable = False
        # A policy that diverged sends NaN in boxes; choices are always valid.
        self._may_break = spec.action.kind == "box"
        self._steps = 0
        self._jumped: dict[int, int] = {}
        """Rows whose episode began by a jump, and the seeds of their next ones."""

    @classmethod
    def make(cls, config: EnvConfig, role: Role, count: int) -> "CompiledEnvs":
        """For settings without an obstacle."""
        spec = describe(config, role).spec
        registered = find_spec(config.id)
        kind, kernels = find_classic(registered.entry_point), load_kernels()
        assert kind is not None
        assert isinstance(kernels, ModuleType)
        (entry,) = spec.obs.values()
        options = {**registered.kwargs, **config.kwargs}
        return cls(
            ClassicRows(kind, kernels, entry.shape[0], count, options, spec.max_episode_steps), spec, kind
        )

    def reset(self, seeds: list[int]) -> tuple[Obs, None]:
        self._rows.reset(seeds)
        self._steps = 0
        self._jumped = {}
        return {self._key: self._rows.obs.copy()}, None

    def step(self, actions: Array) -> Step:
        rows = self._rows
        self._steps += 1
        ended = rows.step(actions)
        terminated, truncated = rows.terminated.copy(), rows.truncated.copy()
        rewards = rows.rewards.astype(np.float32)
        if self._may_break:
            refuse_bad_obs({self._key: rows.obs}, (self._key,), self.spec.id, self._steps)
        final_obs: Obs | None = None
        episodes: list[Episode] = []
        if ended:
            over = np.flatnonzero(terminated | truncated)
            final_obs = {self._key: rows.obs.copy()}
            episodes = [self._finish(row, bool(truncated[row])) for row in over.tolist()]
            rows.begin(over)
        obs = {self._key: rows.obs.copy()}
        return Step(obs, rewards, terminated, truncated, self._valid, final_obs, None, episodes)

    def _finish(self, row: int, truncated: bool) -> Episode:
        total, jumped = float(self._rows.returns[row]), row in self._jumped
        if jumped:
            self._rows.reseed(row, self._jumped.pop(row))
        return Episode(row, total, total, int(self._rows.lengths[row]), truncated, jumped=jumped)

    def capture(self) -> dict[str, Any]:
        return {"kind": "compiled", **self._rows.capture(), "jumped": list(self._jumped.items())}

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, None, list[int]]:
        self.reset(seeds)
        fits = state["kind"] == "compiled" and state["name"] == self._kind.name
        known = min(len(state["lengths"]), self.num_envs) if fits else 0
        late: list[int] = []
        if known:
            self._rows.restore(state, known)
            # Under another time limit than now, episodes may have gone on for longer than they could.
            limit = self.spec.max_episode_steps or np.inf
            late = np.flatnonzero(self._rows.lengths[:known] >= limit).tolist()
            if late:
                self._rows.begin(np.array(late))
            jumped = dict(state.get("jumped", ()))  # older states know of no jumps
            self._jumped = {row: seed for row, seed in jumped.items() if row < known and row not in late}
        return {self._key: self._rows.obs.copy()}, None, [*late, *range(known, self.num_envs)]

    def configure(self, rows: Sequence[int], options: dict[str, Any] | None) -> None:
        if options:
            raise refuse(self.backend, "takes no reset options")

    def snapshots(self, rows: Sequence[int]) -> list[Snapshot | None]:
        return [{"kind": "compiled", "name": self._kind.name, **self._rows.capture_row(row)} for row in rows]

    def jump(
        self, rows: Sequence[int], snapshots: Sequence[Snapshot], seeds: Sequence[int]
    ) -> tuple[Obs, None, list[int]]:
        restarted = []
        for row, snapshot, seed in zip(rows, snapshots, seeds, strict=True):
            self._jumped.pop(row, None)
            if snapshot["kind"] == "compiled" and snapshot["name"] == self._kind.name:
                self._rows.restore_row(row, snapshot)
                self._jumped[row] = seed
            else:
                self._rows.reseed(row, seed)
                self._rows.begin(np.array([row]))
                restarted.append(row)
        return {self._key: self._rows.obs.copy()}, None, restarted

    def render(self) -> list[Array]:
        return []

    def close(self) -> None: ...


BACKEND = Backend(compiled_obstacle, CompiledEnvs.make, jumps=True)
