"""A small tool-using conversation with a real model: `conversation.py URL`."""
import json
import sys

import openai

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
          "required": ["city", "days"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather of a city", "parameters": SCHEMA}}]
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none")
messages = [{"role": "user", "content": "What is the weather in Oslo for the next 3 days? Use the tool."}]
called = False
for _ in range(4):
    message = client.chat.completions.create(model="local", messages=messages, tools=TOOLS).choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        arguments = json.loads(call.function.arguments)
        assert type(arguments["city"]) is str and type(arguments["days"]) is int, arguments
        called = True
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "clear, 21 degrees"})
assert called, "the model called no tool"
print("ok: a conversation with a real model,", len(messages), "messages")
