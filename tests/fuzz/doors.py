"""The doors beside the command line, in this process: addresses of the server, and tools for agents.

Both answer as they do over the network; what they must never say is that something failed inside gymsolve.
"""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
from mcp import Client
from nasty import NUMBERS, TEXTS
from starlette.testclient import TestClient

from gymsolve.mcp.server import TOOLS, make_server
from gymsolve.service.agent_limits import Home, Limits
from gymsolve.web.routes import ROUTES
from gymsolve.web.server import make_app

__all__ = ["Pages", "Tools", "ask_tools", "open_pages"]

FAILED = "failed inside gymsolve"
QUERIES = (
    "since",
    "cursor",
    "names",
    "runs",
    "run",
    "from",
    "to",
    "step",
    "steps",
    "limit",
    "offset",
    "query",
)
QUERIES += (
    "index",
    "indices",
    "first",
    "last",
    "state",
    "states",
    "entry",
    "axis",
    "points",
    "metric",
    "low",
)
STARTING = {"rl_start", "rl_try_fix", "rl_control", "rl_episode", "rl_plan"}
"""Tools that start processes; they are asked with arguments that they refuse."""


class Pages:
    """The server of `gymsolve web` on a folder of runs."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def ask(self, method: str, path: str, query: str = "", body: Any = None) -> str | None:
        """What is wrong with the answer to a request; None if nothing is."""
        origin = {"origin": "http://127.0.0.1:8650"}
        content = None if body is None else json.dumps(body).encode()
        answer = self._client.request(method, f"/api{path}?{query}", content=content, headers=origin)
        said = f"{method} {path}?{query} {content!r:.200}: {answer.status_code}, {answer.text[:300]}"
        if FAILED in answer.text or answer.status_code not in (200, 206, 303, 304, 400, 404, 405, 500, 503):
            return said
        if answer.status_code == 200 and answer.headers["content-type"] == "application/json":
            return None if isinstance(answer.json(), dict | list) else said
        if answer.status_code >= 400 and answer.status_code not in (404, 405):
            return None if answer.json()["error"]["text"] else said
        return None

    def all_of(self, run: str, episode: str) -> list[str]:
        """Every address that only reads, for a run and an episode; what went wrong."""
        asked = {"run": run, "episode": episode, "name": "best.mp4"}
        queries = {
            "/compare": f"runs={run}",
            f"/runs/{run}/closer": "names=rollout/ep_rew_mean&low=0&high=99",
        }
        found = []
        for route in ROUTES:
            if route.method == "GET":
                path = route.path.format(**asked)
                found.append(
                    self.ask("GET", path, queries.get(path, "first=0&last=3&index=0&state=0&step=0"))
                )
        return [one for one in found if one]

    def odd(self, chance: random.Random, run: str) -> str | None:
        """A request that makes little sense."""
        route = chance.choice(ROUTES)
        known = {"run": run, "episode": "x", "name": "best.mp4"}
        parts = {
            name: quote(_odd(chance), safe="") if chance.random() < 0.5 else known[name] for name in known
        }
        pairs = [f"{chance.choice(QUERIES)}={quote(_odd(chance))}" for _ in range(chance.randrange(4))]
        body = None
        if route.method == "POST":
            body = {chance.choice((*QUERIES, "env", "set", "note", "seed")): _any(chance) for _ in range(3)}
            parts["run"] = "no-such-run"  # what acts on runs has other tests
            body["env"] = chance.choice(("no such env", "a\0b", "\ud800", "", ["x"], {"x": 1}, 3, None))
        return self.ask(route.method, route.path.format(**parts), "&".join(pairs), body)


def _odd(chance: random.Random) -> str:
    text = chance.choice((chance.choice(TEXTS), chance.choice(NUMBERS)))
    return text.encode(errors="replace").decode()[:2000]


def _any(chance: random.Random) -> Any:
    text = chance.choice((*TEXTS, *NUMBERS))[:2000]
    return chance.choice((text, text, [text], {text: text}, 10**30, -1, 0.5, True, None, []))


@contextmanager
def open_pages(runs: Path) -> Iterator[Pages]:
    """The server's application, behind its guard."""
    home = Home(str(runs.absolute()), Limits(runs=1), by="person")
    app = make_app(home, token="secret", host="127.0.0.1", port=8650)
    with TestClient(app, base_url="http://127.0.0.1:8650", raise_server_exceptions=False) as client:
        client.cookies.set("gymsolve_8650", "secret")
        yield Pages(client)


class Tools:
    """Calls of tools that some rounds ask for: names and arguments."""

    def __init__(self, chance: random.Random, run: str) -> None:
        self._chance, self._run = chance, run

    def odd(self) -> tuple[str, dict[str, Any]]:
        """A call that makes little sense."""
        tool = self._chance.choice(TOOLS)
        fields: dict[str, Any] = tool.schema()["properties"]
        chosen = self._chance.sample(list(fields), min(len(fields), self._chance.randrange(1, 5)))
        given = {name: self._value(fields[name]) for name in chosen}
        known = {"run": self._run, "runs": [self._run, "@last"], "env": "Bandit-v0"}
        given |= {name: known[name] for name in known if name in fields and self._chance.random() < 0.7}
        if tool.name in STARTING and given.get("env", "Bandit-v0") != "Bandit-v0":
            given["env"] = "Bandit-v0:\u202e"
        if self._chance.random() < 0.05:
            given["surprise"] = _any(self._chance)
        return tool.name, {name: _sound(value) for name, value in given.items()}

    def _value(self, field: dict[str, Any]) -> Any:
        """A value of the kind that a field asks for, now and then of another one."""
        text = self._chance.choice((*TEXTS, *NUMBERS))[:500]
        whole = self._chance.choice((0, 1, -1, 3, 2**31, 10**20))
        of_kind: dict[str, Any] = {"string": text, "integer": whole, "number": float(min(whole, 1e9))}
        of_kind |= {"array": [text], "object": {text: whole, "algo.gamma": text}, "boolean": whole > 0}
        if "enum" in field and self._chance.random() < 0.8:
            return self._chance.choice(field["enum"])
        usual = self._chance.random() < 0.9
        return of_kind[field["type"]] if usual and field.get("type") in of_kind else _any(self._chance)

    def reading(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every tool that only reads, for the run."""
        for detail in (None, "report", "events", "settings", "log", "checkpoints"):
            yield "rl_run", {"run": self._run} | ({} if detail is None else {"detail": detail})
        yield "rl_runs", {}
        yield "rl_metrics", {"runs": [self._run]}
        yield "rl_compare", {"runs": [self._run, "@last"]}
        yield "rl_diagnose", {"run": self._run}
        yield "rl_logbook", {}
        yield "rl_catalog", {"kind": "demos"}


def _sound(value: Any) -> Any:
    """The client itself refuses halves of characters; `tests/agents` sends them over standard input."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_sound(one) for one in value]
    return {_sound(key): _sound(one) for key, one in value.items()} if isinstance(value, dict) else value


def ask_tools(runs: Path, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Make calls over a real connection in memory; what went wrong."""
    found: list[str] = []

    async def make() -> None:
        async with Client(make_server(Home(str(runs.absolute()), Limits(steps=0)))) as client:
            for name, given in calls:
                try:
                    answer = await client.call_tool(name, given)
                except Exception as error:  # noqa: BLE001 - an error of the protocol is a finding
                    found.append(f"{name} {given!r:.300}: {type(error).__name__} {error}")
                    continue
                text = "\n".join(part.text for part in answer.content if part.type == "text")
                if FAILED in text or (answer.is_error and not text):
                    found.append(f"{name} {given!r:.300}: {text[:300]}")

    anyio.run(make)
    return found
