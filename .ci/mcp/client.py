"""Has one conversation with the official Python SDK: `client.py MODE URL` or `client.py MODE -- COMMAND`.

MODE is `legacy` (with a handshake) or `auto` (the newest protocol version of the server). Prints one
line per answer; the same server must give the same lines with and without a proxy.
"""
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


def shown(value):
    if hasattr(value, "model_dump"):
        value = value.model_dump(by_alias=True, exclude_none=True, mode="json")
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


async def main(mode, target):
    notes = []

    async def heard(message):
        notes.append(type(getattr(message, "root", message)).__name__)

    async with Client(target, mode=mode, message_handler=heard, cache=None) as client:
        async def say(what, answer):
            try:
                print(what, shown(await answer))
            except Exception as error:  # an error is also an answer
                print(what, "error:", type(error).__name__, error)

        print("version", client.protocol_version)
        print("capabilities", shown(client.server_capabilities))
        await say("tools", client.list_tools())
        await say("resources", client.list_resources())
        await say("templates", client.list_resource_templates())
        await say("prompts", client.list_prompts())
        await say("prompt", client.get_prompt("greet", {"who": "Ada"}))
        await say("no prompt", client.get_prompt("none", {}))
        await say("read", client.read_resource("note://äöü"))
        await say("no resource", client.read_resource("none://x"))
        for name, arguments in [
            ("add", {"a": 1, "b": 2}),
            ("join", {"words": ["a", "b\n\u2028"], "separator": "-"}),
            ("weather", {"city": "Oslo"}),
            ("edit_file", {"file_path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
            ("move", {"point": {"x": 1, "y": 2}, "by": {"x": 3, "y": 4}}),
            ("exact", {"number": 12345678901234567890123}),
            ("ping_all", {}),
            ("wipe", {"count": 1}),
            ("region", {"name": "eu", "size": 2}),
            ("region", {"name": "Zürich"}),
            ("fails", {}),
        ]:
            await say(name, client.call_tool(name, arguments))
        progress = []

        async def heard_progress(done, total, message):
            progress.append((done, total))

        await say("slow", client.call_tool("slow", {"steps": 3}, progress_callback=heard_progress))
        print("progress", progress)
        answers = await asyncio.gather(*[client.call_tool("add", {"a": n, "b": n}) for n in range(20)])
        print("many", [answer.structured_content for answer in answers])
        if mode == "legacy":
            await say("ping", client.send_ping())
            await say("complete none", client.complete({"type": "ref/prompt", "name": "greet"}, {"name": "who", "value": "A"}))
    print("notes", sorted(set(notes)))


if __name__ == "__main__":
    mode, rest = sys.argv[1], sys.argv[2:]
    target = rest[0] if rest[0] != "--" else StdioServerParameters(command=rest[1], args=rest[2:])
    asyncio.run(main(mode, target))
