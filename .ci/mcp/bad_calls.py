"""Makes bad calls of many kinds: `bad_calls.py PROGRAM PYTHON SERVER EVERYTHING FILESYSTEM FOLDER`. The server
itself refuses each. Through the proxy it succeeds, or is refused with a text that names the fix."""
import sys

from lines import Lines

program, python, server, everything, filesystem, folder = sys.argv[1:]
SERVERS = {
    "py": [python, server],
    "ts": ["node", everything],
    "fs": ["node", filesystem, folder],
}
# The fault, the server, the tool, the arguments, and text of the answer through the proxy, which a `!`
# marks as a refusal.
KINDS = [
    ("a number as a string", "ts", "get-sum", {"a": "1", "b": 2}, "is 3"),
    ("a stringified array", "fs", "read_multiple_files", {"paths": f'["{folder}/b.txt"]'}, "hello"),
    ("a stringified object", "ts", "get-sum", '{"a": 1, "b": 2}', "is 3"),
    ("null for an optional value", "fs", "read_text_file", {"path": f"{folder}/b.txt", "head": None}, "hello"),
    ("arguments in another key style", "fs", "search_files", {"Path": folder, "Pattern": "b.txt"}, "b.txt"),
    ("wrapped arguments", "ts", "get-sum", {"arguments": {"a": 1, "b": 2}}, "is 3"),
    ("arguments wrapped in the tool's name", "ts", "get-sum", {"get-sum": {"a": 1, "b": 2}}, "is 3"),
    ("arguments in a list", "ts", "get-sum", [{"a": 1, "b": 2}], "is 3"),
    ("a scalar for a list", "fs", "read_multiple_files", {"paths": f"{folder}/b.txt"}, "hello"),
    ("an enum value in another case", "ts", "get-annotated-message", {"messageType": "Error"}, "Error"),
    ("a boolean as a string", "ts", "get-annotated-message", {"messageType": "debug", "includeImage": "true"}, "Debug"),
    ("a tool name in another style", "ts", "get_sum", {"a": 1, "b": 2}, "is 3"),
    ("a tool name with a namespace", "py", "functions.add", {"a": 1, "b": 2}, "3"),
    ("a number with a comma", "ts", "get-sum", {"a": "1,000", "b": 2}, "!a"),
    ("a missing value", "ts", "get-sum", {"a": 1}, "!add the missing b (a number)"),
    ("no arguments", "ts", "echo", None, "!add the missing message (a string)"),
    ("a value of the wrong type", "ts", "echo", {"message": {"text": "hi"}}, "!message"),
    ("a value that is not allowed", "ts", "get-annotated-message", {"messageType": "warning"}, "!error"),
    ("a misspelt tool", "ts", "ecko", {"message": "hi"}, "!Did you mean `echo`?"),
    ("a key in camel case", "py", "edit_file", {"filePath": "a", "edits": []}, "a: 0 edits"),
    ("keys of another style, deep inside", "py", "edit_file", {"file_path": "a", "edits": [{"oldText": "x", "newText": "y"}]}, "1 edits"),
    ("a number out of a list", "py", "add", {"a": [1], "b": 2}, "3"),
    ("text for a whole number", "py", "add", {"a": "one", "b": 2}, "!change a"),
]


def text(answer):
    if "error" in answer:
        return True, answer["error"]["message"]
    result = answer["result"]
    words = " ".join(part.get("text", "") for part in result.get("content", []))
    return bool(result.get("isError")), words


direct = {name: Lines(command).open() for name, command in SERVERS.items()}
proxied = {name: Lines([program, "mcp", "--"] + command).open() for name, command in SERVERS.items()}
mended = refused = 0
wrong = []
for what, where, tool, arguments, wanted in KINDS:
    params = {"name": tool} if arguments is None else {"name": tool, "arguments": arguments}
    failed, words = text(direct[where].ask("tools/call", params))
    if not failed:
        wrong.append(f"{what}: the server accepts it: {words}")
    failed, words = text(proxied[where].ask("tools/call", params))
    if failed != wanted.startswith("!") or wanted.lstrip("!") not in words:
        wrong.append(f"{what}: {failed} {words}")
        continue
    refused += failed
    mended += not failed
    print(f"ok: {what}: {'refused' if failed else 'mended'}: {words.splitlines()[-1][:100]}")
for client in [*direct.values(), *proxied.values()]:
    client.close()
if wrong:
    sys.exit("FAILED:\n" + "\n".join(wrong))
print(f"ok: {mended + refused} kinds: {mended} succeed, {refused} are refused with the fix")
