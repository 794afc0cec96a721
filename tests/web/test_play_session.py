"""A session of play without its page: who acts, what counts as a step, what is kept."""

import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from minari import MinariDataset
from minari.dataset.minari_storage import MinariStorage

import gymsolve
from gymsolve.apps.play import clock as clocks
from gymsolve.apps.play.clock import Clock
from gymsolve.apps.play.opening import open_request, read_request
from gymsolve.apps.play.person import serve
from gymsolve.apps.play.players import PolicyPlayer
from gymsolve.apps.play.role import Seat
from gymsolve.apps.playback import play as play_moments
from gymsolve.apps.serve import GoneError
from gymsolve.cli import main
from gymsolve.envs.describe import describe_env
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.envs.render_env import Scene
from gymsolve.errors import GymsolveError
from gymsolve.recipes import resolve
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.episodes import load_episode
from gymsolve.runs.files import replace_text
from gymsolve.training.engines.choose import choose_engine

sys.path.insert(0, str(Path(__file__).parent))

QUICK = {"steps": 1024, "eval.every": 512, "eval.episodes": 2, "checkpoint.every": 512, "solved_at": 1e9}
Script = Callable[["Tab"], Iterator[dict[str, Any] | list[dict[str, Any]] | Callable[[], bool]]]


class Tab:
    """The other end of a session: sends what its script says, and shows every picture at once.

    A script gives messages, lists of messages that come at once, and conditions that it waits for.
    """

    def __init__(self, script: Script) -> None:
        self.heard: list[dict[str, Any]] = []
        self._inbox: deque[dict[str, Any]] = deque()
        self._script, self._condition = script(self), lambda: bool(self.frames)
        self._resting = False

    @property
    def frames(self) -> list[dict[str, Any]]:
        return self.of("frame")

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.heard if message["type"] == kind]

    def receive(self, timeout: float | None = None) -> dict[str, Any] | None:
        if not self._inbox and not self._resting and self._condition():
            self._go_on()
        self._resting = bool(self._inbox)  # after a message the session may act
        if self._inbox:
            return self._inbox.popleft()
        if timeout is not None:
            time.sleep(timeout)
            return None
        assert self._condition(), "the session waits for ever, and the script for the session"
        return self.receive(timeout)

    def _go_on(self) -> None:
        wanted = next(self._script, None)
        if wanted is None:
            raise GoneError
        if callable(wanted):
            self._condition = wanted
        else:
            self._inbox.extend(wanted if isinstance(wanted, list) else [wanted])

    def send(self, message: dict[str, Any], blob: bytes = b"") -> None:
        self.heard.append({**message, "blob": len(blob)})
        if message["type"] == "frame":
            self._inbox.append({"type": "ack", "frame": message["frame"]})


def perform(request: dict[str, Any], script: Script) -> Tab:
    tab = Tab(script)
    with pytest.raises(GoneError):
        serve(tab, request)
    return tab


def press(*keys: str) -> Iterator[dict[str, Any]]:
    """Tap keys one after the other, each down and up."""
    for number, key in enumerate(keys):
        yield {"type": "keys", "pressed": [key], "id": 2 * number + 1}
        yield {"type": "keys", "pressed": [], "id": 2 * number + 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return gymsolve.train("CartPole-v1", QUICK, runs_dir=tmp_path_factory.mktemp("runs")).run


@pytest.mark.parametrize("mode", ["policy", "untrained", "random"])
def test_episodes_count_in_every_mode_and_stop_after_so_many(run, mode):
    def script(tab):
        yield {"type": "speed", "factor": 0}
        yield lambda: len(tab.of("episode")) == 2 and tab.frames[-1]["end"] is not None
        yield {"type": "stats"}  # the session waits: there is nothing else to do

    tab = perform({"run": run.id, "runs_dir": str(run.path.parent), "mode": mode, "episodes": 2}, script)
    assert [one["number"] for one in tab.of("episode")] == [1, 2]
    assert [one["done"] for one in tab.of("episode")] == [False, True]
    assert tab.frames[-1]["waits"] == "done"
    assert tab.frames[-1]["who"] == mode


@pytest.mark.parametrize(("asked", "sampled"), [({}, True), ({"sampled": False}, False)])
def test_a_policy_acts_as_it_was_judged_unless_told_otherwise(tmp_path, asked, sampled):
    judged = gymsolve.train("CartPole-v1", QUICK | {"eval.deterministic": False}, runs_dir=tmp_path).run
    request = {"run": judged.id, "runs_dir": str(tmp_path), "paused": True, **asked}
    (told,) = {one["sampled"] for one in perform(request, lambda tab: iter([{"type": "stats"}])).of("state")}
    assert told is sampled


def test_a_person_is_asked_for_every_step_and_episodes_count(tmp_path):
    def script(tab):
        yield from press(*["left"] * 60)
        yield {"type": "reset"}  # after the last episode that was asked for, there may be more
        yield from press("right")

    request = {"env": "CartPole-v1", "seed": 1, "paused": True, "episodes": 3, "runs_dir": str(tmp_path)}
    tab = perform(request, script)
    played = tab.of("episode")
    assert [one["number"] for one in played] == [1, 2, 3]
    assert [one["raw_return"] for one in played] == [one["length"] for one in played]
    assert (tab.frames[-1]["episode"], tab.frames[-1]["step"]) == (4, 1)
    assert tab.frames[-1]["action"] == "right"


def test_a_policy_plays_as_in_a_video_of_the_same_seed(run):
    def script(tab):
        yield {"type": "speed", "factor": 0}
        yield lambda: len(tab.of("episode")) >= 1

    tab = perform({"run": run.id, "runs_dir": str(run.path.parent), "seed": 5, "episodes": 1}, script)
    policy = gymsolve.load_policy(run).policy
    stage = open_render_env(resolve("CartPole-v1").config.env)
    *_, last = play_moments(policy, stage, seed=5, rng=None, episodes=1)
    stage.close()
    assert tab.of("episode")[0]["raw_return"] == last.scene.raw_return
    assert all(frame["value"] is not None for frame in tab.frames if frame["end"] is None)


def test_a_tap_between_two_steps_counts_for_one(tmp_path):
    def script(tab):
        yield list(press("left"))
        yield lambda: tab.frames[-1]["step"] >= 3
        yield {"type": "pause", "on": True}

    tab = perform({"env": "MountainCar-v0", "seed": 1, "runs_dir": str(tmp_path)}, script)
    assert tab.frames[0]["waits"] == "begin"
    done = {frame["step"]: frame["action"] for frame in tab.frames}
    assert [done[1], done[2], done[3]] == ["left", "coast", "coast"]
    assert tab.frames[1]["input"] == 2


def test_what_a_mask_forbids_is_refused_and_takes_no_step(tmp_path):
    def script(tab):
        yield from press("0", "1", "1", "2", "0", "2")

    tab = perform({"env": "own_envs:Masked-v0", "runs_dir": str(tmp_path)}, script)
    assert [one["text"].partition(" ")[0] for one in tab.of("refusal")] == ["0", "1"]
    last = tab.frames[-1]
    assert last["step"] == 4
    assert last["raw_return"] == 1 + 2 + 0 + 2
    assert last["legal"] == [True, False, True]
    assert last["table"] == [["obs", "4"]]
    assert last["blob"] == 0


@pytest.mark.parametrize("mode", ["untrained", "random"])
def test_masks_bind_an_untrained_policy_and_chance(tmp_path, mode):
    def script(tab):
        yield {"type": "speed", "factor": 0}
        yield lambda: len(tab.of("episode")) >= 8

    tab = perform({"env": "own_envs:Masked-v0", "mode": mode, "runs_dir": str(tmp_path)}, script)
    assert {one["length"] for one in tab.of("episode")[:8]} == {10}


def test_the_newest_checkpoint_is_followed_from_the_next_episode_on(run, tmp_path):
    copy = tmp_path / "runs" / run.id
    shutil.copytree(run.path, copy)
    first, *_, last = list_checkpoints(run)
    assert first != last
    replace_text(copy / "checkpoints" / "last", first)

    def script(tab):
        yield {"type": "speed", "factor": 0}
        yield lambda: len(tab.of("episode")) >= 1
        replace_text(copy / "checkpoints" / "last", last)
        yield lambda: len(tab.of("episode")) >= 2
        yield {"type": "stats"}

    request = {"run": run.id, "mode": "policy", "follow": True, "checkpoint": first}
    tab = perform({**request, "runs_dir": str(copy.parent)}, script)
    assert tab.of("state")[0]["checkpoint"] == first
    assert tab.of("state")[-1]["checkpoint"] == last


def test_who_acted_and_what_the_policy_wanted_is_kept_and_exported(run, tmp_path, capsys):
    def script(tab):
        yield {"type": "step"}
        yield {"type": "takeover", "on": True}
        yield from press("left", "right", "left")
        yield {"type": "takeover", "on": False}
        yield {"type": "speed", "factor": 0}
        yield {"type": "pause", "on": False}
        yield lambda: len(tab.of("episode")) >= 1

    runs_dir = tmp_path / "runs"
    shutil.copytree(run.path, runs_dir / run.id)
    request = {"run": run.id, "runs_dir": str(runs_dir), "seed": 2, "paused": True, "record": True}
    tab = perform({**request, "episodes": 1}, script)
    (played,) = tab.of("episode")
    kept = load_episode(Path(played["kept"]))
    assert kept.who.tolist() == ["policy", *["person"] * 3, *["policy"] * (played["length"] - 4)]
    assert kept.actions[1:4].tolist() == [0, 1, 0]
    policy = gymsolve.load_policy(run).policy
    np.testing.assert_array_equal(
        kept.proposed, policy.choose({"obs": kept.obs["obs"][:-1]}, None).actions[:, 0]
    )
    np.testing.assert_array_equal(kept.actions[kept.who == "policy"], kept.proposed[kept.who == "policy"])
    assert Path(played["kept"]).parent == runs_dir / run.id / "episodes"

    assert main(["demos", "--runs-dir", str(runs_dir)]) == 0
    assert main(["demos", "show", "played", "--runs-dir", str(runs_dir)]) == 0
    assert "person 3 steps" in capsys.readouterr().out
    places = ["--out", str(tmp_path / "sets"), "--runs-dir", str(runs_dir)]
    assert main(["demos", "export", "--name", "cartpole/people-v0", *places]) == 0
    assert main(["demos", "export", "--name", "cartpole/people-v0", *places]) == 2  # never overwritten
    assert main(["demos", "export", "--name", "people", *places]) == 2
    assert main(["demos", "export", "Pong", "--name", "b-v0", *places]) == 2
    _read_back(kept, tmp_path / "sets")

    odd = Path(played["kept"]).with_name("played-odd.npz")
    for facts in ("[]", "{}", '{"return": "much"}', "x"):  # a file may come from anybody
        np.savez(odd, facts=np.array(facts))
        assert main(["demos", "--runs-dir", str(runs_dir)]) == 0
        assert main(["demos", "show", "odd", "--runs-dir", str(runs_dir)]) == 1
        assert main(["demos", "export", "odd", "--name", "odd-v0", *places]) == 1


def _read_back(kept, folder):
    storage = MinariStorage.read(folder / "cartpole" / "people-v0" / "data")
    (episode,) = MinariDataset(storage).iterate_episodes()
    np.testing.assert_array_equal(episode.observations, kept.obs["obs"])
    np.testing.assert_array_equal(episode.actions, kept.actions)
    np.testing.assert_array_equal(episode.rewards, kept.rewards)
    assert episode.terminations.tolist() == [False] * (len(kept.rewards) - 1) + [True]
    assert episode.infos["by_person"][:-1].tolist() == (kept.who == "person").tolist()


@pytest.mark.parametrize(("name", "did"), [("CartPole-v1", [1]), ("Pendulum-v1", [[0.5]])])
def test_a_policy_remembers_what_was_really_done(name, did):
    """A policy that is told its last action hears of the person's, exactly as if it were its own."""
    overrides = {"net.memory.size": 4, "net.memory.inputs": ["action", "reward"]}
    config = resolve(name, overrides).config
    spec = describe_env(config.env, "play")
    policy = choose_engine(config, spec).build(config, spec).policy
    obs = {"obs": np.zeros((1, *spec.obs["obs"].shape), np.float32)}
    scene = Scene(obs, None, 0.0, 0.0, False, False)
    memories = []
    for seed in range(20):  # until it happens to choose that action itself
        player = PolicyPlayer(policy, np.random.default_rng(seed))
        if name == "CartPole-v1" and player.choose(scene).tolist() == did:
            memories.append(player._agent.memory)
            break
    overruled = PolicyPlayer(policy, np.random.default_rng(0))
    overruled.choose(scene)
    overruled.see(np.array(did, spec.action.dtype))
    if memories:
        np.testing.assert_array_equal(overruled._agent.memory, memories[0])
    else:
        assert overruled._agent.memory[0, -2] == 0.25  # of a range from -2 to 2


def test_an_environment_that_fails_is_told_and_its_pictures_may_fail(tmp_path):
    def script(tab):
        yield from press("x", "x", "x", "x")

    shown = perform({"env": "own_envs:Unshown-v0", "paused": True, "runs_dir": str(tmp_path)}, script)
    (note,) = shown.of("note")
    assert "float64" in note["text"]
    assert "render() return an array" in note["hint"]
    assert shown.frames[-1]["table"][0] == ["obs 0", "1"]
    blind = perform({"env": "Bandit-v0", "paused": True, "runs_dir": str(tmp_path)}, script).of("ready")
    assert "render mode rgb_array" in blind[0]["undrawn"]
    assert shown.frames[-1]["raw_return"] == 4

    with pytest.raises(GymsolveError, match="the wheel came off"):
        serve(Tab(script), {"env": "own_envs:Broken-v0", "paused": True, "runs_dir": str(tmp_path)})


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({}, "either an environment or a run"),
        ({"env": "CartPole-v1", "run": "@last"}, "either an environment or a run"),
        ({"env": "CartPole-v1", "mode": "human"}, "no mode 'human'"),
        ({"env": "CartPole-v1", "mode": "policy"}, "an environment has no policy"),
        ({"env": "CartPole-v1", "seed": "abc"}, "whole number"),
        ({"env": "CartPole-v1", "episodes": 0}, "whole number"),
        ({"env": "CartPole-v1:sac"}, "sac"),
        ({"env": "Nowhere-v0"}, "Nowhere-v0"),
        ({"env": 3}, "not a name"),
        ({"run": "nothing"}, "nothing"),
        ({"run": "/tmp/elsewhere"}, "is a path"),
        ({"run": ".."}, "is a path"),
    ],
)
def test_wrong_requests_are_refused_in_a_sentence(tmp_path, request_, told):
    with pytest.raises(GymsolveError, match=told):
        serve(Tab(lambda tab: iter(())), {**request_, "runs_dir": str(tmp_path)})


def test_a_run_without_checkpoints_has_no_policy_yet(run, tmp_path):
    shutil.copytree(run.path, tmp_path / run.id)
    shutil.rmtree(tmp_path / run.id / "checkpoints")
    request = {"run": run.id, "runs_dir": str(tmp_path)}
    with pytest.raises(GymsolveError, match="no checkpoint yet"):
        serve(Tab(lambda tab: iter(())), request)
    assert main(["play", run.id, "--no-open", "--runs-dir", str(tmp_path)]) == 2

    def script(tab):
        yield {"type": "speed", "factor": 0}
        yield lambda: len(tab.of("episode")) >= 1

    # Who follows it sees where it begins; who plays it needs no policy.
    assert perform({**request, "follow": True}, script).of("episode")
    assert perform({**request, "mode": "you"}, lambda tab: iter(())).frames


def test_a_late_step_moves_all_later_ones(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(clocks.time, "monotonic", lambda: now[0])
    clock = Clock(10.0)
    assert clock.tick() == 100.0
    now[0] = 100.13  # late by less than half a period: the beat stays
    assert clock.tick() == pytest.approx(100.1)
    assert (clock.late, clock.wait()) == (0, pytest.approx(0.07))
    now[0] = 101.0  # a second was lost, and nobody makes up for it
    assert clock.tick() == 101.0
    assert (clock.late, clock.wait()) == (1, pytest.approx(0.1))
    clock.speed = 0
    now[0] = 102.0
    clock.tick()
    assert (clock.late, clock.wait()) == (1, 0.0)


def test_a_change_that_fails_leaves_the_player_with_its_memory(run):
    wanted = read_request({"run": run.id, "runs_dir": str(run.path.parent), "mode": "policy"})
    opened = open_request(wanted)
    seat = Seat(opened, wanted, np.random.default_rng(0))
    player, before = seat.player, seat.checkpoint
    with pytest.raises(GymsolveError):
        seat.take("777")
    assert (seat.player, seat.checkpoint) == (player, before)
    seat.change("you", False)  # the same policy goes on, as the person's adviser
    assert seat.player is player
    opened.render_env.close()
