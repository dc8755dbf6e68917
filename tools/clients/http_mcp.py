"""Lists and calls tools over HTTP with the Python SDK, in both generations of the protocol."""

import asyncio
import sys

from mcp import Client


async def try_mode(url: str, mode: str) -> None:
    async with Client(url, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert len(tools) == 22, [tool.name for tool in tools]
        title = f"from python, {mode}"
        saved = await client.call_tool("mem_save", {"title": title, "content": f"said {mode}"})
        assert not saved.is_error, saved
        number = saved.structured_content["id"]
        got = await client.call_tool("mem_get_observation", {"id": number})
        assert got.structured_content["title"] == title, got
        found = await client.call_tool("mem_search", {"query": "what did python say"})
        assert any(hit["id"] == number for hit in found.structured_content["hits"]), found
        wrong = await client.call_tool("mem_get_observation", {"id": 10**9})
        assert wrong.is_error, wrong
        resource = await client.read_resource(f"cortex://memory/{number}")
        assert title in resource.contents[0].text, resource
        prompt = await client.get_prompt("recall", {"topic": "caches"})
        assert "caches" in prompt.messages[0].content.text, prompt
        print(f"ok   python mcp over HTTP, {mode}: {len(tools)} tools")


for chosen in ("auto", "legacy", "2026-07-28"):
    asyncio.run(try_mode(sys.argv[1], chosen))
