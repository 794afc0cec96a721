"""An agent that has only the tools decides whether runs differ, and applies a remedy that helped."""

import json
import re

import pytest
from mcp import Client

import gymsolve
from gymsolve.mcp.server import make_server
from gymsolve.service.agent_limits import Home, Limits
from tests.agents.conftest import ask, call, told

pytestmark = pytest.mark.anyio
PLAIN = {"steps": 6000, "video.enabled": False}
IDLE = PLAIN | {"algo.learning_rate": 0.0}
SICK = PLAIN | {"algo.learning_rate": 0.3}
CALL = re.compile(r"rl_control\(run=(\S+), action=fork, set=(\{.*?\})\)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def groups(folder):
    """Ids of five seeds that learn, and of five that do not."""
    trained = [
        gymsolve.train_seeds("CartPole-v1", settings, seeds=5, runs_dir=folder) for settings in (PLAIN, IDLE)
    ]
    return [[seed.run for seed in verdict.runs] for verdict in trained]


async def compared(client, runs):
    """What the comparison concludes: a difference, or how many seeds are needed."""
    text = told(await call(client, "rl_compare", runs=runs))
    (line,) = [line for line in text.splitlines() if "return more than" in line or "can be claimed" in line]
    return line


async def test_five_seeds_against_five_decide_and_three_against_three_do_not(folder, groups):
    learned, idle = groups
    async with Client(make_server(Home(str(folder), Limits(read_only=True)))) as client:
        few = await compared(client, [*learned[:3], *idle[:3]])
        assert "no difference can be claimed" in few
        assert "3 against 3 seeds cannot show one, however wide: train at least 4 of each." in few
        many = await compared(client, [*learned, *idle])
        assert many.startswith("A, B, C, D, E return more than F, G, H, I, J: by ")
        assert many.endswith("in 100% of the pairs of runs. Chance alone would part them so 1 time in 126.")


async def test_a_remedy_is_found_tried_and_applied_by_calls_alone(folder):
    sick = gymsolve.train("CartPole-v1", SICK, runs_dir=folder).run.id
    async with Client(make_server(Home(str(folder), Limits()))) as client:
        found = await ask(client, "rl_diagnose", run=sick)
        assert found["next"] == "rl_try_fix(run, alert=kl_shock) measures its remedy."
        await ask(client, "rl_try_fix", run=sick, alert="kl_shock")
        while "trying" in (news := await ask(client, "rl_run", run=sick, wait=45)) and news["trying"]:
            continue
        found = await ask(client, "rl_diagnose", run=sick)
        (tried,) = found["tried"]
        assert (tried["verdict"], len(tried["original"]), len(tried["changed"])) == ("helped", 4, 4)
        assert max(tried["original"]) < min(tried["changed"])
        assert tried["certainty"] == "with 4 seeds, chance alone gives a gap this clear 1 time in 35"
        run, settings = CALL.search(found["next"]).groups()
        begun = await ask(client, "rl_control", run=run, action="fork", set=json.loads(settings))
        while (news := await ask(client, "rl_run", run=begun["run"], wait=45))["status"] == "running":
            continue
        assert news["status"] in ("finished", "solved")
    forked = gymsolve.open_run(begun["run"], runs_dir=folder)
    assert forked.config_json()["config"]["algo"]["learning_rate"] == 0.003
    assert forked.info()["parent"]["run"] == sick
