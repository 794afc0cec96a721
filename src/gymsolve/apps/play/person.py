"""A session of the page `play`: a person, a policy or chance acts in one environment, and the page shows it.

Time is the environment's own. A person's steps are never left out, only pictures are: one is under way to the
page at a time. Environments that have no time of their own wait for a key; so do all others while they are
paused, before the first key of an episode, and where nothing is pressed and no action does nothing.
"""

import math
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from gymsolve.apps.play.clock import Clock
from gymsolve.apps.play.demonstration import Demonstration
from gymsolve.apps.play.episode import Episode
from gymsolve.apps.play.keys import Pressed
from gymsolve.apps.play.opening import MODES, Opened, Request, open_request, read_request
from gymsolve.apps.play.role import Seat
from gymsolve.apps.play.screen import Screen
from gymsolve.apps.serve import Talk, noting
from gymsolve.envs.controls import find_controls
from gymsolve.errors import GymsolveError, RunDamagedError
from gymsolve.spec import Array
from gymsolve.training.watchdog import Watchdog

_HOLD = 1.0
"""Seconds for which the end of an episode stays on the screen."""
_FASTEST = 8.0
_TOLD_AT_END = ("raw_return", "shaped_return", "end")


def serve(talk: Talk, request: dict[str, Any]) -> None:
    """Play until nobody listens any more."""
    wanted = read_request(request)
    opened = open_request(wanted)
    with Watchdog(opened.config.env, on_wait=noting(talk)), closing(opened.stage):
        PlaySession(talk, wanted, opened).run()


class PlaySession:
    """One environment, and whoever acts in it."""

    def __init__(self, channel: Talk, wanted: Request, opened: Opened) -> None:
        self._channel, self._opened, self._stage = channel, opened, opened.stage
        self._seed = wanted.seed if wanted.seed is not None else int(np.random.default_rng().integers(2**31))
        self._rng = np.random.default_rng(self._seed)
        self._controls = find_controls(opened.config.env.id, self._stage.labels, self._stage.spec.action)
        self._pressed = Pressed()
        self._clock = Clock(self._stage.fps)
        self._demo = Demonstration(opened, wanted.runs_dir, self._controls.action)
        self._demo.wanted = wanted.record
        self._paused, self._helping = wanted.paused, False
        self._asked, self._played = wanted.episodes, 0
        self._screen = Screen(channel, self._stage, self._facts)
        self._episode: Episode
        self._seat = Seat(opened, wanted, self._rng)

    # ------------------------------------------------------------------------------------ the loop

    def run(self) -> None:
        """Serve until the page is gone."""
        self._tell_ready()
        try:
            self._begin(self._seed)
            while True:
                self._screen.show(self._episode.scene, hurry=self._stepwise)
                message = self._channel.receive(self._wait())
                while message is not None:
                    self._hear(message)
                    message = self._channel.receive(0)
                if self._runs and not self._clock.wait():
                    self._take_step(self._clock.tick())
        finally:
            self._demo.finish("cut")

    @property
    def _mine(self) -> bool:
        """Does the person act?"""
        return self._seat.mode == "you" or self._helping

    @property
    def _stepwise(self) -> bool:
        """Does each key make one step?"""
        return self._paused or (self._mine and self._stage.turns)

    @property
    def _over(self) -> bool:
        return self._episode.end is not None

    @property
    def _done(self) -> bool:
        """Have all episodes been played that were asked for?"""
        return self._asked is not None and self._played >= self._asked

    @property
    def _runs(self) -> bool:
        """Do steps come by themselves?"""
        if self._stepwise or (self._over and self._done):
            return False
        if not self._mine or self._over:
            return True
        return self._episode.begun and self._pressed.read(self._controls) is not None

    def _wait(self) -> float | None:
        """Seconds until something is to be done; None where only the page can bring something."""
        times = [self._screen.wait(), self._clock.wait() if self._runs else None]
        return min((one for one in times if one is not None), default=None)

    # ------------------------------------------------------------------------------------ episodes

    def _begin(self, seed: int | None) -> None:
        """Begin an episode; without a seed, the one that follows the last."""
        self._keep("cut")
        if seed is not None:
            self._seed = seed
        if self._seat.behind:
            self._try(self._seat.take_newest)
            self._tell_state()
        scene = self._stage.reset(seed)
        if self._seat.player is not None:
            self._seat.player.begin()
        self._episode = Episode(scene, self._stage.spec.components, self._seat.value(scene))
        facts = {"seed": self._seed, "episode": self._played + 1}
        self._demo.begin(scene, self._episode.value, facts)
        self._clock.restart(self._clock.period)
        self._screen.plan(scene, time.monotonic(), self._clock.period)

    def _take_step(self, due: float) -> None:
        """One step, or after the last one of an episode the next episode."""
        if self._over:
            if not self._done:
                self._begin(None)
            return
        action = self._pressed.take(self._controls) if self._mine else None
        if self._mine and (action is None or self._refuses(action)):
            return
        player = self._seat.player
        proposed = None if player is None else player.choose(self._episode.scene)
        who = "person" if self._mine else self._seat.mode
        chosen = action if action is not None else proposed
        assert chosen is not None
        self._pressed.note_latency(time.time())
        scene = self._stage.step(chosen)
        self._episode.add(scene, self._stage.labels.describe(chosen[0]), who)
        if player is not None:
            if action is not None:
                player.see(action)
            player.hear(scene.reward)
        self._episode.value = self._seat.value(scene)
        self._demo.add(scene, chosen, proposed, who, self._episode.value)
        self._played += self._over
        self._screen.plan(scene, due, self._clock.period)
        if self._over:
            self._end()

    def _end(self) -> None:
        episode = self._episode
        assert episode.end is not None
        kept = self._keep(episode.end)
        told = {name: value for name, value in episode.facts().items() if name in _TOLD_AT_END}
        self._say("episode", number=self._played, length=episode.step, **told, kept=kept, done=self._done)
        self._clock.restart(_HOLD / (self._clock.speed or _FASTEST))

    def _keep(self, end: str) -> str | None:
        """The place of the episode's file, if it was kept."""
        try:
            return self._demo.finish(end)
        except RunDamagedError as error:
            self._say("note", text=f"the episode is not kept: {error}")
            return None

    def _refuses(self, action: Array) -> bool:
        """Is the action forbidden here? Then it is said, and no step is taken."""
        if not self._controls.forbidden(action, self._episode.scene.masks):
            return False
        label = self._stage.labels.describe(action[0])
        self._say("refusal", text=f"{label} is not allowed here: no step was taken.")
        self._clock.restart(self._clock.period)
        return True

    # ------------------------------------------------------------------------------------ messages

    def _hear(self, message: dict[str, Any]) -> None:
        kind, on = message.get("type"), bool(message.get("on"))
        if kind == "keys":
            self._press(message)
        elif kind == "ack":
            self._screen.acknowledge()
        elif kind == "step":
            self._take_step(time.monotonic())
        elif kind == "pause":
            self._paused = on
            self._clock.wake()
        elif kind == "takeover":
            self._helping, self._episode.begun = on, True
            self._clock.wake()
        elif kind == "reset":
            self._begin(_seed_in(message))
        elif kind == "speed":
            self._clock.speed = _speed_in(message)
            self._clock.wake()
        else:
            self._settle(kind, message, on)

    def _settle(self, kind: Any, message: dict[str, Any], on: bool) -> None:
        """Who acts, for how long, and what is kept."""
        if kind == "mode" and message.get("mode") in MODES:
            self._helping = False
            self._try(lambda: self._seat.change(message["mode"], bool(message.get("sampled"))))
        elif kind == "checkpoint":
            self._seat.follow = False
            self._try(lambda: self._seat.take(str(message.get("name"))))
        elif kind == "follow":
            self._seat.follow = on
        elif kind == "episodes":
            count = message.get("count")
            self._asked = self._played + count if isinstance(count, int) and count > 0 else None
        elif kind == "record":
            self._demo.wanted = on
        elif kind == "stats":
            self._say("stats", steps=self._clock.steps, late=self._clock.late, waits=self._pressed.waits)
        else:
            self._say("note", text=f"the session does not know the message {str(kind)[:40]!r}.")
        self._clock.wake()
        self._tell_state()

    def _try(self, change: Callable[[], None]) -> None:
        """Make a change; what stands in its way is told, and all stays as it was."""
        try:
            change()
        except GymsolveError as error:
            self._say("note", text=error.args[0], hint=error.hint)

    def _press(self, message: dict[str, Any]) -> None:
        """Keys went down or up; where the environment waits, a new one makes a step."""
        if not self._pressed.hear(message) or not self._mine:
            return
        if self._stepwise:
            self._take_step(time.monotonic())
            self._pressed.drop_taps()
        elif not self._episode.begun or self._clock.due < time.monotonic() - self._clock.period:
            self._episode.begun = True
            self._clock.restart()

    # ------------------------------------------------------------------------------------ telling

    def _facts(self) -> dict[str, Any]:
        number = self._played + (0 if self._over else 1)
        return {
            **self._episode.facts(),
            "episode": number,
            "input": self._pressed.used,
            "waits": self._waits(),
        }

    def _waits(self) -> str | None:
        """What the session waits for, in words."""
        if self._over:
            return "done" if self._done else "next" if self._stepwise else None
        if not self._mine:
            return "paused" if self._paused else None
        if self._stepwise:
            return "paused" if self._paused else "turn"
        return None if self._runs else "begin" if not self._episode.begun else "key"

    def _tell_ready(self) -> None:
        controls = self._controls.to_json()
        self._say("ready", controls=controls, undrawn=self._screen.undrawn, **_introduce(self._opened))
        self._tell_state()

    def _tell_state(self) -> None:
        """What can be changed on the page, as it stands."""
        self._say(
            "state",
            **self._seat.facts(),
            paused=self._paused,
            takeover=self._helping,
            speed=self._clock.speed,
            seed=self._seed,
            asked=self._asked,
            played=self._played,
            record=self._demo.wanted,
        )

    def _say(self, kind: str, **facts: Any) -> None:
        self._channel.send({"type": kind, **facts})


def _introduce(opened: Opened) -> dict[str, Any]:
    """What is played, for a page that has just come."""
    stage = opened.stage
    return {
        "name": opened.name,
        "env": opened.config.env.id,
        "run": None if opened.run is None else opened.run.id,
        "labels": list(stage.labels.names),
        "fps": stage.fps,
        "turns": stage.turns,
        "components": list(stage.spec.components),
    }


def _seed_in(message: dict[str, Any]) -> int | None:
    seed = message.get("seed")
    return seed if isinstance(seed, int) and 0 <= seed < 2**31 else None


def _speed_in(message: dict[str, Any]) -> float:
    speed = message.get("factor")
    known = isinstance(speed, int | float) and not isinstance(speed, bool) and math.isfinite(speed)
    return min(max(float(speed or 0.0), 0.0), _FASTEST) if known else 1.0
