"""A chat model with tool use as the policy: the message formats of Anthropic and of OpenAI."""

import json
import os
from typing import Any

import anyio

from benchmarks.agent.session import Session
from gymsolve.apps.review.chat import FORMATS, Endpoint, post

__all__ = ["Model"]

_MOST_TOKENS = 4096


class Model:
    """Asks a model what to do until it answers without calling a tool, or the limit is reached."""

    def __init__(self, provider: str, model: str, *, limit: int, url: str | None = None) -> None:
        address, variable = FORMATS[provider]
        key = os.environ.get(variable, "")
        if not key and url is None:
            raise SystemExit(f"{variable} is not set.")
        self.endpoint, self.limit = Endpoint(url or address, model, provider, key), limit
        self.tokens, self.about = 0, ""

    async def play(self, session: Session, question: str) -> str:
        tools, self.about = await session.tools(), session.client.instructions or ""
        messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
        for _ in range(self.limit):
            said, wanted, turn = await self._ask(messages, tools)
            messages.append(turn)
            if not wanted:
                return said
            results = [(one, await _called(session, name, given)) for one, name, given in wanted]
            messages += self._answers(results)
        return ""

    async def _ask(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]
    ) -> tuple[str, list[tuple[str, str, Any]], dict[str, Any]]:
        """What it said, the calls that it wants (id, tool, arguments), and its turn for the record."""
        if self.endpoint.format == "anthropic":
            offered = [{**_named(one), "input_schema": one["schema"]} for one in tools]
            told = await self._post(
                {"max_tokens": _MOST_TOKENS, "system": self.about, "tools": offered}, messages
            )
            used = told.get("usage", {})
            self.tokens += used.get("input_tokens", 0) + used.get("output_tokens", 0)
            parts = told["content"]
            said = "".join(part["text"] for part in parts if part["type"] == "text")
            wanted = [(one["id"], one["name"], one["input"]) for one in parts if one["type"] == "tool_use"]
            return said, wanted, {"role": "assistant", "content": parts}
        functions = [
            {"type": "function", "function": _named(one) | {"parameters": one["schema"]}} for one in tools
        ]
        told = await self._post({"tools": functions}, [{"role": "system", "content": self.about}, *messages])
        self.tokens += told.get("usage", {}).get("total_tokens", 0)
        turn = told["choices"][0]["message"]
        asked = turn.get("tool_calls") or []
        wanted = [(one["id"], one["function"]["name"], one["function"]["arguments"] or "{}") for one in asked]
        return turn.get("content") or "", wanted, turn

    async def _post(self, body: dict[str, Any], messages: list[Any]) -> Any:
        return await anyio.to_thread.run_sync(post, self.endpoint, {"messages": messages, **body})

    def _answers(self, results: list[tuple[str, str]]) -> list[dict[str, Any]]:
        if self.endpoint.format == "anthropic":
            parts = [{"type": "tool_result", "tool_use_id": one, "content": text} for one, text in results]
            return [{"role": "user", "content": parts}]
        return [{"role": "tool", "tool_call_id": one, "content": text} for one, text in results]


async def _called(session: Session, name: str, given: Any) -> str:
    """The answer of a tool; what a model garbles is told to it, and its turn counts."""
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
        return await session.call(name, **dict(arguments))
    except (ValueError, TypeError) as error:
        session.errors += 1
        return f"The arguments are no JSON object: {error}"


def _named(tool: dict[str, Any]) -> dict[str, Any]:
    return {"name": tool["name"], "description": tool["description"]}
