"""`gymsolve diagnose`, and how alerts look while a run trains and at its end."""

import shlex
from pathlib import Path

import gymsolve
from gymsolve.cli.live.table import plain, render
from gymsolve.cli.live.view import View
from gymsolve.text import number
from gymsolve.training.counters import Counters

LOGS = Path(__file__).parents[1] / "metrics" / "logs"
ALERT = {
    "id": "kl_high",
    "severity": "warn",
    "title": "the policy moves too far in an update",
    "metric": "train/approx_kl",
    "value": 0.08,
    "sign": ">",
    "threshold": 0.05,
    "remark": "",
    "meaning": "",
    "onset": 90,
    "step": 90,
    "cause": "the learning rate is too high",
    "changes": [{"path": "algo.learning_rate", "old": 0.01, "new": 0.001, "advice": ""}],
    "because": None,
    "active": True,
}


def train_with_fault(cli):
    return cli("train", "CartPole-v1", "--steps", "6000", "--set", "algo.learning_rate=0.3")


def test_a_fault_is_told_live_at_the_end_and_afterwards(cli):
    said = train_with_fault(cli).out
    assert said.count("error kl_shock: one update threw the policy somewhere else (train/approx_kl") == 1
    assert "--set algo.learning_rate=" in said
    verdict = said.partition("Not solved")[2].splitlines()
    why = next(index for index, line in enumerate(verdict) if line.startswith("why "))
    assert verdict[why].startswith("why   one update threw the policy somewhere else [kl_shock, at step ")
    assert verdict[why].endswith("; its consequences remain]")
    assert verdict[why + 1].strip().startswith("train/approx_kl ")
    assert verdict[why + 1].endswith(" > 2")
    assert verdict[why + 2].strip().startswith("likely: the learning rate is far too high")
    assert verdict[why + 3].strip().startswith("try --set algo.learning_rate=")
    assert verdict[why + 4].strip().startswith("hence: ")
    assert "gymsolve diagnose @last" in said
    assert "gymsolve fix @last" in said
    assert "gymsolve resume @last" not in said, "more of the same would not help"
    told = cli("diagnose", "@last").out
    assert (
        told.index("Most likely root cause") < told.index("[kl_shock]") < told.index("Could not be checked")
    )
    assert "did not fire:" in told.splitlines()[-2]
    when = next(line.split() for line in told.splitlines() if line.startswith("  when "))
    assert when[1:3] == ["at", "step"]
    assert "its consequences remain; fired 1 time" in " ".join(when)


def test_the_verdict_tells_what_training_itself_reached(cli):
    said = train_with_fault(cli).out.partition("Not solved")[2].splitlines()
    assert said[1].startswith("best mean return ")
    rows = gymsolve.open_run("@last").read_metrics().rows
    own = [row["rollout/ep_rew_mean"] for row in rows if "rollout/ep_rew_mean" in row][-1]
    assert said[2] == f"training's own mean {number(own)} over its last 100 episodes"


def test_where_no_setting_helps_the_environment_is_to_be_looked_at(cli):
    """Paid for falling over: no more steps of it would help."""
    wrapper = "env.wrappers=[{scale_reward: {factor: -1, roles: [train]}}]"
    said = cli("train", "CartPole-v1", "--steps", "16000", "--set", wrapper).out
    verdict = said.partition("Not solved")[2].splitlines()
    why = next(index for index, line in enumerate(verdict) if line.startswith("why "))
    assert "[reward_misleads, " in verdict[why]
    assert verdict[why + 1].strip().startswith("correlation of the paid return with the task's own return -")
    assert "no setting mends this" in verdict[why + 3]
    next_ = [line[6:] for line in verdict[next(i for i, one in enumerate(verdict) if one[:4] == "next") :]]
    assert next_[:3] == [
        "gymsolve diagnose @last",
        f"gymsolve check CartPole-v1:ppo --set '{wrapper}'",
        "look at the wrapper scale_reward (training only)",
    ]
    assert "gymsolve resume" not in said
    assert "for which wrappers paid the agent -" in verdict[2]
    assert cli(*shlex.split(next_[1])[1:]).code in (0, 1), "the command is understood"


def test_diagnosis_as_json(cli, place, monkeypatch):
    train_with_fault(cli)
    monkeypatch.chdir(place / "runs")  # where a file has this name
    told = cli("diagnose", "@last", "--runs-dir", ".", "--json").json
    assert told["roots"][0]["id"] == "kl_shock"
    assert told["roots"][0]["evidence"]["metric"] == "train/approx_kl"
    assert told["env_id"] == "CartPole-v1"
    assert set(told["not_fired"]).isdisjoint(told["not_checked"])


def test_a_run_without_fault_is_told_so_first(cli):
    cli("train", "CartPole-v1", "--steps", "20k", "--set", "video.enabled=false")
    said = cli("diagnose", "@last").out
    assert "Nothing was found: none of" in said.partition("Could not be checked")[0]


def test_damage_is_told_and_nothing_is_lost(cli, place):
    train_with_fault(cli)
    (run,) = (place / "runs").glob("*CartPole*")
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"env_steps": 6001, "train/lo')
    told = cli("diagnose", "@last").out
    assert "was cut off while being written; ignored" in told
    assert "[kl_shock]" in told


def test_logs_of_others_are_diagnosed(cli):
    told = cli("diagnose", str(LOGS / "sb3_rate_too_high")).out
    assert told.startswith("sb3_rate_too_high  CartPole-v1\nStable-Baselines3 progress.csv log")
    assert "lower it by a factor of" in told
    assert (
        cli("diagnose", str(LOGS / "cleanrl_rate_too_low"), "--json").json["roots"][0]["id"]
        == "policy_frozen"
    )


def test_what_is_no_log_is_refused_in_one_sentence(cli, place):
    (place / "empty").mkdir()
    answer = cli("diagnose", "empty")
    assert answer.code == 2
    assert "holds no log that can be read" in answer.err
    assert cli("diagnose", "nothing-like-this").code == 2


def make_view() -> View:
    view = View(title="t", budget=1000, threshold=None, num_envs=1, counters=Counters())
    view.history.append({"env_steps": 100, "train/approx_kl": 0.08, "train/loss": 0.5})
    return view


def drawn(view: View, width: int = 100, height: int = 50) -> list[str]:
    return plain(render(view, view.began + 1, width, height)).split("\n")


def test_an_active_alert_marks_its_row_and_is_shown_once_with_its_remedy():
    view = make_view()
    calm = "\n".join(drawn(view))
    assert "!" not in calm
    assert "no alerts" in calm
    view.alerts["kl_high"] = ALERT
    lines = drawn(view)
    assert [line.split()[1:3] for line in lines if line.strip().startswith("!")] == [
        ["approx_kl", "0.08"],
        ["kl_high:", "the"],
    ]
    text = "\n".join(lines)
    assert text.count("kl_high: the policy moves too far in an update") == 1
    for told in (
        "train/approx_kl 0.08 > 0.05, since step 90",
        "try --set algo.learning_rate=0.001 (was 0.01)",
        "likely: the learning rate is too high",
    ):
        assert told in text
    low = drawn(view, height=8)
    assert len(low) <= 6
    assert any("kl_high" in line for line in low)
    assert any("! approx_kl" in line for line in low), "the row of an alert is never left out"


def test_a_cause_that_is_over_is_shown_before_what_follows_from_it():
    view = make_view()
    view.alerts["kl_high"] = ALERT | {"active": False}
    view.alerts["flat"] = ALERT | {"id": "flat", "metric": "train/loss", "because": "kl_high"}
    lines = [line.removeprefix("train").strip() for line in drawn(view)]
    marked = [line for line in lines if "! " in line]
    assert marked[0].startswith("! loss"), "only active alerts mark a row"
    assert marked[1].startswith("! kl_high: ")
    assert len(marked) == 2, "a consequence is no news of its own"
    assert "train/approx_kl 0.08 > 0.05, at step 90; its consequences remain" in lines
    assert lines[-1] == "follows from it: flat"


def test_what_follows_from_a_cause_takes_one_line():
    view = make_view()
    view.alerts["kl_high"] = ALERT
    for name in ("entropy_collapse", "return_flat", "ev_negative", "churn_dead"):
        view.alerts[name] = ALERT | {"id": name, "because": "kl_high"}
    view.alerts["other"] = ALERT | {"id": "other"}
    view.alerts["late"] = ALERT | {"id": "late", "because": "other"}
    *_, hence, other = drawn(view, 60)
    assert hence == "  follows from it: entropy_collapse, return_flat (+2 more)"
    assert other.startswith("! other: the policy moves too far in an update; follows fro")
    assert drawn(view)[-1].endswith("; follows from it: late")


def test_alerts_that_do_not_fit_are_counted():
    view = make_view()
    for index in range(12):
        view.alerts[f"rule_{index}"] = ALERT | {"id": f"rule_{index}"}
    lines = drawn(view, 80, 24)
    assert len(lines) <= 22
    assert "! rule_0: " in "\n".join(lines)
    assert lines[-1] == "  and 8 more"


def test_consequences_of_an_alert_are_only_logged(cli):
    said = train_with_fault(cli).out
    live = said.partition("Not solved")[0]
    assert "entropy_collapse" not in live, "a consequence of what has been told"
