"""Curricula while they train: moves, masters, resume, what is forgotten and what rehearsal keeps."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import gymsolve
from gymsolve.cli import main
from gymsolve.cli.commands import inspect
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.errors import UnknownRunError, UsageError
from gymsolve.runs.checkpoints import list_checkpoints, pointed, read_meta
from gymsolve.runs.loading import load_checkpoint
from gymsolve.runs.run import create_run
from gymsolve.runs.stage_checkpoints import find_masters
from gymsolve.service.report import report_run
from gymsolve.service.run_changes import look_at
from gymsolve.training.build import build_trainer
from gymsolve.training.checkpoint import keep_if_best, save
from gymsolve.training.evaluation.evaluate import Verdict
from gymsolve.training.evaluation.scheduler import EvalOutcome
from gymsolve.training.planning.plan import plan_run
from gymsolve.view.runs import get_run

WALKS = {
    "near": {"kwargs": {"length": 2}},
    "middle": {"kwargs": {"length": 3}},
    "far": {"kwargs": {"length": 6}},
}
CLIMB = {
    "env.tasks": WALKS,
    "env.num_envs": 8,
    "curriculum": {"stages": ["near", "middle", "far"], "promote_at": 0.7, "episodes": 150},
    "solved_at": 10.0,
    "steps": 3000,
    "eval.every": 1500,
    "eval.episodes": 6,
    "checkpoint.every": 256,
    "checkpoint.keep": None,
    "video.enabled": False,
    "algo.num_steps": 32,
    "algo.learning_rate": 3e-3,
    "algo.normalize_rewards": True,
}


def train(name, settings, folder):
    return gymsolve.train(f"stage_envs:{name}", {"algo.name": "ppo", **settings}, runs_dir=folder)


@pytest.fixture(scope="module")
def climbed(tmp_path_factory):
    return train("Corridor-v0", CLIMB, tmp_path_factory.mktemp("climbed")).run


def moves(run):
    return [event for event in run.read_events().rows if event["kind"] in ("promoted", "demoted")]


def records(run):
    """Metrics without times."""
    rows, problems = run.read_metrics()
    assert not problems
    return [{k: v for k, v in row.items() if not k.startswith(("time/", "eval/seconds"))} for row in rows]


def test_it_climbs_and_says_so(climbed):
    told = [(one["kind"], one["stage"], one["next"]) for one in moves(climbed)]
    assert told == [("promoted", "near", "middle"), ("promoted", "middle", "far")]
    first = moves(climbed)[0]
    assert first["bound"] >= first["bar"] == 0.7
    assert first["achieved"] >= first["bound"]
    assert first["episodes"] == 150
    assert first["text"].startswith("stage near is done: return ")
    stages = [row["curriculum/stage"] for row in records(climbed) if "curriculum/stage" in row]
    assert stages == sorted(stages)
    assert stages[-1] == 3.0
    last = [row for row in records(climbed) if "curriculum/stage" in row][-1]
    assert [last[f"curriculum/share/{name}"] for name in WALKS] == [1 / 8, 1 / 8, 6 / 8]


def test_every_stage_leaves_a_master_that_can_be_named(climbed):
    masters = find_masters(climbed)
    ended = {one["stage"]: str(one["env_steps"]) for one in moves(climbed)}
    assert {name: masters[name] for name in ended} == ended
    policy = gymsolve.load_policy(f"{climbed.path}@stage-near")
    assert policy.checkpoint == ended["near"]
    with pytest.raises(UnknownRunError, match="at the end of a stage 'nowhere'"):
        gymsolve.load_policy(f"{climbed.path}@stage-nowhere")


def test_the_master_of_a_stage_is_opened_in_the_inspector(climbed, monkeypatch):
    asked = []
    monkeypatch.setattr(inspect, "open_page", lambda path, query, **_: asked.append(query["checkpoint"]))
    assert main(["inspect", f"{climbed.path}@stage-near"]) == 0
    assert asked == [find_masters(climbed)["near"]]


@pytest.mark.parametrize("which", ["before", "at", "between"])
def test_a_resume_across_a_promotion_changes_nothing(climbed, tmp_path, which):
    first, second = (one["env_steps"] for one in moves(climbed))
    copy = tmp_path / climbed.id
    names = list(map(int, list_checkpoints(climbed)))
    step = {
        "before": max(name for name in names if name < first),
        "at": first,
        "between": max(name for name in names if first < name < second),
    }[which]
    shutil.copytree(climbed.path, copy)
    resumed = gymsolve.resume(f"{copy}@{step}").run
    mine, theirs = load_checkpoint(resumed, "last"), load_checkpoint(climbed, "last")
    assert mine.meta["env_steps"] == theirs.meta["env_steps"]
    for kind in ("policy", "trainer"):
        left, right = getattr(mine, kind), getattr(theirs, kind)
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    assert mine.trainer_state["parts"]["curriculum"] == theirs.trainer_state["parts"]["curriculum"]
    for row, other in zip(records(resumed), records(climbed), strict=True):
        np.testing.assert_equal(row, other)
    assert find_masters(resumed) == find_masters(climbed)
    told = {(one["kind"], one["env_steps"]) for one in moves(resumed)}
    assert told == {(one["kind"], one["env_steps"]) for one in moves(climbed)}


def test_the_best_weights_are_those_of_the_farthest_stage(climbed):
    second = moves(climbed)[1]["env_steps"]
    judged = [row for row in records(climbed) if "eval/mean_reward" in row]
    assert all(row["eval/mean_reward"] == row["task_eval/far"] for row in judged)
    best = int(pointed(climbed, "best"))
    assert best >= second
    # An easy stage paid more than the hard one ever did, and is not best for it.
    before = max(row["task_eval/near"] for row in judged if row["env_steps"] <= second)
    assert before > read_meta(climbed, str(best))["eval"]["task_eval/far"]
    assert find_masters(climbed)["far"] == str(best), "the master of the last stage"
    counters = load_checkpoint(climbed, "last").trainer_state["parts"]["counters"]
    assert (counters["best_stage"], counters["best_step"]) == (2, best)


def test_an_evaluation_stands_at_the_end_of_every_stage(climbed):
    judged = {row["env_steps"] for row in records(climbed) if "eval/mean_reward" in row}
    assert {one["env_steps"] for one in moves(climbed)} <= judged


def test_training_returns_are_about_the_stage_that_is_judged(climbed):
    second = moves(climbed)[1]["env_steps"]
    rows = [row for row in records(climbed) if "curriculum/stage" in row]
    assert not any("rollout/ep_rew_mean" in row for row in rows if row["env_steps"] < second)
    last = rows[-1]
    assert last["rollout/ep_rew_mean"] == last["task_return/far"]
    assert last["rollout/episodes"] > 0


def test_what_a_kill_left_untold_is_told_by_a_resume(climbed, tmp_path):
    copy = tmp_path / climbed.id
    shutil.copytree(climbed.path, copy)
    (copy / "checkpoints" / "stage-near").unlink()
    lines = (copy / "events.jsonl").read_text().splitlines(keepends=True)
    (copy / "events.jsonl").write_text("".join(line for line in lines if '"promoted"' not in line))
    resumed = gymsolve.resume(str(copy), {"env.num_envs": 2}, steps=3300).run
    last = [row for row in records(resumed) if "curriculum/stage" in row][-1]
    assert (last["env_steps"], last["curriculum/stage"]) == (3328, 3.0)
    assert last["curriculum/share/far"] == 0.5, "fewer copies than stages: one plays it, one rehearses"
    assert find_masters(resumed)["near"] == find_masters(climbed)["near"]
    assert [(one["stage"], one["env_steps"]) for one in moves(resumed)] == [
        (one["stage"], one["env_steps"]) for one in moves(climbed)
    ]


def test_the_run_and_its_report_tell_the_stages(climbed, tmp_path):
    told = get_run(str(climbed.path))
    assert [(one.stage, one.how) for one in told.stages] == [
        ("near", "promoted"),
        ("middle", "promoted"),
        ("far", ""),
    ]
    news = look_at(str(climbed.path))
    assert news.stage.startswith("far since step")
    assert news.stage.endswith("before: near (promoted), then middle (promoted)")
    assert news.masters == [f"{climbed.id}@stage-near", f"{climbed.id}@stage-middle"]
    assert set(news.tasks) == set(WALKS)
    near = told.stages[0]
    curve = [(row["env_steps"], row["task_eval/near"]) for row in records(climbed) if "task_eval/near" in row]
    then = dict(curve)[near.ended]
    assert near.forgotten == pytest.approx(then - curve[-1][1])
    assert near.master == str(near.ended)
    alone = train("Corridor-v0", ALONE, tmp_path / "alone").run
    text = Path(report_run(str(climbed.path), scratch=[str(alone.path)]).markdown).read_text()
    far = [(row["env_steps"], row["task_eval/far"]) for row in records(climbed) if "task_eval/far" in row]
    since = [one["env_steps"] for one in moves(climbed)][-1]
    end = records(climbed)[-1]["env_steps"]
    scratch = [
        (row["env_steps"], row["eval/mean_reward"]) for row in records(alone) if "eval/mean_reward" in row
    ]
    mean, lone = brute_mean(far, since, end), brute_mean(scratch, 0, end - since)
    gained = (mean - lone) / (10.0 - lone)
    assert "## Stages" in text
    assert f"{gained:.4g} |" in text, "in units of what counts as solved, not of what promotes"
    assert f"{climbed.id}@stage-near" in text
    row = next(
        line
        for line in text.splitlines()
        if line.startswith(f"| {near.ended:,}\\*") or f"{near.ended:,}*" in line
    )
    assert f"{then:.4g}"[:4] in row


def test_an_evaluation_is_judged_by_the_last_stage(climbed, tmp_path, capsys):
    copy = tmp_path / climbed.id
    shutil.copytree(climbed.path, copy)
    settings = json.loads((copy / "config.json").read_text())
    settings["config"]["solved_at"] = -100.0
    settings["config"]["env"]["tasks"]["near"]["solved_at"] = 100.0
    (copy / "config.json").write_text(json.dumps(settings))
    assert main(["eval", str(copy), "--episodes", "3"]) == 0
    said = capsys.readouterr().out
    assert "in far, the last stage" in said
    assert "-100, reached" in said
    assert "9, " in next(line for line in said.splitlines() if "of all tasks" in line)


def test_stages_cannot_change_on_the_way(climbed, tmp_path):
    copy = tmp_path / climbed.id
    shutil.copytree(climbed.path, copy)
    with pytest.raises(UsageError, match="a run keeps its environment, stages"):
        gymsolve.resume(str(copy), {"curriculum.stages": ["middle", "near", "far"]})


def brute_mean(curve, begin, end):
    """The mean of a curve of evaluations, looked at step by step."""
    return float(np.mean(np.interp(np.linspace(begin, end, 200_001), *zip(*curve, strict=True))))


ALONE = {
    **{name: CLIMB[name] for name in ("env.num_envs", "algo.num_steps", "video.enabled", "eval.episodes")},
    "env.kwargs": {"length": 6},
    "steps": 600,
    "eval.every": 300,
    "solved_at": 10.0,
}
LEVERS = {"left": {"kwargs": {"good": 0}}, "right": {"kwargs": {"good": 1}}}
PULL = {
    "env.tasks": LEVERS,
    "env.num_envs": 8,
    "algo.num_steps": 16,
    "algo.learning_rate": 1e-2,
    "algo.num_epochs": 4,
    "algo.num_minibatches": 1,
    "net.hidden": [16],
    "solved_at": 0.9,
    "eval.stop_when_solved": False,
    "eval.every": 2000,
    "checkpoint.keep": 1,
    "checkpoint.every": 800,
    "video.enabled": False,
}
IN_ORDER = {"stages": [{"name": "left", "steps": 1000}, "right"], "demote_below": 0}


def left_of(run):
    """What the last evaluation found on each lever."""
    last = [row for row in records(run) if "task_eval/left" in row][-1]
    return last["task_eval/left"], last["task_eval/right"]


def alerts_of(run):
    return [event["id"] for event in run.read_events().rows if event["kind"] == "alert"]


def test_what_is_learned_first_is_forgotten_unless_it_is_rehearsed(tmp_path):
    settings = PULL | {"steps": 3000, "curriculum": IN_ORDER, "eval.every": 500}
    plain = train("Lever-v0", settings | {"curriculum.rehearsal": 0.0}, tmp_path).run
    kept = train("Lever-v0", settings | {"curriculum.rehearsal": 0.25}, tmp_path).run
    for run in (plain, kept):
        ended = str(moves(run)[0]["env_steps"])
        assert read_meta(run, ended)["eval"]["task_eval/left"] == 1.0, "the first lever was learned"
        assert find_masters(run)["left"] == ended, "it stays, however few checkpoints are kept"
        solved = [one for one in run.read_events().rows if one["kind"] == "solved"]
        assert solved, "the last stage is solved"
        assert all(one["task_eval/right"] == 1.0 for one in solved), "and nothing else is called so"
    assert left_of(plain) == (0.0, 1.0)
    assert left_of(kept) == (1.0, 1.0)
    told = ["task_forgotten" in alerts_of(run) for run in (plain, kept)]
    assert told == [True, False], "and the doctor says so"


@pytest.mark.parametrize("hidden", [False, True])
def test_the_remedy_of_a_forgotten_task_keeps_it(hidden, tmp_path):
    """Both levers are known in the end, where the policy may be told which one it is about."""
    settings = PULL | {"steps": 3000, "curriculum": IN_ORDER, "eval.every": 500}
    settings |= {"curriculum.rehearsal": 0.0, "net.tasks.input": not hidden}
    plain = train("Lever-v0", settings, tmp_path).run
    assert left_of(plain) == (0.0, 1.0)
    (told,) = [one for one in diagnose_path(str(plain.path)).roots if one.id == "task_forgotten"]
    remedy = {change.path: change.new for change in told.changes}
    assert ("net.tasks.heads" in remedy) != hidden
    healed = train("Lever-v0", settings | remedy, tmp_path).run
    assert left_of(healed) == (1.0, 1.0)
    assert "task_forgotten" not in alerts_of(healed)


def test_a_stage_that_asks_too_much_is_told(climbed, tmp_path):
    stages = {"stages": ["left", "right"], "promote_at": 1.5}  # a lever brings 1
    stuck = train("Lever-v0", PULL | {"steps": 3000, "curriculum": stages}, tmp_path).run
    assert ["stage_stuck" in alerts_of(run) for run in (stuck, climbed)] == [True, False]


def test_drawn_stages_are_both_learned_and_resume_bit_for_bit(tmp_path):
    drawn = {"stages": ["left", "right"], "choice": "plr", "redraw": 2}
    settings = PULL | {"steps": 1800, "curriculum": drawn, "checkpoint.keep": None}
    straight = train("Lever-v0", settings, tmp_path / "straight").run
    assert left_of(straight) == (1.0, 1.0)
    copy = tmp_path / straight.id
    shutil.copytree(straight.path, copy)
    resumed = gymsolve.resume(f"{copy}@{list_checkpoints(straight)[0]}").run
    mine, theirs = load_checkpoint(resumed, "last"), load_checkpoint(straight, "last")
    for name in theirs.policy:
        np.testing.assert_array_equal(mine.policy[name], theirs.policy[name], err_msg=name)
    assert mine.trainer_state["parts"]["curriculum"] == theirs.trainer_state["parts"]["curriculum"]
    scores = [row for row in records(straight) if "curriculum/score/left" in row]
    assert scores


def test_stages_are_compared_before_returns(tmp_path):
    """Scripted verdicts: what is best changes with the stage, and a way back makes nothing better."""
    asked = PULL | {"algo.name": "ppo", "steps": 3000, "curriculum": IN_ORDER}
    config = plan_run("stage_envs:Lever-v0", asked)
    trainer = build_trainer(config.config)
    run = create_run(
        tmp_path, name="x:ppo", config_json=config.config.model_dump(mode="json"), provenance={}, command=[],
        seed=0, steps=1,
    )  # fmt: skip
    try:
        save(trainer, run, "cadence")
        assert judged(trainer, run, 100, left=100.0, right=0.0)
        assert not judged(trainer, run, 200, left=90.0, right=50.0), "the first stage is what is judged"
        trainer.stages.history.append({"kind": "promoted", "env_steps": 300, "next": "right"})
        assert judged(trainer, run, 300, left=100.0, right=5.0), "a farther stage, whatever it pays"
        trainer.stages.history.append({"kind": "demoted", "env_steps": 400, "next": "left"})
        assert not judged(trainer, run, 400, left=200.0, right=4.0)
        trainer.stages.history.append({"kind": "promoted", "env_steps": 500, "next": "right"})
        assert not judged(trainer, run, 500, left=200.0, right=4.9)
        assert judged(trainer, run, 600, left=0.0, right=5.0), "of equals the latest"
        assert trainer.stages.masters == {"right": 600}
    finally:
        trainer.envs.close()


def judged(trainer, run, step, **achieved):
    """Was a verdict with these returns the best so far?"""
    metrics = {f"task_eval/{name}": value for name, value in achieved.items()}
    verdict = Verdict(metrics, achieved["right"], solved=False, complete=True, seconds=0.0)
    return keep_if_best(trainer, run, EvalOutcome(verdict, {"env_steps": step}, 0.0, "0"))
