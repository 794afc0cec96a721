"""The table of runs: what fits, in which order, and what is new since the last look."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gymsolve.errors import UsageError
from gymsolve.runs.run import Run
from gymsolve.view.runs import get_run, list_runs
from gymsolve.view.runs_table import RunsTable

KEPT = Path(__file__).parents[1] / "runs" / "known_good" / "cartpole"


@pytest.fixture
def folder(place: Path) -> Path:
    """Five runs of the same records: one damaged, one that claims to run elsewhere."""
    for digit in range(5):
        name = f"2026010{digit + 1}-000000-CartPole-v1-ppo-000{digit}"
        shutil.copytree(KEPT, place / "runs" / name)
        change(place / "runs" / name, id=name, created=f"2026-01-0{digit + 1}T00:00:00+00:00")
    (place / "runs" / name / "run.json").write_text("{")
    return place / "runs"


def change(run: Path, **facts: Any) -> None:
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def ids(table: RunsTable, query: str = "", **options: Any) -> list[int]:
    return [int(row.id[-4:], 16) for row in table.look(query, **options).rows]


def test_rows_say_what_the_details_say(folder: Path) -> None:
    row = RunsTable(folder).look("ppo-0000").rows[0]
    told, listed = get_run(row.id, folder), list_runs("ppo-0000", None, folder)[0]
    assert {name: vars(row)[name] for name in vars(listed)} == vars(listed)
    assert (row.threshold, row.best_reward) == (told.threshold, told.best_reward)
    assert row.progress == pytest.approx(told.last_metrics["progress"])
    assert row.curve[-1][0] <= told.env_steps
    name, rows = "rollout/ep_rew_mean", Run(folder / row.id).read_metrics().rows
    recorded = {one["env_steps"]: one[name] for one in rows if name in one}
    assert dict(row.curve).items() <= recorded.items()


def test_filters_sorts_and_pages(folder: Path) -> None:
    table = RunsTable(folder)
    assert ids(table, descending=False) == [4, 0, 1, 2, 3]  # the damaged one has no date
    assert ids(table, limit=2) == [3, 2]
    assert ids(table, limit=2, offset=2) == [1, 0]
    assert ids(table, "status:damaged") == [4]
    assert table.look("env:cartpole").total == 4
    change(folder / "20260102-000000-CartPole-v1-ppo-0001", env_steps=7, steps=10)
    assert ids(table, "env:cartpole", sort="steps", descending=False)[0] == 1
    for words, options in (("stats:solved", {}), ("status:happy", {}), ("", {"sort": "size"})):
        with pytest.raises(UsageError):
            table.look(words, **options)


def test_what_changes_is_seen_and_what_is_deleted_is_gone(folder: Path) -> None:
    table, one = RunsTable(folder), folder / "20260103-000000-CartPole-v1-ppo-0002"
    (before,) = table.look("ppo-0002").rows
    assert before.alerts == []
    event = {"id": "a", "severity": "warn", "title": "<b>first</b>", "env_steps": 5}
    Run(one).append_event("alert", **event)
    Run(one).append_event("alert", **event | {"id": "b", "severity": "error", "title": "second"})
    Run(one).append_event("alert", **event | {"id": "c"})
    Run(one).append_event("alert_cleared", **event | {"id": "c"})
    (after,) = table.look("ppo-0002").rows
    assert [alert["title"] for alert in after.alerts] == ["second", "<b>first</b>"]
    Run(one).append_event("alert", **event | {"id": "d", "title": "third", "because": "b"})
    assert table.look("ppo-0002").rows[0].alerts == after.alerts  # it follows from the second
    Run(one).append_event("alert_cleared", **event | {"id": "b"})
    titles = [alert["title"] for alert in table.look("ppo-0002").rows[0].alerts]
    assert titles == ["<b>first</b>", "second; its consequences remain"]
    change(one, status="running", host="elsewhere")
    assert table.look("ppo-0002").rows[0].status == "running"
    assert table.look("ppo-0002").running == 1
    Run(one).append_metrics({"env_steps": 12_345})
    assert table.look("ppo-0002").rows[0].env_steps == 12_345
    shutil.rmtree(one)
    assert table.look("ppo-0002").total == 0
    assert table.look().total == 4


def test_damage_is_a_row_of_its_own(folder: Path) -> None:
    one = folder / "20260101-000000-CartPole-v1-ppo-0000"
    (one / "events.jsonl").write_bytes(b"\xff\xfe\n[]\n")
    (one / "config.json").write_text("[]")
    (one / "metrics.jsonl").write_bytes(b"\0" * 100)
    row = RunsTable(folder).look("ppo-0000").rows[0]
    assert (row.curve, row.alerts, row.threshold) == ([], [], None)
    assert RunsTable(folder).look("ppo-0004").rows[0].status == "damaged"
