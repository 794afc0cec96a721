"""`make same` tells a changed bit from a changed clock, and names where two versions differ."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from tools.same.cases import CASES
from tools.same.digest import digest_run, find_differences

STATE = {
    "format": 2,
    "parts": {
        "counters": {"env_steps": 64, "seconds": 1.5},
        "averager": {"sums": {"time/fps": 9.0, "train/loss": 0.5}},
        "bonus": {"file": "RUNS/a-run/extra"},
    },
}
RECORDS = [
    {"env_steps": 32, "train/loss": 0.5, "time/fps": 100.0},
    {"env_steps": 64, "train/loss": 0.25, "eval/seconds": 0.1, "eval/mean_reward": 9.0},
]


def write_run(folder, *, weight=1.0, moment=1.0, state=STATE, records=RECORDS):
    run = folder / "a-run"
    last = run / "checkpoints" / "64"
    last.mkdir(parents=True)
    (run / "checkpoints" / "last").write_text("64\n")
    save_file({"actor/weight": np.full(3, weight, np.float32)}, last / "policy.safetensors")
    save_file({"optimizer/moment": np.full(3, moment, np.float32)}, last / "trainer.safetensors")
    (last / "trainer.json").write_text(json.dumps(state).replace("RUNS", str(folder)))
    (run / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return run


@pytest.fixture
def differences(tmp_path):
    base = digest_run(write_run(tmp_path / "base"))
    return lambda **changes: find_differences(base, digest_run(write_run(tmp_path / "tree", **changes)))


def changed(value, *path, to):
    """A copy of a JSON value with one entry replaced."""
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return copy


def test_equal_runs_in_other_folders_are_the_same(differences):
    assert differences() == []


def test_times_do_not_count(differences):
    state = changed(STATE, "parts", "counters", "seconds", to=9.0)
    state = changed(state, "parts", "averager", "sums", "time/fps", to=1.0)
    records = changed(RECORDS, 0, "time/fps", to=1.0)
    records = changed(records, 1, "eval/seconds", to=7.0)
    assert differences(state=state, records=records) == []


def test_one_bit_of_a_weight_counts(differences):
    nearest = float(np.nextafter(np.float32(1.0), np.float32(2.0)))
    assert differences(weight=nearest) == ["policy: actor/weight, 1 of 1 names in all"]


def test_one_bit_of_the_optimizer_counts(differences):
    nearest = float(np.nextafter(np.float32(1.0), np.float32(2.0)))
    assert differences(moment=nearest) == ["trainer: optimizer/moment, 1 of 5 names in all"]


def test_a_counter_counts(differences):
    state = changed(STATE, "parts", "counters", "env_steps", to=65)
    assert differences(state=state) == ["trainer: trainer.json counters, 1 of 5 names in all"]


def test_the_first_differing_metric_is_named(differences):
    records = changed(RECORDS, 1, "train/loss", to=0.2500001)
    assert differences(records=records) == [
        "metrics: record 2 (env_steps 64): train/loss was 0.25, is 0.2500001"
    ]


def test_a_metric_that_is_new_or_gone_counts(differences):
    records = changed(RECORDS, 0, "train/new", to=1.0)
    assert differences(records=records) == ["metrics: record 1 (env_steps 32): train/new was absent, is 1.0"]


def test_a_missing_record_counts(differences):
    assert differences(records=RECORDS[:1]) == ["metrics: there were 2 records, and there are 1"]


def test_cases_have_different_command_lines():
    lines = {json.dumps(case.commands()) for case in CASES.values()}
    assert len(lines) == len(CASES) == 27
