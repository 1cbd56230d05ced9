"""Tests the proxy under load: `load.py PROGRAM CALLS IN_FLIGHT COMMAND...`. Good, mended and bad calls run side
by side; each must get exactly one right answer, and memory must not grow."""
import json
import sys
import time

from lines import Lines


def memory(pid):
    """Returns the resident memory of a process in megabytes."""
    for line in open(f"/proc/{pid}/status", encoding="utf-8"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024


program, calls, in_flight, command = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
client = Lines([program, "mcp", "--"] + command).open()


def send(number):
    # A third is good, a third is mended, a third is refused.
    arguments = [{"a": number, "b": 1}, {"a": str(number), "b": 1}, {"a": number}][number % 3]
    params = {"name": "get-sum", "arguments": arguments}
    client.send(json.dumps({"jsonrpc": "2.0", "id": f"n{number}", "method": "tools/call", "params": params}))


sent = answered = 0
seen = set()
early = None
started = time.monotonic()
while answered < calls:
    while sent < calls and sent - answered < in_flight:
        send(sent)
        sent += 1
    answer = json.loads(client.answer())
    number = int(answer["id"][1:])
    assert number not in seen, f"{number} was answered twice"
    seen.add(number)
    words = answer["result"]["content"][0]["text"]
    wanted = [f"is {number + 1}.", f"is {number + 1}.", "add the missing b (a number)"][number % 3]
    assert wanted in words, answer
    assert ("goodcall/changes" in json.dumps(answer.get("result"))) == (number % 3 == 1), answer
    answered += 1
    if answered == calls // 5:
        early = memory(client.process.pid)
took = time.monotonic() - started
late = memory(client.process.pid)
assert late - early < 8, f"memory grew from {early:.1f} to {late:.1f} MB"
assert client.close() == 0
print(f"ok: {calls} calls, {in_flight} in flight, {took:.1f} s, {calls / took:.0f} calls/s; "
      f"memory {early:.1f} MB after a fifth, {late:.1f} MB at the end")
