"""Runs that were written once and are kept: what later versions write differently, they must still read."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from known_good.make import RUNS, TRAINING_ENVS, arithmetic

import gymsolve
from engines import needs_kernels
from gymsolve.errors import ConfigError
from gymsolve.kernels import load_kernels
from gymsolve.recipes import validate
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.index import list_runs
from gymsolve.runs.loading import load_checkpoint
from gymsolve.training.build import build_trainer
from gymsolve.training.migrate import upgrade

KEPT = Path(__file__).parent / "known_good"
EARLY = "cartpole"
CLOSE = 1e-3
"""How far, relative to the largest number of an array, other arithmetic may lead within a few updates: it
leads to 1e-5 at most, while a resume that forgets the optimizer's moments is off by half and more."""

TORCH_ONLY = {
    "everything_ppo": "is an image",
    "cartpole_memory": "net.memory is on",
    "cartpole_archive": "explore.archive.learn_from",
    "cartpole_acrobot_tasks": "learns one task",
    "cartpole_curriculum": "learns one task",
}
"""Runs that the NumPy engine refuses, with the reason it gives."""
OWN_PARTS = {
    "cartpole_memory": "collector",
    "cartpole_archive": "archive",
    "cartpole_acrobot_tasks": "scaler",
    "cartpole_curriculum": "curriculum",
    "cartpole_bonus": "explore",
}
"""The part of the trainer that holds what is special about these runs."""


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The named run, in a folder of runs where it may be changed."""
    monkeypatch.syspath_prepend(str(TRAINING_ENVS))
    monkeypatch.setenv("GYMSOLVE_RUNS", str(tmp_path / "runs"))

    def copy(name):
        shutil.copytree(KEPT / name, tmp_path / "runs" / name)
        return gymsolve.open_run(tmp_path / "runs" / name)

    return copy


def made(name):
    return json.loads((KEPT / name / "made.json").read_text())


def upgraded(checkpoint):
    """Arrays and state of the trainer under today's names."""
    config = json.loads((checkpoint.path.parents[1] / "config.json").read_text())["config"]
    trainer = build_trainer(validate(config, "config.json"))
    trainer.envs.close()
    return upgrade(checkpoint, trainer.learner.optimizer.names)


def arrays(checkpoint):
    """What is learned: the policy, and the moments of its optimizer, under today's names."""
    named, _ = upgraded(checkpoint)
    moments = {key: array for key, array in named.items() if key.startswith("optimizer/")}
    assert moments
    return checkpoint.policy | moments


def state_of(checkpoint, part):
    """The arrays and the JSON state of one part of the trainer."""
    named, states = upgraded(checkpoint)
    own = {key: array for key, array in named.items() if key.startswith(f"{part}/")}
    assert own or states.get(part)
    return own, states.get(part)


def distance(one, other):
    """The largest difference of two checkpoints, each array measured by its own largest number."""
    left, right = arrays(one), arrays(other)
    assert left.keys() == right.keys()
    gaps = {}
    for name, array in left.items():
        assert array.shape == right[name].shape, name
        wide, reached = np.asarray(array, np.float64), np.asarray(right[name], np.float64)
        gaps[name] = np.abs(wide - reached).max() / max(np.abs(wide).max(), 1e-12)
    return max(gaps.values())


def backends(run):
    """Who stepped the environments in each sitting, without what was measured on the way."""
    started = [event for event in run.read_events().rows if event["kind"] == "started"]
    return [event["backend"].partition(" (")[0] for event in started]


def test_the_early_run_can_be_read(copy):
    run = copy(EARLY)
    assert run.status == "solved"
    rows, problems = run.read_metrics()
    assert problems == []
    assert rows[-1]["solved"] == 1.0
    assert run.config_json()["config"]["env"]["id"] == "CartPole-v1"


def test_the_policy_of_the_early_run_still_plays_as_well_as_it_says(copy):
    run = copy(EARLY)
    stored = load_checkpoint(run, "best").meta["eval"]
    again = gymsolve.evaluate(run, episodes=int(stored["eval/episodes"]), run_seeds=True, trust=True)
    assert again.mean == pytest.approx(stored["eval/mean_reward"], abs=5.0)


def test_the_early_run_can_be_resumed(copy):
    run = copy(EARLY)
    steps = load_checkpoint(run, "last").meta["env_steps"]
    outcome = gymsolve.resume(run, {"solved_at": 1e9}, steps=steps + 500)
    assert outcome.env_steps >= steps + 500


def test_a_run_whose_settings_name_a_backend_that_is_gone_can_be_resumed(copy):
    """Its environments were stepped by Gymnasium's vector class, whose state is in the checkpoint."""
    run = copy(EARLY)
    stored = json.loads((run.path / "config.json").read_text())
    stored["config"]["env"]["backend"] = "native"
    (run.path / "config.json").write_text(json.dumps(stored))
    checkpoint = load_checkpoint(run, "last")
    assert json.loads((checkpoint.path / "trainer.json").read_text())["envs"]["kind"] == "cartpole"
    steps = checkpoint.meta["env_steps"]
    assert len(gymsolve.evaluate(run, episodes=2, trust=True).episodes) == 2
    outcome = gymsolve.resume(run, {"solved_at": 1e9}, steps=steps + 500)
    assert outcome.env_steps >= steps + 500
    assert run.config_json()["config"]["env"]["backend"] == "auto"
    notes = [event["text"] for event in run.read_events().rows if event["kind"] == "note"]
    assert any("could not be restored: their episodes start anew" in note for note in notes)


def test_all_kept_runs_are_listed(copy):
    kept = {copy(name).id for name in (*RUNS, EARLY)}
    assert {summary.id for summary in list_runs()} == kept


@pytest.mark.parametrize("name", RUNS)
def test_a_kept_run_tells_what_it_told(name, copy):
    run = copy(name)
    assert run.status == "finished"
    for read in (run.read_metrics, run.read_events):
        rows, problems = read()
        assert rows
        assert not problems
    assert list_checkpoints(run)[-1] == str(run.info()["env_steps"])


@pytest.mark.parametrize("name", RUNS)
def test_the_policy_of_a_kept_run_acts_and_scores_what_was_stored(name, copy):
    run = copy(name)
    stored = load_checkpoint(run, "best").meta["eval"]
    policy = gymsolve.load_policy(run, trust=True)  # kept runs come from elsewhere
    envs = policy.make_envs()
    try:
        obs, masks = envs.reset([0])
        policy.act({key: value[0] for key, value in obs.items()}, None if masks is None else masks[0])
    finally:
        envs.close()
    episodes = run.config_json()["config"]["eval"]["episodes"]  # of each task
    again = gymsolve.evaluate(run, episodes=episodes, run_seeds=True, trust=True)
    # Compiled environments draw starts of their own; where there are none, only the skill compares.
    same_starts = backends(run) != ["compiled"] or load_kernels() is not None
    assert again.mean == pytest.approx(stored["eval/mean_reward"], rel=CLOSE if same_starts else 0.5)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=needs_kernels if made(name)["arithmetic"]["engine"] == "numpy" else ())
        for name in RUNS
    ],
)
def test_a_kept_run_resumed_from_its_middle_reaches_its_stored_end(name, copy):
    run = copy(name)
    facts, stored = made(name), load_checkpoint(run, "last")
    gymsolve.resume(f"{run.path}@{facts['resume_from']}", trust=True)
    reached = load_checkpoint(run, "last")
    first, second = backends(run)
    if first != second:  # its episodes began anew, as a note says: no compiled environments here
        assert reached.meta["env_steps"] >= stored.meta["env_steps"]
    elif arithmetic(facts["arithmetic"]["engine"]) == facts["arithmetic"]:
        wanted, found = arrays(stored), arrays(reached)
        assert wanted.keys() == found.keys()
        for key, array in wanted.items():
            np.testing.assert_array_equal(found[key], array, err_msg=key)
        if name in OWN_PARTS:
            np.testing.assert_equal(state_of(reached, OWN_PARTS[name]), state_of(stored, OWN_PARTS[name]))
    else:
        assert distance(stored, reached) < CLOSE


@needs_kernels
@pytest.mark.parametrize("name", RUNS)
def test_other_arithmetic_comes_close_and_forgotten_moments_do_not(name, copy):
    """What the tolerance above is worth on machines where bits differ."""
    run = copy(name)
    facts, stored = made(name), load_checkpoint(run, "last")
    middle = f"{run.path}@{facts['resume_from']}"
    other = "torch" if facts["arithmetic"]["engine"] == "numpy" else "numpy"
    if name in TORCH_ONLY:
        with pytest.raises(ConfigError, match=TORCH_ONLY[name]):
            gymsolve.resume(middle, {"engine": other}, trust=True)
    else:
        gymsolve.resume(middle, {"engine": other}, trust=True)
        first, second = backends(run)
        assert first != second or distance(stored, load_checkpoint(run, "last")) < CLOSE
    gymsolve.resume(middle, fresh_optimizer=True, trust=True)
    assert distance(stored, load_checkpoint(run, "last")) > 100 * CLOSE


@pytest.mark.parametrize("name", RUNS)
def test_an_episode_of_a_kept_run_can_be_inspected(name, copy):
    run = copy(name)
    episode = gymsolve.inspect(run, camera=False, steps=30, trust=True)
    assert 0 < len(episode.rewards) <= 30
    assert np.isfinite(episode.values).all()


@pytest.mark.parametrize("name", RUNS)
def test_a_kept_run_goes_on_from_its_end(name, copy):
    run = copy(name)
    steps = load_checkpoint(run, "last").meta["env_steps"]
    outcome = gymsolve.resume(run, steps=steps + 64, trust=True)
    assert outcome.env_steps >= steps + 64
    first, second = backends(run)
    notes = [event["text"] for event in run.read_events().rows if event["kind"] == "note"]
    assert [note for note in notes if "start anew" in note] == [] or first != second
