"""A session of the page `play`: a person, a policy or chance acts in one environment, and the page shows it.

The environment runs in its own time. All steps are taken; pictures may be left out, since only one is on its
way to the page at a time. An environment waits for a key if it has no time of its own, while it is paused,
before the first key of an episode, and where no key is pressed and there is no idle action.
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
"""The end of an episode stays on the screen for so many seconds."""
_FASTEST = 8.0
_AT_END = ("raw_return", "shaped_return", "end")


def serve(talk: Talk, request: dict[str, Any]) -> None:
    """Play until the page is gone."""
    wanted = read_request(request)
    opened = open_request(wanted)
    with Watchdog(opened.config.env, on_wait=noting(talk)), closing(opened.render_env):
        PlaySession(talk, wanted, opened).run()


class PlaySession:
    """One environment, and the person or player that acts in it."""

    def __init__(self, channel: Talk, wanted: Request, opened: Opened) -> None:
        self._channel, self._opened, self._render_env = channel, opened, opened.render_env
        self._seed = wanted.seed if wanted.seed is not None else int(np.random.default_rng().integers(2**31))
        self._rng = np.random.default_rng(self._seed)
        self._controls = find_controls(
            opened.config.env.id, self._render_env.labels, self._render_env.spec.action
        )
        self._pressed = Pressed()
        self._clock = Clock(self._render_env.fps)
        self._demo = Demonstration(opened, wanted.runs_dir, self._controls.action)
        self._demo.wanted = wanted.record
        self._paused, self._helping = wanted.paused, False
        self._asked, self._played = wanted.episodes, 0
        self._screen = Screen(channel, self._render_env, self._facts)
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
        """The person acts."""
        return self._seat.mode == "you" or self._helping

    @property
    def _stepwise(self) -> bool:
        """Each key makes one step."""
        return self._paused or (self._mine and self._render_env.turns)

    @property
    def _over(self) -> bool:
        return self._episode.end is not None

    @property
    def _done(self) -> bool:
        """All requested episodes have been played."""
        return self._asked is not None and self._played >= self._asked

    @property
    def _runs(self) -> bool:
        """Steps follow each other without a key."""
        if self._stepwise or (self._over and self._done):
            return False
        if not self._mine or self._over:
            return True
        return self._episode.begun and self._pressed.read(self._controls) is not None

    def _wait(self) -> float | None:
        """Seconds until the next step or picture is due; None while only a message can change anything."""
        times = [self._screen.wait(), self._clock.wait() if self._runs else None]
        return min((seconds for seconds in times if seconds is not None), default=None)

    # ------------------------------------------------------------------------------------ episodes

    def _begin(self, seed: int | None) -> None:
        """Begin an episode; without a seed, the next one of the environment."""
        self._keep("cut")
        if seed is not None:
            self._seed = seed
        if self._seat.behind:
            self._try(self._seat.take_newest)
            self._tell_state()
        scene = self._render_env.reset(seed)
        if self._seat.player is not None:
            self._seat.player.begin()
        self._episode = Episode(scene, self._render_env.spec.components, self._seat.value(scene))
        facts = {"seed": self._seed, "episode": self._played + 1}
        self._demo.begin(scene, self._episode.value, facts)
        self._clock.restart(self._clock.period)
        self._screen.plan(scene, time.monotonic(), self._clock.period)

    def _take_step(self, due: float) -> None:
        """Take one step, or begin the next episode where the last one is over."""
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
        scene = self._render_env.step(chosen)
        self._episode.add(scene, self._render_env.labels.describe(chosen[0]), who)
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
        result = {name: value for name, value in episode.facts().items() if name in _AT_END}
        self._say("episode", number=self._played, length=episode.step, **result, kept=kept, done=self._done)
        self._clock.restart(_HOLD / (self._clock.speed or _FASTEST))

    def _keep(self, end: str) -> str | None:
        """Store the episode if it is wanted; returns the path of its file, or None."""
        try:
            return self._demo.finish(end)
        except RunDamagedError as error:
            self._say("note", text=f"the episode is not kept: {error}")
            return None

    def _refuses(self, action: Array) -> bool:
        """The action is forbidden here: the page says so, and no step is taken."""
        if not self._controls.forbidden(action, self._episode.scene.masks):
            return False
        label = self._render_env.labels.describe(action[0])
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
        """Change who acts, for how many episodes, and whether they are stored."""
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
        """Make a change; where it fails, the page gets the error and nothing changes."""
        try:
            change()
        except GymsolveError as error:
            self._say("note", text=error.args[0], hint=error.hint)

    def _press(self, message: dict[str, Any]) -> None:
        """Take pressed keys; where the environment waits, a new key makes a step."""
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
        """A word for the event that the session waits for; None while it does not wait."""
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
        """Send the page the state of its controls."""
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
    """Facts about the environment, for a new page."""
    render_env = opened.render_env
    return {
        "name": opened.name,
        "env": opened.config.env.id,
        "run": None if opened.run is None else opened.run.id,
        "labels": list(render_env.labels.names),
        "fps": render_env.fps,
        "turns": render_env.turns,
        "components": list(render_env.spec.components),
    }


def _seed_in(message: dict[str, Any]) -> int | None:
    seed = message.get("seed")
    return seed if isinstance(seed, int) and 0 <= seed < 2**31 else None


def _speed_in(message: dict[str, Any]) -> float:
    speed = message.get("factor")
    if isinstance(speed, bool) or not isinstance(speed, int | float) or not math.isfinite(speed):
        return 1.0
    return min(max(float(speed), 0.0), _FASTEST)
