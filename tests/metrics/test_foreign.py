"""Real logs of other frameworks, with known faults, are read and diagnosed.

`sb3_rate_too_high` and `sb3_tensorboard`: Stable-Baselines3 2.9.2, PPO on CartPole-v1 with a learning rate of
0.1, logged to CSV and TensorBoard at once. `sb3_two_copies`: the same tool with two environments, a Monitor
file each, 1,024 steps. `cleanrl_rate_too_low`: PPO on CartPole-v1 with a learning rate of 2.5e-7, logged
under CleanRL's names.
"""

import csv
import json
import math
import shutil
from pathlib import Path

import pytest

from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.doctor.diagnosis import diagnose
from gymsolve.doctor.external_logs import read_foreign
from gymsolve.doctor.external_logs.settings import their_changes
from gymsolve.doctor.rules import RULES
from gymsolve.doctor.rules.rule import Change, Context, Evidence
from gymsolve.errors import RunDamagedError, UnknownRunError, UsageError
from gymsolve.metrics.catalog import undeclared
from gymsolve.metrics.wording import remedy_text

LOGS = Path(__file__).parent / "logs"
SB3 = LOGS / "sb3_rate_too_high"


def roots(path: Path) -> list[str]:
    log = read_foreign(path)
    return [alert.id for alert in diagnose(log.records, log.context).roots]


def test_progress_csv_keeps_every_number_under_our_names():
    log = read_foreign(SB3 / "progress.csv")
    with (SB3 / "progress.csv").open() as file:
        rows = list(csv.DictReader(file))
    theirs = [float(row["train/entropy_loss"]) for row in rows if row["train/entropy_loss"]]
    ours = [record["train/entropy"] for record in log.records if "train/entropy" in record]
    assert ours == [-value for value in theirs]
    assert [record["env_steps"] for record in log.records] == [
        int(row["time/total_timesteps"]) for row in rows
    ]
    assert undeclared({name for record in log.records for name in record}) == []
    assert log.context.max_entropy == pytest.approx(math.log(2))


def test_tensorboard_holds_the_same_numbers_as_the_csv():
    from_csv, from_events = read_foreign(SB3 / "progress.csv"), read_foreign(LOGS / "sb3_tensorboard")
    assert from_events.kind == "Stable-Baselines3 TensorBoard"

    def series(records: list[dict[str, float]], name: str) -> list[tuple[float, float]]:
        return [(record["env_steps"], record[name]) for record in records if name in record]

    for name in ("train/approx_kl", "rollout/ep_rew_mean", "train/entropy", "eval/mean_reward"):
        theirs = dict(series(from_csv.records, name))
        ours = dict(series(from_events.records, name))
        assert ours.keys() <= theirs.keys()
        assert len(ours) >= len(theirs) - 1
        for step, value in ours.items():
            assert value == pytest.approx(theirs[step], rel=1e-4)


def test_a_rate_too_high_is_found_in_each_log_of_the_same_training():
    assert roots(SB3)[0] == "kl_shock"
    assert roots(SB3 / "progress.csv")[0] == "kl_shock"
    assert roots(LOGS / "sb3_tensorboard")[0] == "kl_shock"


def test_monitor_files_give_episodes_and_their_environment():
    log = read_foreign(SB3 / "monitor.csv")
    with (SB3 / "monitor.csv").open() as file:
        file.readline()
        rows = list(csv.DictReader(file))
    assert log.env_id == "CartPole-v1"
    last = log.records[-1]
    assert last["rollout/episodes"] == len(rows)
    assert last["env_steps"] == sum(int(row["l"]) for row in rows)
    newest = [float(row["r"]) for row in rows[-100:]]
    assert last["rollout/ep_rew_mean"] == pytest.approx(sum(newest) / len(newest))
    assert last["rollout/ep_rew_max"] == max(newest)


def test_a_rate_too_low_is_found_in_a_cleanrl_log():
    log = read_foreign(LOGS / "cleanrl_rate_too_low")
    assert log.kind == "CleanRL TensorBoard"
    assert log.context.max_entropy == pytest.approx(math.log(2))
    found = diagnose(log.records, log.context)
    assert found.roots[0].id == "policy_frozen"
    assert found.roots[0].changes[0].path == "algo.learning_rate"
    assert "raise it by a factor of 900" in found.roots[0].changes[0].advice
    assert {"return_flat", "entropy_stuck"} <= {one.alert.id for one in found.consequences}


def test_a_torn_last_row_is_left_out(tmp_path):
    text = (SB3 / "progress.csv").read_text()
    (tmp_path / "progress.csv").write_text(text[: len(text) - 150])
    whole, torn = read_foreign(SB3 / "progress.csv").records, read_foreign(tmp_path / "progress.csv").records
    assert torn[:-1] == whole[: len(torn) - 1]


def test_other_files_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(UnknownRunError, match="holds no log that can be read"):
        read_foreign(tmp_path)
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RunDamagedError, match="no column time/total_timesteps"):
        read_foreign(tmp_path / "table.csv")
    (tmp_path / "monitor.csv").write_text("#{}\na,b\n1,2\n")
    with pytest.raises(RunDamagedError, match="no columns r, l and t"):
        read_foreign(tmp_path / "monitor.csv")
    (tmp_path / "monitor.csv").write_text("#{}\nr,l,t\n")
    with pytest.raises(RunDamagedError, match="holds no records yet"):
        read_foreign(tmp_path / "monitor.csv")


def test_a_tensorboard_folder_without_known_names_is_refused(tmp_path):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path))
    writer.add_event(
        Event(step=1, wall_time=1.0, summary=Summary(value=[Summary.Value(tag="acc", simple_value=1.0)]))
    )
    writer.close()
    with pytest.raises(RunDamagedError, match=r"no metric of Stable-Baselines3 or CleanRL \(but acc\)"):
        read_foreign(tmp_path)


@pytest.mark.parametrize("broken", ["nan", "inf"])
def test_a_return_that_is_not_finite_is_a_finding(broken, tmp_path):
    rows = "".join(f"{total},20,{time}.0\n" for time, total in enumerate(("9.0", broken, "-inf", "9.0")))
    (tmp_path / "0.monitor.csv").write_text('#{"t_start": 0.0, "env_id": "Odd-v0"}\nr,l,t\n' + rows)
    assert roots(tmp_path)[0] == "nonfinite"


def changes_of(path: Path) -> list[str]:
    found = diagnose_path(str(path))
    return [remedy_text(alert.to_json()) for alert in found.roots]


def test_remedies_speak_the_language_of_the_tool():
    assert changes_of(SB3)[0] == (
        "try learning_rate: lower it by a factor of 33 (it is 0.1), target_kl: set it to 0.02 at most"
    )
    assert changes_of(LOGS / "cleanrl_rate_too_low")[0].startswith(
        "try --learning-rate: raise it by a factor"
    )
    ours = [Change("algo.num_epochs", None, None, "lower it"), Change("algo.clip_coef", None, 0.2, "x")]
    assert [one.path for one in their_changes("Stable-Baselines3 W&B", ours, {})] == [
        "n_epochs",
        "clip_range",
    ]
    told = their_changes("CleanRL TensorBoard", ours, {"update_epochs": 40})
    assert [(one.path, one.advice) for one in told] == [
        ("--update-epochs", "lower it (it is 40)"),
        ("--clip-coef", "set it to 0.2"),
    ]


def test_no_remedy_for_others_is_nameless():
    """Whatever rules propose has a name there, or says whose name it is."""
    paths = {path for rule in RULES for path in _paths(rule)}
    for owner in ("Stable-Baselines3", "CleanRL"):
        for path in paths:
            (one,) = their_changes(owner, [Change(path, None, None, "raise it")], {})
            assert one.path != path or one.advice.endswith("(as gymsolve calls it)")


def _paths(rule):
    context = Context(config=None)
    evidence = Evidence(rule.metric, 1.0, 0.5, ">")
    return [change.path for change in rule.remedy(context, evidence)]


def copy(source: Path, target: Path) -> Path:
    shutil.copytree(LOGS / source, target)
    return target


def test_a_folder_with_several_logs_lists_them_instead_of_merging(tmp_path):
    first, second = (
        copy("sb3_rate_too_high", tmp_path / "a"),
        copy("sb3_tensorboard", tmp_path / "deep" / "b"),
    )
    with pytest.raises(UsageError, match="holds 2 logs; name one of them:") as caught:
        read_foreign(tmp_path)
    assert f"\n  {first}\n  {second}" in str(caught.value)
    (tmp_path / "one").mkdir()
    for name in ("x.monitor.csv", "y.monitor.csv"):
        shutil.copy(SB3 / "monitor.csv", tmp_path / "one" / name)
    with pytest.raises(UsageError, match=r"x\.monitor\.csv"):
        read_foreign(tmp_path / "one")
    both = tmp_path / "events"
    both.mkdir()
    for name in ("sb3_tensorboard", "cleanrl_rate_too_low"):
        shutil.copy(LOGS / name / "events.out.tfevents.0", both / f"{name}.tfevents")
    with pytest.raises(UsageError, match="holds 2 logs"):
        read_foreign(both)


def test_copies_of_one_training_are_one_log_and_later_ones_are_not(tmp_path):
    log = read_foreign(LOGS / "sb3_two_copies")
    assert log.env_id == "CartPole-v1"
    episodes = [one for one in log.records if "rollout/episodes" in one]
    lines = [(LOGS / "sb3_two_copies" / f"{copy}.monitor.csv").read_text().splitlines() for copy in (0, 1)]
    assert episodes[-1]["rollout/episodes"] == sum(len(one) - 2 for one in lines)
    elapsed = [one["time/elapsed"] for one in log.records if "time/elapsed" in one]
    assert elapsed == sorted(elapsed)
    target = copy("sb3_two_copies", tmp_path / "again")
    (target / "progress.csv").unlink()
    path = target / "1.monitor.csv"
    head = json.loads(path.read_text().splitlines()[0][1:])
    head["t_start"] += 10_000
    path.write_text("\n".join(["#" + json.dumps(head), *path.read_text().splitlines()[1:]]) + "\n")
    with pytest.raises(UsageError, match="holds 2 logs"):
        read_foreign(target)


def write_cleanrl(folder: Path, *, settings: bool, start: int = 0) -> None:
    """What CleanRL's scripts do: `SummaryWriter(f"runs/{run_name}")`, `add_text`, `add_scalar`."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder))
    if settings:
        args = {"env_id": "Acrobot-v1", "learning_rate": 2.5e-07, "total_timesteps": 500000, "cuda": True}
        rows = "\n".join(f"|{key}|{value}|" for key, value in args.items())
        writer.add_text("hyperparameters", "|param|value|\n|-|-|\n" + rows)
    for step in range(start, start + 500, 100):
        writer.add_scalar("charts/episodic_return", -500.0, step)
        writer.add_scalar("losses/approx_kl", 0.0, step)
    writer.close()


def test_settings_and_environment_of_cleanrl_are_read(tmp_path):
    write_cleanrl(tmp_path / "Acrobot-v1__ppo__3__1700000000", settings=True)
    log = read_foreign(tmp_path)
    assert log.env_id == "Acrobot-v1"
    assert log.settings == {
        "env_id": "Acrobot-v1",
        "learning_rate": 2.5e-07,
        "total_timesteps": 500000,
        "cuda": True,
    }
    assert log.context.budget == 500000
    write_cleanrl(tmp_path / "b" / "CartPole-v1__ppo__3__1700000000", settings=False)
    assert read_foreign(tmp_path / "b").env_id == "CartPole-v1"


def test_a_training_that_went_on_in_another_file_is_one_log(tmp_path):
    for start in (0, 500):
        write_cleanrl(tmp_path / f"part{start}", settings=False, start=start)
        (file,) = (tmp_path / f"part{start}").iterdir()
        (tmp_path / "whole").mkdir(exist_ok=True)
        file.rename(tmp_path / "whole" / f"events.out.tfevents.{start}")
    assert read_foreign(tmp_path / "whole").records[-1]["env_steps"] == 900


def test_a_damaged_event_file_is_read_up_to_the_damage_and_says_so(tmp_path):
    data = bytearray((LOGS / "sb3_tensorboard" / "events.out.tfevents.0").read_bytes())
    whole = read_foreign(LOGS / "sb3_tensorboard").records
    place = data.index(b"train/approx_kl", len(data) // 2)
    data[place - 2 : place] = b"\xff\xff"  # the length of the name
    (tmp_path / "events.out.tfevents.0").write_bytes(data)
    log = read_foreign(tmp_path)
    assert 0 < len(log.records) < len(whole)
    assert "is damaged from byte" in log.problems[0]


@pytest.mark.parametrize(
    "name", ["logs/nothing", "nothing.csv", "./nothing", "/no/such/place", "x" * 300 + "/y"]
)
def test_a_missing_path_is_named_as_missing(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownRunError, match="there is no file or folder"):
        diagnose_path(name)
