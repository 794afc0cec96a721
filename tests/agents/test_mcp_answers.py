"""What agents are told about tools, and how answers and errors are spelled."""

import json
import os
import shutil

import pytest
from mcp import Client

import gymsolve
from gymsolve.mcp.server import make_server
from gymsolve.service.agent_limits import Home, Limits
from tests.agents.conftest import ask, call, told

pytestmark = pytest.mark.anyio
SICK = {"steps": 3000, "algo.learning_rate": 0.5, "video.enabled": False, "eval.episodes": 5}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    gymsolve.train("CartPole-v1:ppo", SICK, runs_dir=folder)
    return folder


@pytest.fixture
async def client(runs):
    async with Client(make_server(Home(str(runs), Limits()))) as client:
        yield client


OWN = """
import pathlib
import gymnasium as gym

pathlib.Path(__file__).with_name("imported").touch()

class Own(gym.Env):
    observation_space = gym.spaces.Box(0.0, 1.0, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observation_space.low, {}

    def step(self, action):
        self.steps += 1
        return self.observation_space.low, float(action), False, self.steps >= 20, {}

gym.register("Own-v0", Own, max_episode_steps=60, reward_threshold=19)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    module = f"own{os.getpid()}"
    (tmp_path / f"{module}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return f"{module}:Own-v0"


# ------------------------------------------------------------------------------- read-only hints


async def test_tools_that_are_called_read_only_write_nothing_and_import_nothing(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    hints = {name: tool.annotations.read_only_hint for name, tool in listed.items()}
    assert {name for name, hint in hints.items() if hint} == {
        "rl_catalog",
        "rl_runs",
        "rl_run",
        "rl_metrics",
        "rl_compare",
        "rl_diagnose",
    }
    assert "action" not in listed["rl_diagnose"].input_schema["properties"]
    assert "code" in listed["rl_plan"].description  # it says what it is not called read-only for


async def test_a_server_that_only_reads_imports_no_code_that_a_name_leads_to(own, tmp_path):
    (tmp_path / "recipes").mkdir()
    recipe = {"env": {"id": own}, "variants": {"ppo": {"steps": 1000}}}
    (tmp_path / "recipes" / "Mine-v0.yaml").write_text(json.dumps(recipe))
    async with Client(make_server(Home(str(tmp_path / "runs"), Limits(read_only=True)))) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert listed["rl_plan"].annotations.read_only_hint
        for arguments in (
            {"env": own.replace("Own", "Other")},
            {"env": "Mine-v0", "measure": True},
            {"env": "CartPole-v0", "set": {"env.wrappers": [own.replace("-v0", "")]}},
            {"env": "CartPole-v1", "set": {"env": {"id": own}}, "measure": True},
        ):
            refused = await call(client, "rl_plan", **arguments)
            assert refused.is_error, arguments
            assert "this server only reads, and" in told(refused)
        assert (await ask(client, "rl_plan", env="Mine-v0"))["steps"] == 1000  # settings alone
        assert not (tmp_path / "imported").exists()
    async with Client(make_server(Home(str(tmp_path / "runs"), Limits()))) as client:
        await ask(client, "rl_plan", env=own, measure=True)
        assert (tmp_path / "imported").exists()


async def test_a_report_can_be_read_and_nothing_is_written(client, runs):
    run = gymsolve.open_run("@last", runs_dir=runs).path
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    report = told(await call(client, "rl_run", run="@last", detail="report"))
    assert "is not solved" in report
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


# ------------------------------------------------------------------------------------- spelling


async def test_an_answer_is_sent_once(client):
    answer = await call(client, "rl_run", run="@last")
    assert answer.structured_content is None
    assert json.loads(told(answer))["status"] == "finished"


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("rl_plan", "environment", "env"),
        ("rl_start", "env_id", "env"),
        ("rl_start", "settings", "set"),
        ("rl_start", "total_timesteps", "steps"),
        ("rl_start", "num_seeds", "seeds"),
        ("rl_run", "run_id", "run"),
        ("rl_run", "timeout", "wait"),
        ("rl_metrics", "run", "runs"),
        ("rl_metrics", "metrics", "names"),
        ("rl_compare", "run_ids", "runs"),
        ("rl_episode", "n_episodes", "episodes"),
        ("rl_logbook", "text", "note"),
        ("rl_catalog", "search", "query"),
    ],
)
async def test_an_argument_of_another_name_is_named(client, tool, given, meant):
    answer = await call(client, tool, **{given: "x"})
    assert f"{tool} has no argument {given!r}. Did you mean {meant!r}?" in told(answer)


async def test_answers_and_errors_speak_of_tools_and_arguments(client):
    for name, arguments, sentence in [
        ("rl_start", {"env": "CartPole-v1", "set": {"algo.gamma": 7}}, "(from set)"),
        ("rl_start", {"env": "CartPole-v1", "set": {"eval.every": 10**20}}, 'set={"eval.every": 1000'),
        ("rl_control", {"run": "group:none", "action": "stop"}, "rl_start(env=ENV, seeds=5)"),
        ("rl_plan", {"env": "CartPole-v1", "set": {"algo.learning_rate": 0.5}}, "try set={"),
        ("rl_diagnose", {"run": "@last"}, "doubts"),
        ("rl_control", {"run": "@last", "action": "resume"}, "give a larger one with steps"),
    ]:
        answer = told(await call(client, name, **arguments))
        assert sentence.replace('"', '\\"') in answer or sentence in answer, (name, answer)
        assert "--" not in answer, name
        assert "gymsolve train" not in answer


SLOW = """
import time
import gymnasium as gym

time.sleep(6)
"""


async def test_a_call_that_takes_seconds_is_told_of(client, tmp_path, monkeypatch):
    module = f"slow{os.getpid()}"
    (tmp_path / f"{module}.py").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    heard = []

    async def progress(done, total, text):
        heard.append((done, text))

    answer = await client.call_tool("rl_plan", {"env": f"{module}:Slow-v0"}, progress_callback=progress)
    assert answer.is_error  # it registers nothing
    assert "Slow-v0" in told(answer)
    assert len(heard) >= 2
    assert heard == sorted(heard)
    assert heard[0][1].startswith("rl_plan has worked for")


async def test_events_are_told_in_pages(runs, tmp_path):
    folder = tmp_path / "runs"
    shutil.copytree(runs, folder)
    run = gymsolve.open_run("@last", runs_dir=folder)
    for number in range(45):
        run.append_event("note", text=f"number {number}")
    async with Client(make_server(Home(str(folder), Limits()))) as client:
        newest = await ask(client, "rl_run", run=run.id, detail="events")
        assert newest["events"][-1]["text"] == "number 44"
        assert "older ones: offset=20." in newest["next"]
        before = await ask(client, "rl_run", run=run.id, detail="events", offset=20)
        assert [event["text"] for event in before["events"]] == [f"number {n}" for n in range(5, 25)]
