"""Real logs of other frameworks, with known faults, are read and diagnosed.

`sb3_rate_too_high` and `sb3_tensorboard`: Stable-Baselines3 2.9.2, PPO on CartPole-v1 with a learning rate of
0.1, logged to CSV and TensorBoard at once. `cleanrl_rate_too_low`: PPO on CartPole-v1 with a learning rate
of 2.5e-7, logged under CleanRL's names.
"""

import csv
import math
from pathlib import Path

import pytest

from gymsolve.errors import RunDamagedError, UnknownRunError
from gymsolve.metrics.catalog import undeclared
from gymsolve.metrics.diagnosis import diagnose
from gymsolve.metrics.foreign import read_foreign

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
