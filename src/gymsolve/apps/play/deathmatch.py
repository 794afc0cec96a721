"""Doom against agents: a person hosts a deathmatch, and policies join it as other players.

ViZDoom plays such games over a port of this machine. Every player has an engine of its own, and a tic waits
for all of them, so a policy that acts every fourth tic and a person who acts in each stay together. Each
opponent runs in a process of its own. Every episode is a new game, since an engine cannot join a second one.
"""

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gymsolve.envs.contract import Snapshot
from gymsolve.envs.open_render_env import open_play_env, open_render_env
from gymsolve.envs.processes import WATCH, OwnProcess
from gymsolve.envs.render_env import PlayEnv, Scene
from gymsolve.errors import EngineDiedError, EnvFaultError, GymsolveError, UsageError
from gymsolve.experience.agent import Agent
from gymsolve.runs.refs import open_checkpoint
from gymsolve.runs.trust import buildable_settings
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import Array
from gymsolve.training.engines.choose import load_policy

ARENA = "VizdoomDeathmatch-v1"
"""The environment that names such a game."""
_MAP = {"doom_scenario_path": "multi_deathmatch.wad", "doom_map": "map01", "episode_timeout": 0}
"""An arena with places to start for several players; the scenario that agents train in has one."""
_BUTTONS = [
    "ATTACK",
    "SPEED",
    "MOVE_FORWARD",
    "MOVE_BACKWARD",
    "MOVE_LEFT",
    "MOVE_RIGHT",
    "TURN_LEFT",
    "TURN_RIGHT",
    "SELECT_NEXT_WEAPON",
]
_SHOWN = ["HEALTH", "ARMOR", "SELECTED_WEAPON_AMMO", "FRAGCOUNT", "PLAYER_COUNT"]
_RULES = "-deathmatch +sv_forcerespawn 1 +sv_noautoaim 1 +sv_respawnprotect 1 +viz_nocheat 1"
_MOST = 7
_MINUTES = 10
_PATIENCE = 1.0


class Opponent(NamedTuple):
    """A policy that joins, and the environment that it was trained in."""

    name: str
    """Its run's id."""
    checkpoint: str
    """A ref that `open_checkpoint` understands."""
    env: EnvConfig
    likeliest: bool
    """Take the likeliest actions, as the evaluations of its run; else sample them."""


def find_opponents(refs: Sequence[str], runs_dir: Path | None) -> list[Opponent]:
    """The policies of some runs; a run that cannot play Doom is refused."""
    if not 1 <= len(refs) <= _MOST:
        raise UsageError(f"a deathmatch has 1 to {_MOST} opponents.", where="against")
    opponents: list[Opponent] = []
    for ref in refs:
        run, saved = open_checkpoint(ref, runs_dir, policy_only=True)
        config = buildable_settings(run)[0]
        env = config.env
        if not env.id.startswith("Vizdoom"):
            message = f"run {run.id} was trained in {env.id} and cannot play Doom."
            raise UsageError(message, where="against", hint="Name a run of a Vizdoom… environment.")
        opponents.append(Opponent(run.id, f"{run.path}@{saved.name}", env, config.eval.deterministic))
    return opponents


class Deathmatch:
    """The person's side of a game, as an environment to play."""

    def __init__(self, opponents: Sequence[Opponent], *, minutes: int = _MINUTES) -> None:
        self._opponents, self._minutes = list(opponents), minutes
        self._render_env: PlayEnv | None = None
        self._processes: list[OwnProcess] = []
        self._plain = _person_env("")
        single = open_play_env(self._plain)
        self.labels, self.fps, self.spec = single.labels, single.fps, single.spec
        self.undrawn, self.turns, self.obs_names = single.undrawn, single.turns, single.obs_names
        self.writes = single.writes
        single.close()

    def reset(self, seed: int | None) -> Scene:
        """Begin a new game; it starts when everybody has joined."""
        self.close()
        port, players = _free_port(), 1 + len(self._opponents)
        self._processes = [
            OwnProcess(_join, opponent, port, number, daemon=False, fork=False)
            for number, opponent in enumerate(self._opponents, 1)
        ]
        rules = f"-host {players} -port {port} {_RULES} +timelimit {self._minutes} +name person +colorset 0"
        self._render_env = open_play_env(_person_env(rules), like=self._plain)
        scene = self._render_env.reset(seed)
        self._watch(self._render_env, [process.connection for process in self._processes])
        return scene

    def step(self, actions: Array) -> Scene:
        assert self._render_env is not None
        try:
            return self._render_env.step(actions)
        except EngineDiedError as error:
            for process, opponent in zip(self._processes, self._opponents, strict=True):
                if process.connection.poll():
                    message, hint = _last_words(process, opponent), "Start again for a new game."
                    raise EnvFaultError(message, where="against", hint=hint) from error
            raise

    def write(self) -> str:
        raise AssertionError("Doom draws pictures")

    def save(self) -> None:
        """A game with others has no snapshots."""

    def load(self, saved: Snapshot) -> None:
        raise AssertionError("nothing was saved")

    def interrupt(self) -> None:
        if self._render_env is not None:
            self._render_env.interrupt()

    @staticmethod
    def _watch(render_env: PlayEnv, connections: list[Connection]) -> None:
        """Interrupt the environment when a player is gone: a tic waits for all players."""

        def watch() -> None:
            with suppress(OSError):  # the game is over, and its connections are closed
                wait(connections)
                render_env.interrupt()

        threading.Thread(target=watch, daemon=True, name=f"{WATCH} opponents").start()

    def render(self) -> Array:
        assert self._render_env is not None
        return self._render_env.render()

    def close(self) -> None:
        if self._render_env is not None:
            self._render_env.close()
        for process in self._processes:
            process.end(_PATIENCE)
        self._render_env, self._processes = None, []


def _last_words(process: OwnProcess, opponent: Opponent) -> str:
    try:
        reason = process.connection.recv()
    except (EOFError, OSError):
        reason = f"its process {process.describe_end()}."
    return f"the opponent {opponent.name} has left the game: {reason}"


def _person_env(arguments: str) -> EnvConfig:
    kwargs = {
        **_arena(arguments),
        "frame_skip": 1,
        "screen_resolution": "RES_320X240",
        "max_buttons_pressed": 0,
        "frag_reward": 1.0,
        "render_hud": True,
        "available_game_variables": _SHOWN,
    }
    wrappers = [{"doom_axes": {"buttons": _BUTTONS}}]
    return EnvConfig.model_validate({"id": ARENA, "kwargs": kwargs, "wrappers": wrappers})


def _arena(arguments: str) -> dict[str, Any]:
    return {**_MAP, "game_args": arguments} if arguments else {**_MAP}


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# ------------------------------------------------------------------------- the process of an opponent


def _join(owner: Connection, opponent: Opponent, port: int, number: int) -> None:
    """Join a game and play until it ends or its owner is gone."""
    try:
        _play(owner, opponent, port, number)
    except GymsolveError as error:
        owner.send(str(error))


def _play(owner: Connection, opponent: Opponent, port: int, number: int) -> None:
    run, saved = open_checkpoint(opponent.checkpoint, None, policy_only=True)
    config = buildable_settings(run)[0]
    policy = load_policy(saved.policy, saved.policy_metadata, config, threads=1)
    arguments = f"-join 127.0.0.1 -port {port} +name agent{number} +colorset {number}"
    plain = opponent.env
    joined = plain.model_copy(update={"kwargs": {**plain.kwargs, **_arena(arguments)}})
    render_env = open_render_env(joined, like=plain)
    assert render_env is not None
    agent, rng = Agent(policy, 1), None if opponent.likeliest else np.random.default_rng(number)
    try:
        scene = render_env.reset(number)
        while not (scene.terminated or owner.poll()):
            chosen = agent.choose(scene.obs, scene.masks, rng)
            scene = render_env.step(policy.spec.action.to_env(chosen))
            agent.hear(np.array([scene.reward]))
    finally:
        render_env.close()
