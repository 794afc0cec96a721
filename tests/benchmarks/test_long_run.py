"""Reading a run with far more records than a run writes today."""

import json
import tracemalloc

import gymsolve
from benchmarks.long_run import lengthen
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.service.report import report_run
from gymsolve.view.runs import get_run


def test_a_very_long_run_is_read_in_bounded_memory(tmp_path):
    changes = {"steps": 4000, "env.num_envs": 4, "algo.num_steps": 16, "eval.episodes": 2, "solved_at": 1e9}
    run = gymsolve.train("CartPole-v1:a2c", changes, runs_dir=tmp_path).run
    records = lengthen(run.path / "metrics.jsonl", 12_000_000, steps=4000)
    size = (run.path / "metrics.jsonl").stat().st_size
    newest = json.loads((run.path / "metrics.jsonl").read_text().splitlines()[-1])
    tracemalloc.start()
    details = get_run(run.id, tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size
    assert details.last_metrics["train/loss"] == newest["train/loss"]
    assert len(details.evaluations) >= 19
    told = f"metrics.jsonl has {records + len(details.evaluations):,} records: one in"
    assert any(problem.startswith(told) for problem in details.problems)
    found = diagnose_path(run.id, tmp_path)
    assert found.records < 5000
    assert any(problem.startswith(told) for problem in found.problems)
    report = report_run(run.id, tmp_path)
    assert any(problem.startswith(told) for problem in report.problems)
