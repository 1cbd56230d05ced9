"""Checks the mirrored headers of 2026-07-28: `mirrors.py DIRECT PROXY`. The server compares headers and
message itself. It refuses a call whose name or mirrored argument needs mending. Through the proxy message
and headers are mended together, and the server accepts the call."""
import json
import sys
import urllib.error
import urllib.request

direct, proxy = sys.argv[1:]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "ci", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(url, name, arguments, mirror):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": name, "arguments": arguments, "_meta": META}}
    headers = {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name,
    }
    if mirror is not None:
        headers["Mcp-Param-Region"] = mirror
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read().decode()
    except urllib.error.HTTPError as error:
        text = error.read().decode()
    text = next((line[6:] for line in text.splitlines() if line.startswith("data: {")), text)
    answer = json.loads(text)
    result = answer.get("result", {})
    failed = "error" in answer or result.get("isError", False)
    return failed, json.dumps(answer, ensure_ascii=False)


for what, name, arguments, mirror, wanted in [
    ("a name in another style", "Region", {"name": "eu"}, "eu", "eu 1"),
    ("wrapped arguments", "region", {"arguments": {"name": "eu", "size": 3}}, None, "eu 3"),
    ("a key in another style, and a value that is not ASCII", "region", {"Name": "Zürich"}, None, "Zürich 1"),
]:
    failed, words = call(direct, name, arguments, mirror)
    assert failed, f"{what}: the server accepts it: {words}"
    failed, words = call(proxy, name, arguments, mirror)
    assert not failed and wanted in words, f"{what}: {words}"
    print(f"ok: {what}: message and headers are mended together")
failed, words = call(proxy, "region", {"name": "eu"}, "us")
assert failed and "goodcall" not in words, words
print("ok: the server refuses headers that contradict the message, as without a proxy")
