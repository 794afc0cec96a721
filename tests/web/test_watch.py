"""Watching runs in a real browser: the table, one run while it trains, runs compared, and what buttons do."""

import json
import math
import os
import random
import shutil
import signal
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from gymsolve.errors import UsageError
from gymsolve.runs import list_checkpoints, list_runs
from gymsolve.runs.run import Run
from gymsolve.service.agent_limits import Home, Limits
from gymsolve.service.logbook import read_logbook
from gymsolve.text import count, number, score, took
from gymsolve.view.report.comparison import contend
from gymsolve.view.report.seeds import seed_curves
from gymsolve.view.runs import get_run
from gymsolve.web.route import Ask
from gymsolve.web.routes import ROUTES
from tests.processes import children_of
from tests.web.conftest import Served, serving

KEPT = Path(__file__).parents[1] / "runs" / "known_good" / "cartpole"
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
EVIL_ID = "20260101-000000-evil-0000"
THEMES = ("light", "dark")
expect.set_options(timeout=60_000)  # a busy machine takes its time


def keep(folder: Path, run_id: str, *, seed: int = 0, gain: float = 1.0, **facts: Any) -> Run:
    """A copy of the run that is kept for tests, with another seed and other returns."""
    shutil.copytree(KEPT, folder / run_id)
    run = Run(folder / run_id)
    info, config = run.path / "run.json", run.path / "config.json"
    info.write_text(json.dumps(run.info() | {"id": run_id, "seed": seed} | facts))
    stored = run.config_json()
    stored["config"]["seed"] = seed
    config.write_text(json.dumps(stored))
    rows = [
        {key: value * gain if key == "eval/mean_reward" else value for key, value in row.items()}
        for row in run.read_metrics_raw().rows
    ]
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return run


@pytest.fixture(scope="module")
def kept(server: Served) -> list[Run]:
    """Three seeds of one configuration, a run whose name is a script, and one that cannot be read."""
    folder = server.runs_dir
    seeds = [
        keep(folder, f"20260102-00000{seed}-CartPole-v1-ppo-000{seed}", seed=seed, gain=1 + seed / 10)
        for seed in range(3)
    ]
    keep(folder, EVIL_ID, name=EVIL, reason=EVIL, status="stopped", host="elsewhere")
    shutil.copytree(KEPT, folder / "20260101-000000-broken-0001")
    (folder / "20260101-000000-broken-0001" / "run.json").write_text('{"schema_version": 1')
    return seeds


def fetch(
    served: Served, path: str, *, body: dict[str, Any] | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """A request as a page of the server would make it."""
    place = urlsplit(served.origin)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=60)
    known = {"Cookie": f"gymsolve_{place.port}={served.token}", "Origin": served.origin, **headers}
    method = "GET" if body is None else "POST"
    connection.request(method, path, None if body is None else json.dumps(body), known)
    answer = connection.getresponse()
    found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return found


def told(served: Served, path: str, **body: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(fetch(served, path, body=body or None)[2])
    return answer


def drawn(page: Page, figure: int = 0) -> list[list[float | None]]:
    """The columns of a chart, as it has them."""
    columns: list[list[float | None]] = page.evaluate(
        "at => [...document.querySelectorAll('.plot')][at].chart.columns.map((one) => [...one])", figure
    )
    return columns


def tile(page: Page, label: str) -> str:
    return page.locator(".tile", has_text=label).locator("b").inner_text()


def fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("() => document.documentElement.scrollWidth <= 390")  # charts follow the width
    page.set_viewport_size({"width": 1280, "height": 900})


def look_at_both_themes(page: Page, accessible: Callable[[Page], None]) -> None:
    for theme in THEMES:
        page.get_by_label("Theme").select_option(theme)
        accessible(page)


def test_a_run_is_started_watched_and_stopped(
    server: Served, page: Page, accessible: Callable[[Page], None]
) -> None:
    """The first test of the file: the folder of runs is empty yet."""
    page.goto(server.address("/"))
    expect(page.locator("main")).to_contain_text("There are no runs in")
    expect(page.locator("main")).to_contain_text("gymsolve train CartPole-v1")
    accessible(page)

    page.get_by_role("button", name="Start a run").click()
    page.get_by_label("Environment, or recipe").fill("CartPole-v1")
    page.get_by_label("Steps").fill("80000000")
    page.get_by_label("Settings to change").fill("video.enabled=false\neval.every=4096\nsolved_at=9999")
    page.get_by_role("button", name="Show the command").click()
    command = page.get_by_role("dialog").get_by_label("Command", exact=True)
    expect(command).to_contain_text("gymsolve train CartPole-v1 --set video.enabled=false")
    expect(command).to_contain_text(f"--steps 80000000 --runs-dir {server.runs_dir}")
    accessible(page)
    assert list_runs(server.runs_dir) == []  # nothing happens before it is confirmed
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/run/**", timeout=120_000)
    run = Run(server.runs_dir / page.url.rpartition("/")[2])
    assert run.status == "running"

    page.evaluate("window.mark = 'never loaded again'")
    grown = "least => document.querySelector('.plot')?.chart?.columns[0].length > least"
    page.wait_for_function(grown, arg=5, timeout=120_000)
    seen = len(drawn(page)[0])
    page.wait_for_function(grown, arg=seen, timeout=120_000)
    page.locator("#evaluations tbody tr").nth(1).wait_for(timeout=120_000)
    assert page.evaluate("window.mark") == "never loaded again"

    page.get_by_role("button", name="Stop", exact=True).click()
    question = page.get_by_role("dialog")
    expect(question.get_by_label("Command", exact=True)).to_contain_text(f"gymsolve stop {run.id}")
    question.get_by_role("button", name="Stop").click()
    page.locator("h1 .badge", has_text="stopped").wait_for(timeout=120_000)
    page.get_by_role("button", name="Resume").wait_for()
    assert (run.summary().status, run.summary().reason) == ("stopped", "stop file")
    numbers_agree(page, run)


def test_the_page_rounds_as_the_command_line_does(server: Served, page: Page) -> None:
    """Also where the stored number is a little less than the half it reads as, and exactly between two."""
    rng = random.Random(0)
    spans = [rng.uniform(-1, 1) * 10 ** rng.uniform(-6, 8) for _ in range(3000)]
    halves = [rng.randrange(-(2**22), 2**22) / 2 ** rng.randrange(8) for _ in range(3000)]
    read = [rng.randrange(-(10**7), 10**7) / rng.choice((10, 20, 100, 200, 1000, 2000)) for _ in range(3000)]
    values = [490.45, 490.25, 490.35, 1.0625, 1000500.0, 1001500.0, 0.0, *spans, *halves, *read]
    page.goto(server.address("/"))
    asked = """values => import('/static/words.js').then(({count, number, score, took}) => values.map(
        value => [count(value), number(value), score(value, Math.abs(value)), took(Math.abs(value))]))"""
    shown = page.evaluate(asked, values)
    told = [[count(value), number(value), score(value, abs(value)), took(abs(value))] for value in values]
    assert [pair for pair in zip(values, shown, told, strict=True) if pair[1] != pair[2]] == []
    endless = (
        "import('/static/words.js').then(({number}) => [number(Infinity), number(-Infinity), number(NaN)])"
    )
    assert page.evaluate(endless) == [number(math.inf), number(-math.inf), number(math.nan)]


def numbers_agree(page: Page, run: Run) -> None:
    """What the page shows is what `gymsolve runs show` tells."""
    details = get_run(str(run.path))
    expect(page.locator(".tile", has_text="steps").first.locator("b")).to_have_text(count(details.env_steps))
    expect(page.locator(".tile", has_text="best evaluation").locator("b")).to_have_text(
        number(details.best_reward)
    )
    assert tile(page, "training return") == number(details.last_metrics["rollout/ep_rew_mean"])
    newest = [
        (count(row["env_steps"]), score(row["eval/mean_reward"], row["eval/std_reward"]))
        for row in reversed(details.evaluations)
    ]
    rows = page.locator("#evaluations tbody tr").all()
    shown = [tuple(cell.inner_text() for cell in row.locator("td").all()) for row in rows]
    assert shown == newest[:12]
    assert page.get_by_role("link", name="Play checkpoint").count() == len(details.checkpoints)
    steps, returns, judged, *_ = drawn(page)
    records = {row["env_steps"]: row for row in details.evaluations}
    assert {x: y for x, y in zip(steps, judged, strict=True) if y is not None} == {
        step: row["eval/mean_reward"] for step, row in records.items()
    }
    assert [y for y in returns if y is not None][-1] == details.last_metrics["rollout/ep_rew_mean"]


def test_the_table_shows_names_as_text(
    server: Served, kept: list[Run], page: Page, accessible: Callable[[Page], None]
) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page.goto(server.address("/"))
    page.get_by_role("link", name=EVIL).wait_for()
    expect(page.get_by_text(EVIL).nth(1)).to_be_visible()  # the reason of the same run
    assert page.locator("main img").count() == 0
    expect(page.get_by_text("on elsewhere")).to_be_visible()
    expect(page.locator("tr.damaged")).to_contain_text("not valid JSON")
    look_at_both_themes(page, accessible)
    fits_a_phone(page)

    page.get_by_label("Filter").fill("ppo-000")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Run ↓").click()
    expect(page.locator("tbody tr .who")).to_contain_text([run.id for run in kept])
    expect(page.locator("tbody tr").first).to_contain_text(number(get_run(str(kept[0].path)).best_reward))

    page.get_by_role("link", name=f"Inspect {kept[0].id}").wait_for()
    page.goto(f"{server.origin}/inspect")
    page.get_by_role("link", name=kept[0].id, exact=True).wait_for()
    look_at_both_themes(page, accessible)
    fits_a_phone(page)
    axes = (
        "import('/static/chart.js').then(({apart, inSight, short}) => [apart(TICKS, short), inSight(0, 0)])"
    )
    for ticks, told in (([1.76211, 1.76212], ["1.76211", "1.76212"]), ([0, 0.5], ["0", "0.5"])):
        assert page.evaluate(axes.replace("TICKS", str(ticks))) == [told, [-1, 1]]

    page.goto(f"{server.origin}/run/{EVIL_ID}")
    expect(page.locator("h1")).to_contain_text(EVIL)
    assert page.locator("main img").count() == 0


def test_a_page_of_a_run_is_whole(
    server: Served, kept: list[Run], page: Page, accessible: Callable[[Page], None]
) -> None:
    run = kept[0]
    page.goto(server.address(f"/run/{run.id}"))
    page.get_by_text("checks found nothing").or_(page.locator(".alert").first).wait_for()
    for summary in page.locator("main summary").all():
        summary.click()
    settings = {one["path"]: one["value"] for one in told(server, f"/api/runs/{run.id}")["settings"]}
    assert settings["seed"] == "0"
    expect(page.get_by_role("row", name="algo.gamma")).to_contain_text(settings["algo.gamma"])
    look_at_both_themes(page, accessible)
    fits_a_phone(page)

    page.get_by_label("Axis").select_option("seconds")
    page.get_by_label("Smoothing").fill("0.9")
    assert len(drawn(page)) == 5  # x, as recorded, smoothed, evaluations, threshold
    charts = page.locator("figure.chart").count()
    page.get_by_label("Add a chart").fill("train")  # of many metrics
    page.get_by_label("Add a chart").press("Tab")
    expect(page.get_by_role("status")).to_contain_text("No metric, or more than one, is called 'train'")
    page.get_by_label("Add a chart").fill("value_loss")
    page.get_by_label("Add a chart").press("Tab")
    expect(page.locator("figure.chart")).to_have_count(charts + 1)
    page.wait_for_function("() => [...document.querySelectorAll('.plot')].at(-1).chart.columns[0].length > 5")
    losses = [row["train/value_loss"] for row in run.read_metrics().rows if "train/value_loss" in row]
    assert drawn(page, charts)[1] == losses

    page.get_by_label("Note").fill(f"{EVIL} was seen")
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator(".entry", has_text="was seen").wait_for()
    (entry,) = read_logbook("seen", 5, server.runs_dir).entries
    assert (entry.note, entry.by, entry.runs) == (f"{EVIL} was seen", "person", [run.id])

    page.get_by_role("button", name="Fork", exact=True).click()
    page.get_by_label("Settings to change").fill("algo.gamma=0.9\nalgo.learning_rate=0.5")
    page.get_by_role("button", name="Show the command").click()
    expect(page.get_by_role("dialog").locator(".doubts")).to_contain_text(
        "0.5 is far above what adam usually"
    )
    expect(page.get_by_role("dialog").get_by_label("Command", exact=True)).to_contain_text(
        f"gymsolve fork {run.id} --set algo.gamma=0.9 --set algo.learning_rate=0.5"
    )
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_zooming_shows_every_record_of_the_part(server: Served, page: Page) -> None:
    run = keep(server.runs_dir, "20260105-000000-CartPole-v1-ppo-ffff")
    rows = [
        {
            "env_steps": 50 * i,
            "time/elapsed": i / 8,
            "rollout/ep_rew_mean": (i * i) % 977,
            "train/entropy": i % 7,
        }
        for i in range(12_000)
    ]
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    page.goto(server.address(f"/run/{run.id}"))
    page.locator("figure.chart", has_text="train/entropy").wait_for()
    visible = """([at, least, widest]) => {
      const { plot, columns: [xs, ys] } = document.querySelectorAll('.plot')[at].chart;
      const { min, max } = plot.scales.x;
      const shown = xs.map((x, i) => [x, ys[i]]).filter(([x, y]) => x >= min && x <= max && y !== null);
      return max - min < widest && shown.length >= least && { min, max, shown };
    }"""
    for axis, column in (("steps", "env_steps"), ("seconds", "time/elapsed")):
        page.get_by_label("Axis").select_option(axis)
        place = page.locator(".u-over").first.bounding_box()
        assert place is not None
        assert len(drawn(page)[0]) <= 2002
        page.mouse.move(place["x"] + 0.40 * place["width"], place["y"] + 50)
        page.mouse.down()
        page.mouse.move(place["x"] + 0.50 * place["width"], place["y"] + 60, steps=4)
        page.mouse.up()
        expect(page.locator("figcaption").first).to_contain_text("All records of this part.")
        for at, name in ((0, "rollout/ep_rew_mean"), (1, "train/entropy")):  # all charts zoom together
            widest = 0.2 * rows[-1][column]  # one that has not zoomed yet shows everything
            found = page.wait_for_function(visible, arg=[at, 1000, widest]).json_value()
            inside = [row for row in rows if found["min"] <= row[column] <= found["max"]]
            assert found["shown"] == [[row[column], row[name]] for row in inside]
        page.mouse.dblclick(place["x"] + 0.5 * place["width"], place["y"] + 50)
        expect(page.locator("figcaption").first).to_contain_text("equal parts of 12,000 records.")

    held: list[Route] = []
    page.get_by_label("Axis").select_option("steps")
    page.route("**/closer?*", lambda route: held.append(route))
    zoom = "(x) => document.querySelectorAll('.plot').forEach((one) => one.chart.plot.setScale('x', x))"
    for begin in (100_000, 400_000):
        page.evaluate(zoom, {"min": begin, "max": begin + 50_000})
        while not any(f"from={begin}&" in route.request.url for route in held):
            page.wait_for_timeout(10)
    for route in reversed(held):  # what was asked first is answered last, and nobody looks there any more
        with page.expect_response("**/closer?*"):
            route.continue_()
        page.evaluate("new Promise((done) => setTimeout(done, 50))")
    found = page.wait_for_function(visible, arg=[0, 1000, 60_000]).json_value()
    assert [x for x, _ in found["shown"]] == list(range(400_000, 450_001, 50))
    page.unroute("**/closer?*")


def test_an_address_that_names_nothing_is_told(server: Served, page: Page, complaints: list[str]) -> None:
    page.goto(server.address("/"))
    for name in ("%ff", "%", "nothing"):
        page.goto(f"{server.origin}/run/{name}")
        expect(page.get_by_role("alert")).to_contain_text("There is no run")
    complaints[:] = [one for one in complaints if "Failed to load resource" not in one]  # as it should


def test_the_newest_checkpoint_plays_beside_the_curves(server: Served, kept: list[Run], page: Page) -> None:
    run = kept[0]
    page.goto(server.address(f"/run/{run.id}"))
    page.get_by_role("button", name="Watch it play").click()
    playing = page.locator(".player")
    expect(playing).to_contain_text(f"checkpoint {count(int(list_checkpoints(run)[-1]))}")
    expect(playing.locator(".facts")).to_contain_text("step")
    picture = page.get_by_role("img", name="The newest checkpoint plays")
    expect(picture).to_be_visible()
    page.wait_for_function("() => document.querySelector('.player canvas').width >= 100")
    before = playing.inner_text()
    expect(playing).not_to_have_text(before)  # it goes on
    page.set_viewport_size({"width": 390, "height": 800})  # on a phone it is not below all charts
    page.wait_for_function(
        "() => document.querySelector('.player').getBoundingClientRect().bottom"
        " <= document.querySelector('figure.chart').getBoundingClientRect().top"
    )
    os.kill(max(children_of(server.process.pid)), signal.SIGKILL)
    expect(playing.get_by_role("status")).to_have_text("The process of this session was killed (SIGKILL).")
    page.get_by_role("button", name="Watch it play").click()
    expect(picture).to_be_visible()
    page.get_by_role("button", name="Stop playing").click()
    expect(picture).to_have_count(0)


def test_a_run_deleted_while_it_is_watched_and_a_wrong_filter_are_told(
    server: Served, kept: list[Run], page: Page, complaints: list[str]
) -> None:
    run = keep(server.runs_dir, "20260103-000000-CartPole-v1-ppo-dddd")
    page.goto(server.address(f"/run/{run.id}"))
    page.locator("figure.chart").first.wait_for()
    shutil.rmtree(run.path)
    expect(page.get_by_role("alert")).to_contain_text(f"no run '{run.id}'", ignore_case=True)
    expect(page.locator("h1")).to_contain_text("CartPole-v1")  # what was drawn stays
    page.goto(f"{server.origin}/run/{run.id}")
    expect(page.get_by_role("alert")).to_contain_text("Go back to the list of runs")
    page.goto(f"{server.origin}/run/20260101-000000-broken-0001")
    expect(page.get_by_role("alert")).to_contain_text("not valid JSON")
    page.goto(f"{server.origin}/")
    page.get_by_label("Filter").fill("stats:running")
    expect(page.get_by_role("status")).to_contain_text("There is no filter 'stats:'")
    complaints[:] = [one for one in complaints if "Failed to load resource" not in one]  # as it should


def test_runs_compared_have_the_bands_of_the_report(
    server: Served, kept: list[Run], page: Page, accessible: Callable[[Page], None]
) -> None:
    page.goto(server.address("/"))
    page.get_by_label("Filter").fill("ppo-000")
    expect(page.locator("tbody tr")).to_have_count(3)
    for run in kept:
        page.get_by_label(f"Choose {run.id}").check()
    page.get_by_role("button", name="Compare 3").click()
    page.locator("#results").wait_for()
    (chart,) = seed_curves(contend(kept), "env_steps")
    (line,) = chart.lines
    xs, middle, low, high, *_ = drawn(page)
    assert list(zip(xs, middle, strict=True)) == [tuple(point) for point in line.points]
    assert list(zip(xs, low, high, strict=True)) == [tuple(ends) for ends in line.spread]
    best = [
        number(max(row["eval/mean_reward"] for row in get_run(str(run.path)).evaluations)) for run in kept
    ]
    cells = page.get_by_role("row", name="best evaluation").locator("td").all_inner_texts()
    assert cells == best
    expect(page.get_by_text("differ in the seed alone")).to_be_visible()
    heads = page.locator("#results thead th").all_inner_texts()
    assert [" ".join(head.split()) for head in heads] == ["A seed 0", "B seed 1", "C seed 2"]
    page.get_by_label("Another metric").select_option("train/entropy")
    page.get_by_text("train/entropy over seeds", exact=True).wait_for()
    look_at_both_themes(page, accessible)
    fits_a_phone(page)


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/..%2f..%2fetc",
        "/api/runs/%2e%2e",
        "/api/runs/nothing",
        "/api/runs/{run}/videos/..%2frun.json",
        "/api/runs/{run}/videos/run.json",
        "/api/runs/{run}/videos/link.mp4",
        "/api/runs/{run}/config.json",
        "/api/runs/{run}/report.html",
    ],
)
def test_files_only_by_their_names(server: Served, kept: list[Run], path: str) -> None:
    run = kept[1]
    (run.path / "videos").mkdir(exist_ok=True)
    link = run.path / "videos" / "link.mp4"
    if not link.is_symlink():
        link.symlink_to("/etc/passwd")
        (run.path / "report.html").symlink_to("/etc/passwd")
    status, _, body = fetch(server, path.format(run=run.id))
    assert status == 404
    assert b"root:" not in body


def test_videos_come_in_ranges_and_reports_run_nothing(
    server: Served, kept: list[Run], page: Page, complaints: list[str]
) -> None:
    run = kept[2]
    (run.path / "videos").mkdir(exist_ok=True)
    (run.path / "videos" / "best.mp4").write_bytes(bytes(range(256)))
    status, headers, body = fetch(server, f"/api/runs/{run.id}/videos/best.mp4", Range="bytes=16-31")
    assert (status, body, headers["content-range"]) == (206, bytes(range(16, 32)), "bytes 16-31/256")
    (run.path / "report.html").write_text("<h1 id=a>Hello</h1><script>a.textContent = 'it ran'</script>")
    _, headers, _ = fetch(server, f"/api/runs/{run.id}/report.html")
    assert "sandbox" in headers["content-security-policy"]
    assert "allow-scripts" not in headers["content-security-policy"]
    page.goto(server.address(f"/run/{run.id}"))
    page.get_by_role("link", name="Report").click()
    expect(page.locator("h1")).to_have_text("Hello")
    assert complaints  # the console tells of the script that was refused
    complaints.clear()


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("/api/runs", {}, "no environment"),
    ("/api/runs", {"env": "--runs-dir=/etc"}, "no environment"),
    ("/api/runs", {"env": 5}, "no text"),
    ("/api/runs", {"env": "CartPole-v1", "steps": "many"}, "whole number"),
    ("/api/runs", {"env": "CartPole-v1", "set": ["algo.gama=1"], "dry_run": True}, "algo.gamma"),
    ("/api/runs", {"env": "CartPole-v1", "set": "x=1"}, "lines of text"),
    ("/api/runs/{run}/stop", {}, "is not running"),
    ("/api/runs/{run}/fork", {"checkpoint": "../x"}, "no checkpoint"),
    ("/api/runs/{run}/logbook", {"note": " "}, "needs some text"),
    ("/api/runs/{run}/logbook", {"note": "x", "verdict": "maybe"}, "no verdict"),
    ("/api/runs/{run}/fix", {"alert": "nonsense"}, "no alert called"),
    ("/api/runs/{run}/follow?since=x", {}, ""),
]


@pytest.mark.parametrize(("path", "body", "words"), WRONG)
def test_wrong_requests_are_told_in_a_sentence(
    server: Served, kept: list[Run], path: str, body: dict[str, Any], words: str
) -> None:
    status, _, answer = fetch(server, path.format(run=kept[0].id), body=body)
    if not words:  # reading is not acting
        assert status == 405
        return
    assert status == 400
    error = json.loads(answer)["error"]
    assert words in f"{error['text']} {error['hint']}"


def test_limits_hold_for_pages_too(tmp_path: Path) -> None:
    run = keep(tmp_path, "20260104-000000-CartPole-v1-ppo-eeee", status="running", host="elsewhere")
    ways = {route.path: route.call for route in ROUTES if route.method == "POST"}
    new, goes_on = {"env": "CartPole-v1", "steps": 5000}, {"run": run.id}

    def start(path: str, limits: Limits, body: dict[str, Any]) -> None:
        ways[path](Ask(Home(str(tmp_path), limits), goes_on, {}, body))

    with pytest.raises(UsageError, match="as many runs as are allowed"):
        start("/runs", Limits(runs=1), new)
    with pytest.raises(UsageError, match="5,000 steps are too many"):
        start("/runs", Limits(runs=None, steps=4000), new)
    with pytest.raises(UsageError, match="steps are too many"):
        start("/runs/{run}/fork", Limits(runs=None, steps=10), {"steps": 200_000})
    with pytest.raises(UsageError, match="disk is too full"):
        start("/runs", Limits(runs=None, disk=1e-9), new)
    assert len(list_runs(tmp_path)) == 1


def test_a_server_that_only_reads_changes_nothing(kept: list[Run], server: Served, page: Page) -> None:
    with serving(server.runs_dir, "--read-only") as reading:
        for path in ("/api/runs", *(f"/api/runs/{kept[0].id}/{verb}" for verb in ("stop", "fork", "fix"))):
            status, _, body = fetch(reading, path, body={"env": "CartPole-v1"})
            assert (status, json.loads(body)["error"]["text"]) == (400, "this server only reads.")
        page.goto(reading.address(f"/run/{kept[0].id}"))
        page.get_by_text("read only").wait_for()
        assert page.get_by_role("button", name="Fork").count() == 0
        page.goto("about:blank")  # it would go on asking
