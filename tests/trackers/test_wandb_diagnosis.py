"""`gymsolve diagnose` reads runs of W&B: offline files, and a stand-in server through W&B's own client."""

import csv
import json
import math
from pathlib import Path

import pytest
from own_process import commands_in_one_process, python
from wandb_server import ENTITY, Store

from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.doctor.external_logs.find import wandb_log
from gymsolve.doctor.external_logs.wandb import WandbRun
from gymsolve.errors import RunDamagedError, UsageError
from gymsolve.runs.refs import find_run

LOGS = Path(__file__).parents[1] / "metrics" / "logs"
FAULT = ["train", "CartPole-v1", "--steps", "4000", "--set", "algo.learning_rate=0.3"]
QUIET = {"WANDB_SILENT": "true"}
LOG_ROWS = """
import json, sys, wandb
rows = json.load(open(sys.argv[1]))
with wandb.init(project="p", mode="offline", config={"env_id": "CartPole-v1"}) as run:
    for row in rows:
        run.log(row)
"""


def sb3_rows() -> list[dict[str, float]]:
    """What Stable-Baselines3 sends to W&B with `sync_tensorboard`: its names, and the step beside them."""
    with (LOGS / "sb3_rate_too_high" / "progress.csv").open() as file:
        table = list(csv.DictReader(file))
    return [
        {name: float(cell) for name, cell in row.items() if cell}
        | {"global_step": int(row["time/total_timesteps"])}
        for row in table
    ]


@pytest.fixture(scope="module")
def sb3_offline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """W&B's folder with an offline run of Stable-Baselines3."""
    folder = tmp_path_factory.mktemp("sb3")
    (folder / "rows.json").write_text(json.dumps(sb3_rows()))
    done = python(folder, QUIET, "-c", LOG_ROWS, "rows.json")
    assert done.returncode == 0, done.stderr
    return folder / "wandb"


def test_an_offline_run_of_ours_is_diagnosed_as_the_run_itself(tmp_path):
    done = python(
        tmp_path, QUIET | {"WANDB_MODE": "offline"}, "-m", "gymsolve", *FAULT, "--track", "wandb", "--json"
    )
    assert done.returncode == 0, done.stderr
    run = find_run("@last")
    there, here = diagnose_path(str(run.path / "wandb")).to_json(), diagnose_path(run.id).to_json()
    assert there["log"] == "gymsolve W&B"
    assert there["env_id"] == "CartPole-v1"
    assert there["run"] == run.id
    for told in ("records", "env_steps"):
        assert there[told] == here[told]
    assert [one["id"] for one in there["roots"]] == [one["id"] for one in here["roots"]]
    assert there["roots"][0]["changes"] == here["roots"][0]["changes"]


def test_an_offline_run_of_stable_baselines_is_diagnosed(sb3_offline, tmp_path):
    told = diagnose_path(str(sb3_offline)).to_json()
    assert told["log"] == "Stable-Baselines3 W&B"
    assert told["env_id"] == "CartPole-v1"
    assert told["roots"][0]["id"] == "kl_shock"
    (file,) = sb3_offline.glob("offline-run-*/run-*.wandb")
    assert diagnose_path(str(file)).to_json()["roots"] == told["roots"]
    torn = tmp_path / "run-torn.wandb"
    torn.write_bytes(file.read_bytes()[: file.stat().st_size * 2 // 3])
    assert 0 < diagnose_path(str(torn)).to_json()["records"] < told["records"]


def test_a_file_that_is_none_of_theirs_is_refused(tmp_path):
    strange = tmp_path / "run-strange.wandb"
    strange.write_bytes(b"no such thing, and nothing like it either" * 10)
    with pytest.raises(RunDamagedError):
        diagnose_path(str(strange))


def test_a_damaged_file_is_one_sentence_wherever_the_damage_is(sb3_offline, tmp_path):
    (file,) = sb3_offline.glob("offline-run-*/run-*.wandb")
    whole, damaged = file.read_bytes(), tmp_path / "run-damaged.wandb"
    number = whole.index(b"global_step") + len(b"global_step") + 3  # where its JSON begins
    assert whole[number : number + 1].isdigit()
    for place in (0, number - 1, number):  # the beginning, the length of a field, what it holds
        damaged.write_bytes(whole[:place] + b"}" + whole[place + 1 :])
        with pytest.raises(RunDamagedError, match=r"run-damaged\.wandb: is no file of W&B, or a damaged one"):
            diagnose_path(str(damaged))


NAN = math.nan
RETURN = {"charts/episodic_return": 1.0}


@pytest.mark.parametrize(
    ("odd", "config", "kind"),
    [
        ({"global_step": NAN, **RETURN}, {}, "CleanRL W&B"),
        ({"global_step": math.inf, **RETURN}, {}, "CleanRL W&B"),
        ({"global_step": 100, "_timestamp": None, **RETURN}, {}, "CleanRL W&B"),
        ({"global_step": 100, "_timestamp": "now", **RETURN}, {}, "CleanRL W&B"),
        (RETURN | {"global_step": 100}, {"env": "Hopper-v5", "algo": "sac", "run": 1}, "CleanRL W&B"),
    ],
)
def test_rows_that_others_may_have_logged_break_nothing(odd, config, kind):
    rows = [odd, RETURN | {"global_step": 200, "_timestamp": 1.0}]
    log = wandb_log(WandbRun("abc", "there", rows, config))
    assert log.kind == kind
    assert log.records[-1]["env_steps"] == 200


def test_records_of_ours_without_a_step_are_left_out():
    rows = [{"env_steps": step, "rollout/ep_rew_mean": 1.0} for step in (NAN, "x", None, 200)]
    config = {"env": {"id": "CartPole-v1"}, "algo": {"name": "ppo"}, "run": "abc"}
    log = wandb_log(WandbRun("abc", "there", rows, config, {"result/threshold": "unknown"}))
    assert [record["env_steps"] for record in log.records] == [200]
    assert log.context.threshold is None


def test_a_folder_of_several_runs_is_refused(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"offline-run-{name}").mkdir()
        (tmp_path / f"offline-run-{name}" / f"run-{name}.wandb").write_bytes(b"")
    with pytest.raises(UsageError, match="holds 2 logs; name one of them"):
        diagnose_path(str(tmp_path))


def test_an_online_run_is_diagnosed_through_the_interface(server: Store, tmp_path):
    server.history = {"abc123": sb3_rows()}
    place = f"wandb:{ENTITY}/cartpole/abc123"
    commands = (["diagnose", place, "--json"], ["diagnose", place.replace("abc123", "nope")])
    found, absent = commands_in_one_process(tmp_path, QUIET | server.environment, *commands)
    assert found["code"] == 0, found
    told = json.loads(found["out"])
    assert told["roots"][0]["id"] == "kl_shock"
    assert told["log"] == "Stable-Baselines3 W&B"
    assert absent["code"] == 2
    assert f"W&B has no run '{ENTITY}/cartpole/nope'" in absent["err"]
    assert "Traceback" not in absent["err"]


def test_without_an_account_or_a_whole_name_one_sentence_says_so(tmp_path):
    nobody = {"HOME": str(tmp_path), "NETRC": str(tmp_path / "netrc"), "WANDB_API_KEY": ""}
    done = python(tmp_path, QUIET | nobody, "-m", "gymsolve", "diagnose", "wandb:a/b/c")
    assert done.returncode == 2
    assert "wandb login" in done.stderr
    assert "Traceback" not in done.stderr
    with pytest.raises(UsageError, match="ENTITY/PROJECT/RUN"):
        diagnose_path("wandb:abc")
