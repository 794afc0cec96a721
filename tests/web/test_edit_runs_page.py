"""The table of runs in a real browser: names, tags and deletion, columns, and groups by a setting."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from gymsolve.runs.deleted import deleted_runs
from gymsolve.runs.index import list_runs
from gymsolve.runs.labelling import tag_run
from gymsolve.runs.run import Run
from tests.web.conftest import Served
from tests.web.test_watch import fetch, fits_a_phone, keep, look_at_both_themes

GAMMAS = (0.98, 0.9, 0.995)
expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def trained(server: Served) -> list[Run]:
    """Two seeds of three values of a setting."""
    runs = []
    for at, gamma in enumerate(GAMMAS * 2):
        run = keep(server.runs_dir, f"2026010{at + 1}-000000-CartPole-v1-ppo-000{at}", seed=at // 3)
        stored = run.config_json()
        stored["config"]["algo"]["gamma"] = gamma
        (run.path / "config.json").write_text(json.dumps(stored))
        runs.append(run)
    return runs


def rows(page: Page) -> list[str]:
    """Groups and ids of runs, as they stand in the table."""
    found: list[str] = page.locator("tbody tr").evaluate_all(
        "rows => rows.map((row) => row.className === 'group' ? row.querySelector('.code').textContent"
        " : row.querySelector('.who a').href.split('/').at(-1))"
    )
    return found


def test_runs_are_grouped_by_a_setting(
    server: Served, trained: list[Run], page: Page, accessible: Callable[[Page], None]
) -> None:
    page.goto(server.address("/"))
    page.get_by_label("Group by").fill("gamma")  # a part of its name will do
    page.get_by_label("Group by").press("Tab")
    page.locator("tr.group").nth(2).wait_for()
    newest_first = {
        gamma: [run.id for run in (trained[at + 3], trained[at])] for at, gamma in enumerate(GAMMAS)
    }
    assert rows(page) == [
        name for gamma in sorted(GAMMAS) for name in (f"algo.gamma = {gamma}", *newest_first[gamma])
    ]
    expect(page.locator("tr.group").first).to_contain_text("2 runs · 2 solved")
    page.get_by_label("Choose the runs with algo.gamma = 0.9", exact=True).check()
    expect(page.get_by_role("button", name="Compare 2")).to_be_enabled()
    look_at_both_themes(page, accessible)
    fits_a_phone(page)
    page.reload()  # the address knows it
    page.locator("tr.group").nth(2).wait_for()
    page.get_by_label("Group by").fill("nothing.of.that")
    page.get_by_label("Group by").press("Tab")
    expect(page.get_by_role("status")).to_contain_text("No setting, or more than one, is called")
    page.get_by_label("Group by").fill("")
    page.get_by_label("Group by").press("Tab")
    expect(page.locator("tr.group")).to_have_count(0)


def test_columns_are_chosen_and_remembered(server: Served, trained: list[Run], page: Page) -> None:
    page.goto(server.address("/"))
    heads = page.locator("thead th[scope=col]")
    expect(heads).to_have_count(8)
    page.get_by_text("Columns", exact=True).first.click()
    page.get_by_role("checkbox", name="Alerts").uncheck()
    page.get_by_role("checkbox", name="Seed").check()
    page.get_by_label("Add a setting").fill("algo.gamma")
    page.get_by_label("Add a setting").press("Tab")
    cells = page.locator("td.c-setting")
    expect(cells.first).to_have_text("0.995")
    page.reload()
    expect(heads).to_have_count(9)
    assert "Alerts" not in heads.all_inner_texts()
    shown = dict(zip(rows(page), cells.all_inner_texts(), strict=True))
    assert shown == {run.id: str(run.config_json()["config"]["algo"]["gamma"]) for run in trained}
    fits_a_phone(page)
    page.get_by_text("Columns", exact=True).first.click()
    page.get_by_role("button", name="The usual columns").click()
    expect(heads).to_have_count(8)


def test_a_run_is_renamed_tagged_and_found(
    server: Served,
    trained: list[Run],
    page: Page,
    accessible: Callable[[Page], None],
    complaints: list[str],
) -> None:
    first, second = trained[0], trained[1]
    tag_run(second, ["old"])
    page.goto(server.address("/"))
    for run in (first, second):
        page.get_by_label(f"Choose {run.id}").check()
    page.get_by_role("button", name="Tag 2").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("checkbox", name="old").uncheck()
    dialog.get_by_label("Add").fill("baseline, paper")
    accessible(page)
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".tag")).to_have_count(4)
    assert [run.summary().tags for run in (first, second)] == [["baseline", "paper"]] * 2
    page.locator(".tag", has_text="paper").first.click()
    expect(page.get_by_label("Filter")).to_have_value("tag:paper")
    expect(page.locator("tbody tr")).to_have_count(2)

    page.goto(f"{server.origin}/run/{first.id}")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("dialog").get_by_label("Name").fill("steady@walker")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("cannot be the name of a run")
    page.get_by_role("dialog").get_by_label("Name").fill("steady walker")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_contain_text("steady walker")
    expect(page.locator("main")).to_contain_text(first.id)
    look_at_both_themes(page, accessible)
    fits_a_phone(page)
    page.goto(f"{server.origin}/?query=steady")
    page.get_by_role("link", name="steady walker").wait_for()
    complaints[:] = [one for one in complaints if "Failed to load resource" not in one]  # the refused name


def test_runs_are_deleted_after_a_question(server: Served, trained: list[Run], page: Page) -> None:
    gone, kept = trained[4], trained[5]
    fork = keep(server.runs_dir, "20260109-000000-fork-0001", parent={"run": gone.id, "checkpoint": "1000"})
    page.goto(server.address(f"/run/{gone.id}"))
    page.get_by_role("button", name="Delete").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("This cannot be undone")
    expect(question).to_contain_text(f"Runs that began from it stay: {fork.id}")
    expect(question.get_by_label("Command", exact=True)).to_contain_text(f"gymsolve runs delete {gone.id}")
    question.get_by_role("button", name="Cancel").click()
    assert gone.path.exists()
    page.get_by_role("button", name="Delete").click()
    question.get_by_role("button", name="Delete for good").click()
    page.get_by_label(f"Choose {kept.id}").wait_for()  # the list
    assert not gone.path.exists()
    assert set(deleted_runs(server.runs_dir)) == {gone.id}
    page.goto(f"{server.origin}/run/{fork.id}")
    expect(page.locator("main")).to_contain_text(f"from {gone.id}@1000 (deleted on 20")


@pytest.mark.parametrize(
    "body",
    [
        {"runs": ["../elsewhere"]},
        {"runs": ["env:CartPole"]},
        {"runs": []},
        {"runs": "all"},
        {"runs": ["@last"]},
        {},
    ],
)
def test_only_whole_ids_name_what_is_deleted(
    server: Served, trained: list[Run], body: dict[str, Any]
) -> None:
    before = {run.id for run in list_runs(server.runs_dir)}
    status, _, content = fetch(server, "/api/runs/delete", body=body)
    assert status in (400, 404), content
    assert {run.id for run in list_runs(server.runs_dir)} == before
    assert Path(server.runs_dir).exists()


def test_runs_beside_each_other_have_short_names_and_six_fit(
    server: Served, trained: list[Run], page: Page
) -> None:
    there = [run for run in trained if run.path.exists()]
    more = keep(server.runs_dir, "20260108-000000-CartPole-v1-ppo-00ff", seed=0)
    runs = [*there, more][:6]
    page.goto(server.address(f"/compare?runs={','.join(run.id for run in runs)}"))
    heads = page.locator("#results thead th")
    expect(heads).to_have_count(len(runs))
    names = heads.locator("a").all_inner_texts()
    assert len(set(names)) == len(runs)
    assert not [name for name in names if "2026" in name]
    fits = "() => document.querySelector('#results').getBoundingClientRect().right <= 1280"
    page.wait_for_function(fits)
    assert page.locator("#results td.id").all_inner_texts() == [run.id for run in runs]
