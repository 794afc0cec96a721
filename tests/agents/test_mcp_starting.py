"""Starting through tools: limits, equal requests, doubts, several seeds, requests that are refused."""

import json
import os
import signal

import pytest
from mcp import Client

import gymsolve
from gymsolve.errors import UsageError
from gymsolve.mcp.server import make_server
from gymsolve.service.agent_limits import Home, Limits
from gymsolve.service.agent_usage import read_account
from gymsolve.training.fork import branch_run
from gymsolve.training.session import resume_run
from tests.agents.conftest import ask, call, told

pytestmark = pytest.mark.anyio
SICK = {"steps": 3000, "algo.learning_rate": 0.5, "video.enabled": False, "eval.episodes": 5}
LONG = {"eval.every": 10**8, "solved_at": 1e9, "video.enabled": False}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    gymsolve.train("CartPole-v1:ppo", SICK, runs_dir=folder)
    return folder


@pytest.fixture
async def server(tmp_path):
    """A client of a server whose runs end with the test."""
    async with Client(make_server(Home(str(tmp_path / "runs"), Limits(runs=2, hours=4)))) as client:
        yield client
    end_all(tmp_path / "runs")


def pause(folder):
    """Let runs that train go no further; for everybody else they train, and they take no computing time."""
    for info in running(folder):
        os.killpg(info["pid"], signal.SIGSTOP)


def running(folder):
    infos = [json.loads(path.read_text()) for path in folder.glob("2*/run.json")]
    return [info for info in infos if info["status"] == "running"]


def end_all(folder):
    """End what agents started here and still trains."""
    makers = [entry.process for entry in read_account(folder) if entry.is_trying(folder)]
    for info in (*makers, *running(folder)):
        try:
            os.killpg(info["pid"], signal.SIGKILL)
        except ProcessLookupError:
            continue


# ------------------------------------------------------------------------------------------ limits


async def test_remedies_that_are_tried_count_one_by_one_and_equal_ones_once(runs):
    async with Client(make_server(Home(str(runs), Limits(runs=2)))) as client:
        fired = gymsolve.open_run("@last", runs_dir=runs).read_events().rows
        ids = dict.fromkeys(event["id"] for event in fired if event["kind"] == "alert" and event["changes"])
        first, second, third = list(ids)[:3]
        try:
            begun = await ask(client, "rl_try_fix", run="@last", alert=first)
            again = await ask(client, "rl_try_fix", run=begun["run"], alert=first)
            assert (begun["already_started"], again["already_started"]) == (False, True)
            await ask(client, "rl_try_fix", run="@last", alert=second)
            refused = await call(client, "rl_try_fix", run="@last", alert=third)
            assert "as many runs as are allowed (2) train already: trials of" in told(refused)
        finally:
            end_all(runs)


async def test_an_equal_start_without_a_key_gives_the_run_that_trains(server, tmp_path):
    start = {"env": "CartPole-v1", "set": LONG, "steps": 20_000_000}
    first = await ask(server, "rl_start", **start)
    pause(tmp_path / "runs")
    again = await ask(server, "rl_start", **start)
    assert (again["run"], again["already_started"]) == (first["run"], True)
    assert "Nothing new was started" in again["next"]
    assert "its share of the 4 of 4 hours" in first["time_limit"]
    assert first["seconds"] == 7200
    other = await ask(server, "rl_start", **start, seed=5)
    assert other["run"] != first["run"]
    assert other["spent"]["reserved_hours"] == pytest.approx(4, abs=0.1)


# ------------------------------------------------------------- requests that are refused before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"steps": 10**20 - 1}, "steps: 99999999999999999999 is more than a run can take"),
        ({"set": {"steps": "1e300"}}, "is more than a run can take"),
        ({"seed": 10**23}, "seed: this number is too large"),
        ({"steps": 100, "set": {"algo.learning_rate": -1}}, "algo.learning_rate"),
        ({"steps": 100, "set": {"env.num_envs": 10**9}}, "env.num_envs: should be less than"),
    ],
)
async def test_a_request_is_checked_before_a_folder_is_made(server, tmp_path, arguments, sentence):
    refused = await call(server, "rl_start", env="Bandit-v0", **arguments)
    assert refused.is_error
    assert sentence in told(refused)
    assert not list((tmp_path / "runs").glob("*Bandit*"))


# ------------------------------------------------------------------------------------------ doubts


async def test_doubts_about_settings_are_told_where_a_run_is_started(server, tmp_path):
    odd = {**LONG, "algo.learning_rate": 0.5, "algo.gamma": 0.1}
    planned = await ask(server, "rl_plan", env="CartPole-v1", set=odd)
    begun = await ask(server, "rl_start", env="CartPole-v1", set=odd, steps=2000)
    for answer in (planned, begun):
        doubts = " ".join(answer["doubts"])
        assert "algo.learning_rate: 0.5 is far above what adam usually bears" in doubts
        assert "algo.gamma: 0.1 looks about 1 step" in doubts
        assert '{"algo.learning_rate": 0.0003}' in doubts
    assert begun["next"].startswith("Look at `doubts`")
    fine = await ask(server, "rl_start", env="CartPole-v1", steps=20_000, set={"video.enabled": False})
    assert "doubts" not in fine
    await ask(server, "rl_run", run=fine["run"], wait=45)
    forked = await ask(
        server, "rl_control", run=fine["run"], action="fork", set={"algo.learning_rate": 0.5}, steps=60_000
    )
    assert "far above" in " ".join(forked["doubts"])
    log = tmp_path / "runs" / forked["run"] / "log.txt"
    assert "far above" in log.read_text()


async def test_doubts_come_with_derived_settings_too(server):
    begun = await ask(server, "rl_start", env="CartPole-v0", steps=3000, set={"algo.gamma": 0.1})
    assert "algo.gamma: 0.1 looks about 1 step" in " ".join(begun["doubts"])


async def test_settings_can_be_derived_beside_a_recipe(server):
    planned = await ask(server, "rl_plan", env="CartPole-v1:derived")
    assert planned["name"] == "CartPole-v1:derived"
    assert any("no images" in reason for reason in planned["measured"]["derived"])


# ----------------------------------------------------------------------------------- going on


@pytest.mark.parametrize("action", ["resume", "fork"])
async def test_a_budget_below_the_steps_already_taken_is_refused(runs, action):
    async with Client(make_server(Home(str(runs), Limits()))) as client:
        before = sorted(path.name for path in runs.glob("2*-CartPole-*"))
        run = (await ask(client, "rl_run", run="@last"))["run"]
        refused = await call(client, "rl_control", run=run, action=action, steps=1000)
        assert f"run {run} has taken 3,072 steps already, and its budget would be 1,000" in told(refused)
        assert "Give more than that as steps" in told(refused)
        assert sorted(path.name for path in runs.glob("2*-CartPole-*")) == before
    go_on = resume_run if action == "resume" else branch_run
    with pytest.raises(UsageError, match="has taken 3,072 steps already"):
        go_on(run, overrides={"steps": 2000}, runs_dir=runs)
    with pytest.raises(UsageError, match="has taken 3,072 steps already"):
        branch_run(run, runs_dir=runs)  # its own budget is spent
    assert sorted(path.name for path in runs.glob("2*-CartPole-*")) == before


async def test_a_collapsed_run_is_not_advised_to_go_on(runs):
    async with Client(make_server(Home(str(runs), Limits()))) as client:
        advice = (await ask(client, "rl_run", run="@last"))["next"]
        assert "rl_try_fix" in advice
        assert "action=resume" not in advice


# ------------------------------------------------------------------------------------ several seeds


async def test_several_seeds_are_one_group_that_is_queued_followed_and_compared(server, tmp_path):
    other = await ask(server, "rl_start", env="CartPole-v1", set=LONG, steps=20_000_000)
    pause(tmp_path / "runs")
    quick = {"video.enabled": False, "solved_at": 1e9, "eval.every": 500}
    begun = await ask(server, "rl_start", env="Bandit-v0", set=quick, steps=1000, seeds=3, seed=7)
    group = begun["run"]
    assert group.startswith("group:Bandit-v0")
    assert "All of them together may train" in begun["time_limit"]
    again = await ask(server, "rl_start", env="Bandit-v0", set=quick, steps=1000, seeds=3, seed=7)
    assert again["run"] == group
    while (news := await ask(server, "rl_run", run=group, wait=45))["status"] == "running":
        assert news["training"] <= 1  # there is one place
    assert (news["status"], news["waiting"], news["training"]) == ("ended", 0, 0)
    assert [(seed["seed"], seed["status"]) for seed in news["seeds"]] == [(n, "finished") for n in (7, 8, 9)]
    assert told(await call(server, "rl_runs", query="Bandit")).count(group) == 3
    compared = told(await call(server, "rl_compare", runs=[group, other["run"]]))
    assert "seeds" in compared
    refused = await call(server, "rl_control", run=group, action="resume")
    assert "is a group, and its seeds go on one by one" in told(refused)


async def test_seeds_wait_while_there_is_no_place_for_them(server, tmp_path):
    await ask(server, "rl_start", env="CartPole-v1", set=LONG, steps=20_000_000)
    pause(tmp_path / "runs")
    begun = await ask(server, "rl_start", env="Bandit-v0", set=LONG, steps=50_000_000, seeds=2)
    heard = []

    async def progress(done, total, text):
        heard.append(text)

    while not any("1 of 2 seeds train, 1 wait" in text for text in heard):
        asked = {"run": begun["run"], "wait": 2}
        answer = await server.call_tool("rl_run", asked, progress_callback=progress)
        assert json.loads(told(answer))["status"] == "running"
    assert not any("2 of 2 seeds train" in text for text in heard)
    await ask(server, "rl_control", run=begun["run"], action="stop")
