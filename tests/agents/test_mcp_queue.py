"""Tools for several runs: queues of different requests; names and tags; a report in pages."""

import re

import pytest
from mcp import Client

import gymsolve
from gymsolve.mcp.server import make_server
from gymsolve.runs.run import Run
from gymsolve.service.agent_limits import Home, Limits
from tests.agents.conftest import ask, call, told
from tests.agents.test_mcp_starting import LONG, SICK, end_all, pause

pytestmark = pytest.mark.anyio


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


async def test_different_requests_are_one_queue_within_the_limit_of_runs(server, tmp_path):
    await ask(server, "rl_start", env="CartPole-v1", set=LONG, steps=20_000_000)  # one place is left
    pause(tmp_path / "runs")
    quick = {"video.enabled": False, "solved_at": 1e9, "eval.every": 500}
    requests = [
        {"env": "Bandit-v0", "set": quick, "steps": 1000},
        {"env": "Bandit-v0:dqn", "set": quick, "steps": 600, "seed": 4},
        {"env": "Bandit-v0", "set": {**quick, "algo.gamma": 0.5}, "steps": 1000},
    ]
    begun = await ask(server, "rl_start", requests=requests)
    queue = begun["run"]
    assert queue.startswith("group:queue-3runs-")
    assert "All of them together may train" in begun["time_limit"]
    assert (await ask(server, "rl_start", requests=requests))["run"] == queue  # asked for again
    while (news := await ask(server, "rl_run", run=queue, wait=45))["status"] == "running":
        assert news["training"] <= 1
    assert (news["status"], news["waiting"]) == ("ended", 0)
    assert [(run["env"], run["status"]) for run in news["runs"]] == [
        (one["env"], "finished") for one in requests
    ]
    stored = [Run(tmp_path / "runs" / run["run"]).config_json()["config"] for run in news["runs"]]
    assert [(one["steps"], one["seed"], one["algo"]["gamma"]) for one in stored[1:]] == [
        (600, 4, stored[1]["algo"]["gamma"]),
        (1000, stored[0]["seed"], 0.5),
    ]
    assert told(await call(server, "rl_runs", query=queue)).count(queue) == 3


async def test_a_queue_is_stopped_as_a_whole_and_a_wrong_request_begins_nothing(server, tmp_path):
    for requests, sentence in [
        ([{"env": "Bandit-v0"}, {"env": "Bandit-v0", "set": {"algo.gama": 0.9}}], "requests[1]"),
        ([{"env": "Bandit-v0", "seeds": 3}], "there is no argument 'seeds'"),
        ([{"env": "Bandit-v0", "steps": 64}] * 2, "requests 1 and 2 are the same"),
        ([], "names nothing to train"),
    ]:
        answer = await call(server, "rl_start", requests=requests)
        assert answer.is_error
        assert sentence in told(answer)
    refused = await call(server, "rl_start", env="Bandit-v0", requests=[{"env": "Bandit-v0"}])
    assert "env: without effect with requests" in told(refused)
    assert not list((tmp_path / "runs").glob("2*"))

    long = [{"env": "Bandit-v0", "set": LONG, "steps": 50_000_000, "seed": seed} for seed in range(3)]
    queue = (await ask(server, "rl_start", requests=long))["run"]
    await ask(server, "rl_control", run=queue, action="stop")
    while (news := await ask(server, "rl_run", run=queue, wait=45))["status"] == "running":
        pass
    statuses = [run["status"] for run in news["runs"]]
    assert set(statuses) <= {"stopped", "not begun"}
    assert "not begun" in statuses


async def test_agents_name_and_tag_runs_and_find_them(runs):
    async with Client(make_server(Home(str(runs), Limits()))) as client:
        answer = await ask(
            client, "rl_control", run="@last", action="label", name="far too fast", tags=["sick"]
        )
        assert (answer["label"], answer["tags"]) == ("far too fast", ["sick"])
        listed = told(await call(client, "rl_runs", query="tag:sick"))
        assert "called 'far too fast'" in listed
        other = await ask(client, "rl_control", run="far too fast", action="label", tags=["seen"])
        assert (other["label"], other["tags"]) == ("far too fast", ["seen"])
        refused = await call(client, "rl_control", run="@last", action="stop", tags=["x"])
        assert "tags: without effect with action=stop" in told(refused)


async def test_the_report_is_paged_as_a_resource_too(runs):
    async with Client(make_server(Home(str(runs), Limits()))) as client:
        run = gymsolve.open_run("@last", runs_dir=runs)
        address, pages = f"run://{run.id}/report", []
        while address:
            text = (await client.read_resource(address)).contents[0].text
            pages.append(text)
            assert len(text) < 7000
            address = next(iter(re.findall(r"more characters: (run://\S+)\]$", text)), "")
        assert len(pages) > 1
        whole = "".join(re.sub(r"\n\[[^\n]*\]$", "", page.partition("\n")[2]) for page in pages)
        assert whole == (run.path / "report.md").read_text()
        with pytest.raises(Exception, match="asks for no part of a report"):
            await client.read_resource(f"run://{run.id}/report?page=2")
