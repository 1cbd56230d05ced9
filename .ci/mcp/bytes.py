"""Checks that answers pass byte for byte: `bytes.py PROGRAM COMMAND...`. The same lines go to a server
directly and through the proxy, and every answer must have the same bytes."""
import sys

from lines import Lines

# Unusual but valid: order, white space, unknown fields, big numbers, string ids, escapes.
LINES = [
    '{"jsonrpc":"2.0","id":"a\\u00e4","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
    '{ "method": "ping" , "id" : 9007199254740991, "jsonrpc":"2.0", "params": {"extra": [1.50, {"z":1,"a":2}]} }',
    '{"params":{"_meta":{"x/y":1e2},"extra":{"z":1,"a":2}},"id":2,"method":"tools/list","jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":3,"method":"tools/list"}',
    '{"jsonrpc":"2.0","id":4,"method":"prompts/list"}',
    '{"jsonrpc":"2.0","id":5,"method":"resources/list"}',
    '{"jsonrpc":"2.0","id":6,"method":"unknown/method","params":{"deep":[[[[1]]]]}}',
    '{"jsonrpc":"2.0","id":"7","method":"resources/read","params":{"uri":"nowhere://x"}}',
]
GOOD = {
    "everything": [("echo", '{"message": "\\u00e4 \\ud83d\\ude00 \\n"}'), ("get-sum", '{"b":2.50,"a":1E1}')],
    "server.py": [("add", '{"a":1,"b":2}'), ("join", '{"words":["\\u00e4","b"]}'), ("exact", '{"number":12345678901234567890123}')],
    "filesystem": [("list_allowed_directories", "{}")],
}


def answers(command, kind):
    client = Lines(command)
    out = []
    for line in LINES:
        client.send(line)
        out.append(client.answer())
        if len(out) == 1:
            client.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    for number, (tool, arguments) in enumerate(GOOD[kind]):
        client.send(
            '{"jsonrpc":"2.0", "id": "c%d","method":"tools/call","params":{"arguments":%s,"name":"%s","_meta":{"progressToken":"t%d"}}}'
            % (number, arguments, tool, number)
        )
        out.append(client.answer())
    client.close()
    return out


program, command = sys.argv[1], sys.argv[2:]
kind = next(kind for kind in GOOD if any(kind in word for word in command))
direct = answers(command, kind)
proxied = answers([program, "mcp", "--"] + command, kind)
for one, other in zip(direct, proxied):
    if one != other:
        sys.exit(f"FAILED: {kind}\ndirect:  {one}\nproxied: {other}")
print(f"ok: {kind}: {len(direct)} answers, {sum(map(len, direct))} bytes, all the same")
