"""Components of the reward in a whole run: metrics, verdicts, alerts and the report."""

import pytest
import training_envs

import gymsolve
from engines import either_engine
from gymsolve.errors import ConfigError

assert training_envs.Parts
SMALL = {"env.num_envs": 4, "algo.num_steps": 32, "algo.num_minibatches": 2, "algo.num_epochs": 1}
SHORT = {"steps": 2560, "eval.every": 1280, "eval.episodes": 3, "checkpoint.every": 1280}


def shaped(components, **more):
    return {"env.wrappers": [{"reward_components": {"components": components, **more}}]}


@either_engine
def test_each_component_is_a_metric_and_their_sum_is_what_was_learned_from(engine):
    plain = SMALL | SHORT | {"algo.normalize_rewards": False}
    settings = plain | shaped({"effort": -0.5, "luck": {"key": "fortune", "weight": 3}})
    run = gymsolve.train("training_envs:Parts-v0:ppo", settings | {"engine": engine}, steps=2560).run
    rows = [row for row in run.read_metrics().rows if "reward/base" in row]
    assert len(rows) == 20
    for row in rows:
        parts = [row[f"reward/{name}"] for name in ("base", "effort", "luck")]
        assert sum(parts) == pytest.approx(row["rollout/reward_mean"], rel=1e-5)
        assert parts[1] == pytest.approx(-0.5 * parts[0])
        assert parts[0] == pytest.approx(row["action/mean"])
        shares = [row[f"reward_share/{name}"] for name in ("base", "effort", "luck")]
        sizes = [abs(part) for part in parts]  # none changes its sign
        assert shares == pytest.approx([size / sum(sizes) for size in sizes])


def test_verdicts_are_about_the_environments_own_return():
    """Paid for the opposite, the agent learns the opposite, and nobody is told that it did well."""
    settings = SMALL | shaped({"effort": -20}) | {"solved_at": 9.0, "algo.learning_rate": 0.01}
    outcome = gymsolve.train("training_envs:Parts-v0:ppo", settings | {"eval.episodes": 3}, steps=6400)
    rows = outcome.run.read_metrics().rows
    judged = [row for row in rows if "eval/mean_reward" in row]
    assert not outcome.solved
    assert judged[-1]["eval/mean_reward"] == 0.0
    trained = [row for row in rows if "rollout/ep_shaped_rew_mean" in row]
    assert trained[0]["rollout/ep_shaped_rew_mean"] == pytest.approx(-19 * trained[0]["rollout/ep_rew_mean"])


def test_a_component_that_is_nearly_all_of_it_raises_an_alert_and_shows_in_the_report():
    settings = SMALL | shaped({"luck": {"key": "fortune", "weight": 30}})
    settings |= {"eval.episodes": 1, "algo.learning_rate": 0.0, "solved_at": 100.0}
    outcome = gymsolve.train("training_envs:Parts-v0:ppo", settings, steps=12_800)
    (alert,) = [one for one in outcome.alerts if one.id == "one_component"]
    assert alert.evidence.metric == "reward_share/luck"
    assert alert.evidence.value > 0.9
    assert "per step" in alert.evidence.note
    text = (outcome.run.path / "report.md").read_text()
    page = (outcome.run.path / "report.html").read_text()
    assert "| luck | 9" in text
    assert "Components of the reward" in text
    assert "Components of the reward" in page


def test_a_wrong_name_leaves_no_run_behind(tmp_path):
    settings = SMALL | shaped({"efort": 1})
    with pytest.raises(ConfigError, match=r"components\.efort: .*Did you mean 'effort'"):
        gymsolve.train("training_envs:Parts-v0:ppo", settings, steps=256, runs_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []
