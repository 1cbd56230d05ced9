"""The client of openai against a chain of proxies: `litellm.py URL KEY`. Calls must come out right."""
import json
import sys

import openai

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
          "required": ["city", "days"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "d", "parameters": SCHEMA}}]
USER = [{"role": "user", "content": "The weather of Oslo for 3 days?"}]

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key=sys.argv[2], max_retries=0)
for model in ["good", "mended", "lenient", "bad"]:
    for stream in [False, True]:
        ask = dict(model=model, messages=USER, tools=TOOLS)
        if stream:
            with client.chat.completions.stream(**ask) as events:
                for _ in events:
                    pass
                choice = events.get_final_completion().choices[0]
        else:
            choice = client.chat.completions.create(**ask).choices[0]
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls]
        if calls != [("weather", {"city": "Oslo", "days": 3})]:
            sys.exit(f"FAILED: {model}, stream {stream}: {calls}")
print("ok: 8 calls")
