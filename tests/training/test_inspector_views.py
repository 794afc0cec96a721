"""What the inspector's page asks of a session beyond episodes: branches, keys, checkpoints, the network."""

import json
import struct
from collections import deque

import numpy as np
import pytest

import gymsolve
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.inspector.inspector import serve
from gymsolve.apps.serve import GoneError
from gymsolve.nn.policy import Policy
from gymsolve.nn.saliency import Asked, answers, gradients, occlude
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.inspections import open_inspection
from gymsolve.runs.loading import load_checkpoint

SMALL = {"steps": 600, "eval.every": 300, "eval.episodes": 2, "checkpoint.every": 300, "solved_at": 1e9}


class Page:
    """A page that asks one thing after the other and then goes away; JSON passes both ways as text."""

    def __init__(self, *messages):
        self.messages, self.told = deque(enumerate(messages)), []

    def receive(self, timeout=None):
        if timeout == 0:
            return None
        if not self.messages:
            raise GoneError
        number, message = self.messages.popleft()
        return json.loads(json.dumps({**message, "id": number}))

    def send(self, message, blob=b""):
        self.told.append((json.loads(json.dumps(message, allow_nan=False)), blob))

    def answers(self):
        return [(told, blob) for told, blob in self.told if told["type"] in ("done", "failed")]


def visit(run, first, *messages):
    page = Page(*messages)
    with pytest.raises(GoneError):
        serve(page, {"run": run.id, "runs_dir": str(run.path.parent), "seed": 3, **first})
    return page.answers()[0 if first else 1 :]


@pytest.fixture(scope="module", name="cartpole")
def _cartpole(tmp_path_factory):
    run = gymsolve.train("CartPole-v1", SMALL, runs_dir=tmp_path_factory.mktemp("cartpole")).run
    page = Page()
    with pytest.raises(GoneError):
        serve(page, {"run": run.id, "runs_dir": str(run.path.parent), "seed": 3})
    (episode,) = [told["episode"] for told, _ in page.told if told["type"] == "episode"]
    return run, episode["name"]


def test_a_person_takes_over_by_keys_and_gives_back(cartpole):
    run, name = cartpole
    old = InspectedEpisode(open_inspection(run, name))
    found = visit(
        run,
        {},
        {"type": "hand", "episode": name, "step": 5},
        {"type": "press", "pressed": ["left"]},
        {"type": "press", "pressed": ["right"]},
        {"type": "press", "pressed": ["right"]},
        {"type": "give_back"},
        {"type": "press", "pressed": ["right"]},
    )
    begun, left, *_, last, given, late = [told for told, _ in found]
    assert begun["controls"]["bindings"]
    assert (begun["hand"]["step"], left["hand"]["step"], last["hand"]["step"]) == (5, 6, 8)
    assert found[1][1][:2] == b"\xff\xd8"  # a JPEG
    assert (late["type"], late["text"]) == ("failed", "nobody has taken over.")
    child = InspectedEpisode(open_inspection(run, given["branch"]["child"]["name"]))
    assert child.column("action")[5:8, 0].tolist() == [0, 1, 1]
    assert np.flatnonzero(child.column("forced")).tolist() == [5, 6, 7]
    np.testing.assert_array_equal(child.obs["obs"][:6], old.obs["obs"][:6])
    assert left["hand"]["obs"]["obs"] == child.obs["obs"][6].tolist()


def test_an_action_is_forced_and_checkpoints_are_compared(cartpole):
    run, name = cartpole
    old = InspectedEpisode(open_inspection(run, name))
    other = 1 - int(old.column("action")[2, 0])
    first, *_ = list_checkpoints(run)
    found = visit(
        run,
        {},
        {"type": "branch", "episode": name, "step": 2, "action": [other]},
        {"type": "across", "episode": name, "checkpoints": [first]},
        {"type": "across", "episode": name, "checkpoints": []},
        {"type": "branch", "episode": name, "step": 2, "action": "left"},
        {"type": "branch", "episode": "../../x", "step": 2, "action": [0]},
        {"type": "across", "episode": name, "checkpoints": ["999999"]},
    )
    branch, across, *failed = [told for told, _ in found]
    assert branch["branch"]["step"] == 2
    assert branch["branch"]["parent"]["name"] == name
    assert branch["branch"]["child"]["action"] == [other]
    assert [one["checkpoint"] for one in across["compared"]] == [old.facts["checkpoint"], first]
    assert [told["type"] for told in failed] == ["failed"] * 4
    assert all(told["text"] for told in failed)


CASES = {
    "numbers": ("CartPole-v1", {}),
    "picture": ("MinAtar/Breakout-v1:cnn", {"env.num_envs": 2}),
    "remembers": ("CartPole-v1:positions", {"net.memory.size": 4}),
}


def unpack(told, blob):
    """Arrays by name, as the page reads them."""
    found = {}
    for place in told["arrays"]:
        count = int(np.prod(place["shape"], dtype=int))
        raw = struct.unpack_from(f"<{count}f", blob, place["at"])
        found[place["name"]] = np.array(raw, np.float32).reshape(place["shape"])
    return found


@pytest.mark.parametrize("kind", CASES)
def test_the_network_is_looked_into_as_its_functions_say(kind, tmp_path):
    env, more = CASES[kind]
    run = gymsolve.train(env, {**SMALL, **more}, runs_dir=tmp_path).run
    page = Page()
    with pytest.raises(GoneError):
        serve(page, {"run": run.id, "runs_dir": str(tmp_path), "seed": 0, "steps": 30})
    name = page.told[-2][0]["episode"]["name"]
    episode, state = InspectedEpisode(open_inspection(run, name)), 3
    about = {"type": "look", "episode": name, "state": state}
    last = {**about, "what": "saliency", "state": len(episode)}
    found = visit(
        run,
        {},
        {**about, "what": "network"},
        {**about, "what": "saliency"},
        {**about, "what": "dead"},
        last,
        {**about, "what": "layer", "layer": "nowhere"},
        {**about, "what": "saliency", "state": 10_000},
        {**about, "what": "all"},
    )
    network, saliency, dead, at_end = [told for told, _ in found[:4]]
    assert [told["type"] for told, _ in found[3:]] == ["done", *["failed"] * 3]
    policy = Policy.from_arrays(*_saved(run, episode.facts["checkpoint"]))
    memory = None if episode.memory is None else episode.memory[state : state + 1].copy()
    asked = Asked(
        episode.observation(state), episode.column("action")[state : state + 1].copy(), None, memory
    )
    np.testing.assert_allclose([saliency["log_prob"], saliency["value"]], answers(policy, asked), rtol=1e-5)
    arrays = unpack(*found[1])
    for key, slope in gradients(policy, asked).items():
        np.testing.assert_allclose(arrays[f"gradient/value/{key}"], slope.value * slope.unit, rtol=1e-5)
    for key, covered in occlude(policy, asked).items():
        np.testing.assert_allclose(arrays[f"occlusion/action/{key}"], covered.action, rtol=1e-4, atol=1e-6)
    assert arrays
    assert at_end["label"] == ""
    assert set(dead["dead"]) == {layer["name"] for layer in network["layers"]}
    assert bool(network["filters"]) == (kind == "picture")


def _saved(run, checkpoint):
    saved = load_checkpoint(run, checkpoint)
    return saved.policy, saved.policy_metadata
