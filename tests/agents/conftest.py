"""Calls of tools through the real client."""

import json

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def call(client, name, /, **arguments):
    return await client.call_tool(name, arguments)


async def ask(client, name, /, **arguments):
    """The facts of an answer that must not be an error."""
    answer = await call(client, name, **arguments)
    assert not answer.is_error, told(answer)
    return facts(answer)


def told(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


def facts(result):
    return json.loads(told(result))
