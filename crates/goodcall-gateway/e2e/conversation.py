"""A small tool-using conversation with a real model, whole and streamed: `conversation.py URL`."""
import json
import sys

import openai

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
          "required": ["city", "days"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather of a city", "parameters": SCHEMA}}]
QUESTION = "What is the weather in Oslo for the next 3 days? Use the tool, then answer in one sentence."
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", timeout=600, max_retries=0)


def whole(messages):
    reply = client.chat.completions.create(model="local", messages=messages, tools=TOOLS)
    message = reply.choices[0].message
    calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
    return message.content, calls


def streamed(messages):
    said, calls = "", {}
    for chunk in client.chat.completions.create(model="local", messages=messages, tools=TOOLS, stream=True):
        for choice in chunk.choices:
            said += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(part.index, ["", "", ""])
                call[0] += part.id or ""
                call[1] += part.function.name or ""
                call[2] += part.function.arguments or ""
    return said or None, [tuple(calls[index]) for index in sorted(calls)]


for name, ask in [("whole", whole), ("streamed", streamed)]:
    messages, called = [{"role": "user", "content": QUESTION}], 0
    for _ in range(6):
        said, calls = ask(messages)
        message = {"role": "assistant", "content": said}
        if calls:
            message["tool_calls"] = [{"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}}
                                     for id, tool, arguments in calls]
        messages.append(message)
        if not calls:
            break
        for id, tool, arguments in calls:
            arguments = json.loads(arguments)
            assert id and tool == "weather", (id, tool)
            assert type(arguments["city"]) is str and type(arguments["days"]) is int, arguments
            called += 1
            messages.append({"role": "tool", "tool_call_id": id, "content": "clear, 21 degrees"})
    assert called, f"{name}: the model called no tool"
    print(f"ok: a conversation with a real model, {name}: {called} calls, {len(messages)} messages")
