"""The MCP server: tools, resources and prompts; `transports.py` connects it.

Calls run in threads. Trainings that they start have a process and a session of their own and outlive the
server. Errors are results that name the fix; no error of a tool ends the server.
"""

import base64
import json
import sys
import threading
import traceback
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp import types
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from gymsolve.errors import GymsolveError, UnknownRunError, UsageError, did_you_mean
from gymsolve.jobs.cancellation import wanted_until
from gymsolve.mcp import acting, reading
from gymsolve.mcp.looking import report_page
from gymsolve.mcp.prompts import PROMPTS, Prompt, read_text
from gymsolve.mcp.tool import Arguments, Content, Record, Reply, Tool, read_arguments, shorten
from gymsolve.mcp.words import facts_in_tool_words, in_tool_words
from gymsolve.runs.files import os_sentence
from gymsolve.service.agent_limits import Home, own_run
from gymsolve.view.diagnosed_run import DiagnosedRun

TOOLS: tuple[Tool, ...] = (*reading.TOOLS, *acting.TOOLS)
_PARTS = {"config": "", "alerts": "", "report": "{?offset}"}
"""Resources of a run, and what their addresses may ask for."""
_MOST_CALLS = 200
_MOST_ERROR = 1000
_INVALID = -32602
_TICK = 2.0
"""Seconds between reports of a call that works."""
Context = ServerRequestContext[Any, Any]


def make_server(home: Home) -> Server[Any]:
    """The server for a folder of runs, not yet connected to anything."""

    async def list_tools(context: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool, home) for tool in TOOLS])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _call(home, context, params.name, params.arguments or {})

    async def list_prompts(context: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_prompt(prompt) for prompt in PROMPTS])

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return _filled(params.name, params.arguments or {})

    async def list_resources(context: Context, params: Any) -> types.ListResourcesResult:
        pages = [
            types.Resource(uri=f"docs://{page.stem}", name=page.stem, mime_type="text/markdown")
            for page in _docs()
        ]
        return types.ListResourcesResult(resources=pages)

    async def list_templates(context: Context, params: Any) -> types.ListResourceTemplatesResult:
        templates = [
            types.ResourceTemplate(uri_template=f"run://{{run}}/{part}{query}", name=f"{part} of a run")
            for part, query in _PARTS.items()
        ]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = await anyio.to_thread.run_sync(_resource, home, str(params.uri))
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=text)])

    return Server(
        "gymsolve",
        version=version("gymsolve"),
        instructions=read_text("instructions"),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


# ------------------------------------------------------------------------------------------- tools


def _described(tool: Tool, home: Home) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.schema(),
        annotations=types.ToolAnnotations(read_only_hint=tool.only_reads(home), destructive_hint=False),
    )


async def _call(home: Home, context: Context, name: str, given: dict[str, Any]) -> types.CallToolResult:
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    try:
        if tool is None:
            names = [tool.name for tool in TOOLS]
            near = did_you_mean(name, names) or f"There are: {', '.join(names)}."
            raise GymsolveError(f"there is no tool {name!r}.", hint=near)
        arguments = read_arguments(tool, given)

        reply = await _worked_with_progress(home, context, tool, arguments)
    except (GymsolveError, OSError) as error:
        if isinstance(error, OSError):  # a disk that is full, a file that may not be read
            error = os_sentence(error)
        if isinstance(error, UnknownRunError) and "gymsolve runs" in (error.hint or "gymsolve runs"):
            error.hint = "rl_runs lists them."
        return _refused(in_tool_words(str(error)))
    except Exception as error:  # noqa: BLE001 - a mistake of ours ends one call, not the server
        sys.stderr.write("".join(traceback.format_exception(error)))
        return _refused(
            f"this failed inside gymsolve ({type(error).__name__}): the server's standard error says where."
        )
    return _sent(reply)


def _refused(sentence: str) -> types.CallToolResult:
    text = sendable(shorten(sentence, _MOST_ERROR))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def sendable(text: str) -> str:
    """The text without halves of surrogate pairs, which paths may have and JSON must not."""
    return text.encode(errors="replace").decode()


async def _worked_with_progress(home: Home, context: Context, tool: Tool, arguments: Arguments) -> Reply:
    """The reply; the client hears of calls that take longer than seconds.

    Tools that know how far they are say so; of others, it hears how long they have worked.
    """
    heard, began = threading.Event(), anyio.current_time()

    def tell(done: float, total: float, text: str) -> None:
        heard.set()
        anyio.from_thread.run(context.session.report_progress, done, total or None, text)

    async def tick() -> None:
        while not heard.is_set():
            await anyio.sleep(_TICK)
            passed = round(anyio.current_time() - began)
            if not heard.is_set():
                await context.session.report_progress(passed, None, f"{tool.name} has worked for {passed} s")

    outcome: Reply | Exception
    async with anyio.create_task_group() as ticking:
        ticking.start_soon(tick)
        try:
            outcome = await _worked(lambda: tool.call(home, arguments, tell))
        except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
            outcome = error
        ticking.cancel_scope.cancel()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def _worked(work: Callable[[], Reply]) -> Reply:
    """The reply that a thread computes; if the client cancels, the thread ends the processes it started."""
    gone = threading.Event()

    def wanted() -> Reply:
        with wanted_until(gone):
            return work()

    try:
        return await anyio.to_thread.run_sync(wanted, abandon_on_cancel=True, limiter=_threads())
    finally:
        gone.set()


@cache
def _threads() -> anyio.CapacityLimiter:
    """The number of threads is large, so that calls that wait do not hold up others."""
    return anyio.CapacityLimiter(_MOST_CALLS)


def _sent(reply: Reply) -> types.CallToolResult:
    quoted = isinstance(reply, Content | Record) and reply.quoted

    def spelled(facts: Any) -> Any:
        return facts if quoted else facts_in_tool_words(facts)

    if isinstance(reply, Content):
        pictures = [
            types.ImageContent(type="image", data=base64.b64encode(picture).decode(), mime_type="image/png")
            for picture in reply.pictures
        ]
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=sendable(spelled(reply.text))), *pictures]
        )
    # Not as structured content, too: some hosts show only one of both, and some pay for both.
    text = sendable(json.dumps(spelled(reply.to_json()), ensure_ascii=False))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


# ------------------------------------------------------------------------------ prompts, resources


def _prompt(prompt: Prompt) -> types.Prompt:
    argument = types.PromptArgument(name=prompt.argument, description=prompt.argument_about, required=True)
    return types.Prompt(name=prompt.name, description=prompt.about, arguments=[argument])


def _filled(name: str, given: dict[str, str]) -> types.GetPromptResult:
    prompt = next((prompt for prompt in PROMPTS if prompt.name == name), None)
    if prompt is None:
        raise MCPError(
            _INVALID, f"there is no prompt {name!r}: {', '.join(prompt.name for prompt in PROMPTS)}"
        )
    if set(given) != {prompt.argument}:
        raise MCPError(_INVALID, f"the prompt {name!r} takes {prompt.argument!r} alone")
    text = read_text(prompt.name).replace(f"{{{prompt.argument}}}", given[prompt.argument])
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompt.about, messages=[message])


def _docs() -> list[Path]:
    """Pages of the documentation, where the package is installed from its repository."""
    return sorted((Path(__file__).parents[3] / "docs").glob("*.md"))


def _resource(home: Home, uri: str) -> str:
    kind, _, rest = uri.partition("://")
    if kind == "docs":
        page = next((page for page in _docs() if page.stem == rest), None)
        if page is not None:
            return page.read_text(encoding="utf-8")
    run, _, asked = rest.partition("/")
    part, _, query = asked.partition("?")
    if kind != "run" or part not in _PARTS or (query and not _PARTS[part]):
        raise MCPError(_INVALID, f"there is no resource {uri!a}: run://RUN/config, alerts or report")
    try:
        return _part(home, run, part, query)
    except GymsolveError as error:
        raise MCPError(_INVALID, str(error)) from error
    except OSError as error:
        raise MCPError(_INVALID, str(os_sentence(error))) from error


def _part(home: Home, ref: str, part: str, query: str) -> str:
    run, _ = own_run(ref, home)
    if part == "config":
        return json.dumps(run.config_json(), ensure_ascii=False, indent=1)
    if part == "report":
        return report_page(home, ref, _offset(query), f"run://{run.id}/report?offset={{}}")
    findings = DiagnosedRun(run).findings.to_json()
    names = ("run", "env_steps", "roots", "consequences", "lint", "problems")
    return json.dumps({name: findings[name] for name in names}, ensure_ascii=False, indent=1)


def _offset(query: str) -> int:
    """Where a part of a report begins."""
    name, _, number = query.partition("=")
    if query and not (name == "offset" and number.isascii() and number.isdecimal() and len(number) < 12):
        raise UsageError(f"{query[:40]!r} asks for no part of a report.", hint="Write ?offset=6000")
    return int(number or 0)
