"""The benchmark of the tools: a model that speaks either format can play; here a stand-in does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import anyio
import pytest

import gymsolve
from benchmarks.agent import scripted
from benchmarks.agent.models import Model
from benchmarks.agent.session import open_session
from benchmarks.agent.tasks import TASKS

QUESTION = TASKS[0].question


class StandIn(BaseHTTPRequestHandler):
    """Garbles a call, then calls `rl_runs`, then repeats the first word of the answer."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        anthropic = self.headers.get("x-api-key") is not None
        spoken = [one for one in asked["messages"] if one["role"] != "system"]
        last, about = spoken[-1], asked["system"] if anthropic else asked["messages"][0]["content"]
        if len(spoken) < 5:
            assert [tool for tool in asked["tools"] if "rl_runs" in json.dumps(tool)]
            assert "rl_logbook" in about
            told = _wish(anthropic, garbled=len(spoken) == 1)
        else:
            text = last["content"][0]["content"] if anthropic else last["content"]
            told = _words(anthropic, text.split()[0])
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def _wish(anthropic, *, garbled):
    given = {"name": "x"} if garbled else {"query": "status:solved"}
    if anthropic:
        return {"content": [{"type": "tool_use", "id": "1", "name": "rl_runs", "input": given}]}
    text = '{"query": ' if garbled else json.dumps(given)
    call = {"id": "1", "type": "function", "function": {"name": "rl_runs", "arguments": text}}
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}


def _words(anthropic, text):
    if anthropic:
        return {"content": [{"type": "text", "text": text}], "usage": {"input_tokens": 5, "output_tokens": 2}}
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": {"total_tokens": 7}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("task")
    gymsolve.train("Bandit-v0", {"video.enabled": False}, runs_dir=place / "runs")
    return place


@pytest.fixture
def url():
    server = HTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("provider", ["anthropic", "openai", None])
def test_whoever_plays_finds_the_solved_run(provider, folder, url, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    player = scripted if provider is None else Model(provider, "m", limit=5, url=url)

    async def play():
        async with open_session(folder) as session:
            return await player.play(session, QUESTION), session

    said, session = anyio.run(play)
    assert TASKS[0].check(folder, said)
    assert not TASKS[0].check(folder, "another one")
    assert "rl_runs" in session.names
    assert session.bytes_received > 50
    if provider is not None:
        assert (player.tokens, session.errors) == (7, 1)


def test_tasks_name_faults_that_exist_and_can_be_failed(folder):
    assert len(TASKS) == 11
    for task in TASKS[1:]:
        assert not task.check(folder, "no idea")
