"""Lists and calls every tool with the Python SDK of MCP and with fastmcp, over HTTP and standard streams.

    python_clients.py URL_OF_MCP PATH_OF_CORTEX

The calls are those of calls.json. Each round has a project and a session of its own, so that none finds what another saved.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import fastmcp
import mcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

CALLS = json.loads(Path(__file__).with_name("calls.json").read_text())["calls"]
URL, CORTEX = sys.argv[1:]
# A client of standard streams hands on few variables unless it is told.
ENV = {name: os.environ[name] for name in ("HOME", "PATH", "CORTEX_HOME")}
# What shows the owner over HTTP.
OWNER = {"Authorization": "Bearer " + Path(os.environ["CORTEX_HOME"], "token").read_text().strip()}


def arguments(call: dict, kept: dict, round_name: str) -> dict:
    """The arguments of a call, in the names of this round, with the ids that are known by now."""
    given = {}
    for name, value in call["arguments"].items():
        if isinstance(value, str) and value.startswith("$"):
            value = kept[value[1:]]
        elif name == "project":
            value = round_name
        elif value == "s-clients":
            value = f"s-{round_name}"
        given[name] = value
    return given


def has(call: dict, text: str, round_name: str) -> bool:
    expected = call["has"].replace("s-clients", f"s-{round_name}")
    return (round_name if expected == "clients" else expected) in text


async def try_sdk(what: str, round_name: str, target: object, mode: str) -> None:
    async with mcp.Client(target, mode=mode) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {call["tool"] for call in CALLS}, names
        kept = {}
        for call in CALLS:
            result = await client.call_tool(call["tool"], arguments(call, kept, round_name))
            assert not result.is_error, (call, result)
            assert has(call, result.content[0].text, round_name), (call, result)
            if "keep" in call:
                kept[call["keep"]] = result.structured_content["id"]
        wrong = await client.call_tool("mem_get_observation", {"id": 10**9})
        assert wrong.is_error, wrong
        resource = await client.read_resource(f"cortex://memory/{kept['first']}")
        assert "redb" in resource.contents[0].text, resource
        prompt = await client.get_prompt("recall", {"topic": "caches"})
        assert "caches" in prompt.messages[0].content.text, prompt
    print(f"ok   {what}: {len(names)} tools, {len(CALLS)} calls")


async def try_fastmcp(what: str, round_name: str, target: object) -> None:
    async with fastmcp.Client(target) as client:
        names = {tool.name for tool in await client.list_tools()}
        assert names == {call["tool"] for call in CALLS}, names
        kept = {}
        for call in CALLS:
            result = await client.call_tool(call["tool"], arguments(call, kept, round_name))
            assert result.structured_content, (call, result)
            assert has(call, result.content[0].text, round_name), (call, result)
            if "keep" in call:
                # fastmcp makes an object of the output schema.
                kept[call["keep"]] = result.data.id
        wrong = await client.call_tool("mem_get_observation", {"id": 10**9}, raise_on_error=False)
        assert wrong.is_error, wrong
        resource = await client.read_resource(f"cortex://memory/{kept['first']}")
        assert "redb" in resource[0].text, resource
        prompt = await client.get_prompt("recall", {"topic": "caches"})
        assert "caches" in prompt.messages[0].content.text, prompt
    print(f"ok   {what}: {len(names)} tools, {len(CALLS)} calls")


async def main() -> None:
    rounds = 0
    for over in ("HTTP", "stdio"):
        for mode in ("auto", "legacy", "2026-07-28"):
            rounds += 1
            stdio = mcp.StdioServerParameters(command=CORTEX, args=["mcp"], env=ENV)
            owned = streamable_http_client(URL, http_client=create_mcp_http_client(headers=OWNER))
            target = owned if over == "HTTP" else stdio
            await try_sdk(f"python mcp, {mode}, {over}", f"round-{rounds}", target, mode)
        rounds += 1
        stdio = StdioTransport(command=CORTEX, args=["mcp"], env=ENV, keep_alive=False)
        target = StreamableHttpTransport(URL, headers=OWNER) if over == "HTTP" else stdio
        await try_fastmcp(f"fastmcp, {over}", f"round-{rounds}", target)


asyncio.run(main())
