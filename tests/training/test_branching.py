"""Other futures of an episode, and one seed under several checkpoints: against episodes played by hand."""

import shutil
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import gymsolve
from gymsolve.apps.inspector import snapshots as going_back
from gymsolve.apps.inspector.branching import branch_off, find_difference
from gymsolve.apps.inspector.checkpoint_diff import compare_episodes, first_disagreement
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.inspector.recorder import EpisodeRecorder, Question
from gymsolve.apps.inspector.takeover import Hand
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.errors import EnvFaultError, GymsolveError, UsageError
from gymsolve.experience.agent import Agent
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.seeding import generator, integer_seeds

SMALL = {"steps": 1200, "eval.every": 600, "eval.episodes": 6, "checkpoint.every": 600, "solved_at": 1e9}
MEMORY = {
    "env.num_envs": 4,
    "algo.num_epochs": 2,
    "net.memory.size": 8,
    "net.memory.inputs": ["action", "reward"],
}
KINDS = {
    "plain": ("CartPole-v1", {}),
    "remembers": ("CartPole-v1:positions", MEMORY),
    "picture": ("MinAtar/Breakout-v1:cnn", {"env.num_envs": 2, "env.frame_stack": 2}),
    "box": ("Pendulum-v1", {"net.squash": True, "env.max_episode_steps": 40}),
}


@pytest.fixture(scope="module", name="runs")
def _runs(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    return {
        kind: gymsolve.train(env, {**SMALL, **more}, runs_dir=place).run
        for kind, (env, more) in KINDS.items()
    }


def by_hand(examiner, seed, forced, *, sampled):
    """What an agent sees, does and earns when some of its steps are decided for it."""
    stage = open_render_env(examiner.config.env)
    agent, policy = Agent(examiner.policy, 1), examiner.policy
    scene, step, rows = stage.reset(integer_seeds(seed, "eval", 1, 0)[0]), 0, []
    rng = generator(seed, "eval", 0, 1) if sampled else None
    while not (scene.terminated or scene.truncated):
        before = () if agent.memory is None else agent.memory[0].copy()
        chosen = agent.choose(scene.obs, scene.masks, rng)
        if step in forced:
            chosen = np.array([forced[step]], chosen.dtype)
            if (
                agent.memory is not None
            ):  # the last columns are the action as ones among zeros, and the reward
                agent.memory[0, -3:-1] = np.eye(2)[int(chosen[0, 0])]
        now, memory = scene.obs["obs"][0].copy(), before
        scene, step = stage.step(policy.spec.action.to_env(chosen)), step + 1
        agent.hear(np.array([scene.reward]))
        rows.append((now, memory, chosen[0].copy(), scene.reward))
    stage.close()
    return rows


def test_where_states_are_cloned_a_late_branch_takes_few_steps_again(tmp_path, monkeypatch):
    """A policy with a memory and sampled actions: both have to be what they were, bit for bit."""
    monkeypatch.setattr(going_back, "EVERY", 8)
    overrides = {**SMALL, **MEMORY, "steps": 128, "algo.num_minibatches": 1, "env.max_episode_steps": 60}
    run = gymsolve.train("CliffWalking-v1", overrides, runs_dir=tmp_path).run
    taken = []

    def branch(examiner, parent, step):
        render_env, _ = examiner.open_env(parent.facts["role"], camera=False)
        usual = render_env.step
        taken.append(0)

        def count(actions):
            taken[-1] += 1
            return usual(actions)

        monkeypatch.setattr(render_env, "step", count)
        other = (int(InspectedEpisode(parent).column("action")[step, 0]) + 1) % 4
        child = branch_off(examiner, parent, {step: (other,)}).child
        monkeypatch.setattr(render_env, "step", usual)
        return child

    with EpisodeRecorder(run) as examiner:
        parent = examiner.play(Question(seed=3, deterministic=False, camera=False))
        length = parent.facts["length"]
        assert length > 40
        quick = branch(examiner, parent, 38)
        again = branch(examiner, quick.stored, 36)  # a branch of a branch
        rows, planned = quick.rows.tobytes(), len(quick)
    assert taken == [len(quick) - 32, len(again) - 32]
    shutil.rmtree(quick.stored.path)
    with EpisodeRecorder(run) as examiner:  # which knows nothing of the first play
        slow = branch(examiner, parent, 38)
        assert (taken[-1], slow.rows.tobytes()) == (planned, rows)
        assert find_difference(InspectedEpisode(parent), slow, 38, 39) is None
        sooner = branch(examiner, parent, 20)
        assert taken[-1] == len(sooner) - 16


@pytest.mark.parametrize("sampled", [False, True], ids=["likeliest", "sampled"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_branch_is_the_episode_with_another_action_and_an_equal_prefix(kind, sampled, runs):
    with EpisodeRecorder(runs[kind]) as examiner:
        filmed = kind == "picture"
        parent = examiner.inspect(Question(seed=3, deterministic=not sampled, camera=filmed))
        old = InspectedEpisode(parent)
        step = min(3 if filmed else 6, len(old) - 1)
        action = (0.5,) if kind == "box" else (1 - int(old.column("action")[step, 0]),)
        branch = branch_off(examiner, parent, {step: action})
        new = branch.child
        assert new.stored.name != parent.name
        assert (new.facts["parent"], new.facts["branch_at"]) == (parent.name, step)
        assert find_difference(old, new, step, step + 1) is None
        assert new.column("forced").tolist() == [at == step for at in range(len(new))]

        expected = by_hand(examiner, 3, {step: action}, sampled=sampled)
        assert len(expected) == len(new)
        seen, *columns = zip(*expected, strict=True)
        np.testing.assert_array_equal([new.observation(at)["obs"][0] for at in range(len(new))], seen)
        for name, column in zip(("memory", "action", "reward"), columns, strict=True):
            if name != "memory" or kind == "remembers":
                np.testing.assert_array_equal(new.column(name), np.array(column), err_msg=name)
        assert new.facts["shaped_return"] == pytest.approx(sum(columns[-1]))
        assert bool(new.stored.frames) == filmed
        if filmed:
            assert new.stored.frames == len(new) + 1
            assert old.stored.read_frames(0, step + 1) == new.stored.read_frames(0, step + 1)
        told = branch.to_json()
        assert told["child"]["to_come"] == pytest.approx(sum(reward for *_, reward in expected[step:]))
        assert told["parent"]["to_come"] == pytest.approx(float(old.rewards[step:].sum()))

        # The same branch is not played twice, and a branch may branch off again.
        assert branch_off(examiner, parent, {step: action}).child.stored.name == new.stored.name
        if len(new) == step + 1:
            return
        again = branch_off(examiner, new.stored, {step + 1: action}).child
        assert np.flatnonzero(again.column("forced")).tolist() == [step, step + 1]


def test_an_environment_that_does_not_replay_is_told_by_name_and_nothing_is_kept(tmp_path):
    settings = {"steps": 200, "eval.episodes": 2, "solved_at": 1e9}
    run = gymsolve.train("training_envs:TellsTime-v0", settings, runs_dir=tmp_path).run
    with EpisodeRecorder(run) as examiner:
        parent = examiner.inspect(Question(seed=0))
        other = (1 - int(InspectedEpisode(parent).column("action")[3, 0]),)
        assert branch_off(examiner, parent, {3: other}).step == 3  # up to here a seed decides
        before = sorted(path.name for path in (run.path / "inspections").iterdir())
        with pytest.raises(
            EnvFaultError, match=r"does not replay: .* the observation of state 4 is not what"
        ):
            branch_off(examiner, parent, {6: other})
        assert sorted(path.name for path in (run.path / "inspections").iterdir()) == before
        again = InspectedEpisode(examiner.play(Question(seed=0)))
        with pytest.raises(EnvFaultError, match="does not replay"):
            first_disagreement(InspectedEpisode(parent), again)


@pytest.mark.parametrize(
    ("forced", "told"),
    [
        ({}, "needs a step"),
        ({10_000: (0,)}, "there is no step 10000"),
        ({0: (2,)}, r"\[2\] is no action here: it takes choices below \[2\]"),
        ({0: (0, 0)}, "no action"),
        ({0: (0.5,)}, "no action"),
        ({0: (float("nan"),)}, "no action"),
    ],
)
def test_what_is_no_branch_is_refused(forced, told, runs):
    with EpisodeRecorder(runs["plain"]) as examiner:
        parent = examiner.inspect(Question(seed=3, camera=False))
        with pytest.raises(UsageError, match=told):
            branch_off(examiner, parent, forced)


def test_checkpoints_on_one_seed_are_compared_where_they_first_disagree(runs):
    episodes = []
    for checkpoint in list_checkpoints(runs["plain"])[:2]:
        with EpisodeRecorder(f"{runs['plain'].path}@{checkpoint}") as examiner:
            episodes.append(InspectedEpisode(examiner.inspect(Question(seed=5, camera=False))))
    first, other = compare_episodes(episodes)
    assert first["disagrees_at"] is None
    step = other["disagrees_at"]
    one, two = (episode.column("action")[:, 0].tolist() for episode in episodes)
    expected = next((at for at, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), None)
    assert step == expected is not None
    assert other["labels"] == [episodes[0].labels[step], episodes[1].labels[step]]
    assert other["to_come"] == [len(one) - step, len(two) - step]  # CartPole pays one per step
    assert first_disagreement(episodes[0], episodes[0]) is None


def test_an_episode_that_was_tampered_with_is_refused_in_a_sentence(runs):
    with EpisodeRecorder(runs["plain"]) as examiner:
        parent = examiner.inspect(Question(seed=7, camera=False))
        for facts, told in (
            ({"forced": {"x": 1}}, "forced actions are not told like this"),
            ({"policy_sha256": "0"}, "is not the one that played this episode"),
        ):
            with pytest.raises(GymsolveError, match=told):
                branch_off(examiner, replace(parent, facts={**parent.facts, **facts}), {1: (0,)})


@pytest.mark.parametrize("env", ["LunarLander-v3", "BipedalWalker-v3"])
def test_pictures_of_a_branch_are_those_of_the_original(env, tmp_path):
    """Smoke of the lander fades with every picture drawn, and a beam of the walker moves on."""
    few = {"steps": 64, "env.num_envs": 2, "algo.num_steps": 32, "algo.num_minibatches": 1}
    limits = {"eval.episodes": 1, "eval.every": 64, "env.max_episode_steps": 170, "checkpoint.every": 64}
    run = gymsolve.train(env, {**few, **limits}, runs_dir=tmp_path).run
    with EpisodeRecorder(run) as examiner:
        old = InspectedEpisode(examiner.play(Question(seed=1, deterministic=False)))
        step = min(130, len(old) - 4)
        assert step > 40
        same = tuple(old.column("action")[step].tolist())
        new = branch_off(examiner, old.stored, {step: same}).child
        assert new.stored.read_frames(0, step + 1) == old.stored.read_frames(0, step + 1)
        assert new.stored.read_frames(step + 1, step + 4) == old.stored.read_frames(step + 1, step + 4)
        with closing(Hand(examiner, old.stored, step)) as hand:
            shown = hand.picture()
    assert shown == old.stored.read_frames(step, step + 1)[0]
