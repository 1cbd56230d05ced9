"""Python clients, unchanged but for their base URL: `clients.py URL SCENARIO…`.

Prints one JSON object a line: who asked, what, and the answer or the failure.
"""
import json
import sys

import anthropic
import openai
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
          "required": ["city", "days"], "additionalProperties": False}
CHAT_TOOLS = [{"type": "function", "function": {"name": "weather", "description": "d", "parameters": SCHEMA}}]
FLAT_TOOLS = [{"type": "function", "name": "weather", "description": "d", "parameters": SCHEMA, "strict": False}]
BLOCK_TOOLS = [{"name": "weather", "description": "d", "input_schema": SCHEMA}]
USER = [{"role": "user", "content": "The weather of Oslo for 3 days?"}]


def checked(calls):
    """The calls, as a tool would take them: each must fit its schema."""
    out = []
    for name, arguments in calls:
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
        if name != "weather":
            raise ValueError(f"no tool {name}")
        if sorted(arguments) != ["city", "days"] or type(arguments["city"]) is not str or type(arguments["days"]) is not int:
            raise ValueError(f"wrong arguments {arguments}")
        out.append([name, arguments])
    if not out:
        raise ValueError("no call")
    return out


def reason(found, wanted):
    if found != wanted:
        raise ValueError(f"finish reason {found}")


def openai_chat(url, model, stream):
    client = openai.OpenAI(base_url=url + "/v1", api_key="key", max_retries=0)
    ask = dict(model=model, messages=USER, tools=CHAT_TOOLS)
    if stream:
        with client.chat.completions.stream(**ask) as events:
            for _ in events:
                pass
            choice = events.get_final_completion().choices[0]
    else:
        choice = client.chat.completions.create(**ask).choices[0]
    reason(choice.finish_reason, "tool_calls")
    ids = [call.id for call in choice.message.tool_calls]
    if len(set(ids)) != len(ids):
        raise ValueError("ids")
    return checked((call.function.name, call.function.arguments) for call in choice.message.tool_calls)


def openai_responses(url, model, stream):
    client = openai.OpenAI(base_url=url + "/v1", api_key="key", max_retries=0)
    ask = dict(model=model, input=USER, tools=FLAT_TOOLS)
    if stream:
        with client.responses.stream(**ask) as events:
            for _ in events:
                pass
            response = events.get_final_response()
    else:
        response = client.responses.create(**ask)
    return checked((item.name, item.arguments) for item in response.output if item.type == "function_call")


def anthropic_messages(url, model, stream):
    client = anthropic.Anthropic(base_url=url, api_key="key", max_retries=0)
    ask = dict(model=model, max_tokens=100, messages=USER, tools=BLOCK_TOOLS)
    if stream:
        with client.messages.stream(**ask) as events:
            for _ in events:
                pass
            message = events.get_final_message()
    else:
        message = client.messages.create(**ask)
    reason(message.stop_reason, "tool_use")
    return checked((block.name, block.input) for block in message.content if block.type == "tool_use")


def langchain(model, stream):
    if not stream:
        message = model.invoke("The weather of Oslo for 3 days?")
    else:
        message = None
        for chunk in model.stream("The weather of Oslo for 3 days?"):
            message = chunk if message is None else message + chunk
    return checked((call["name"], call["args"]) for call in message.tool_calls)


def langchain_openai(url, model, stream):
    chat = ChatOpenAI(model=model, base_url=url + "/v1", api_key="key", max_retries=0, use_responses_api=False)
    return langchain(chat.bind_tools(CHAT_TOOLS), stream)


def langchain_anthropic(url, model, stream):
    chat = ChatAnthropic(model=model, base_url=url, api_key="key", max_retries=0, max_tokens=100)
    return langchain(chat.bind_tools(BLOCK_TOOLS), stream)


def main():
    url, scenarios = sys.argv[1], sys.argv[2:]
    clients = [openai_chat, openai_responses, anthropic_messages, langchain_openai, langchain_anthropic]
    for client in clients:
        for scenario in scenarios:
            for stream in [False, True]:
                line = {"client": "python " + client.__name__, "scenario": scenario, "stream": stream}
                try:
                    line["answer"] = client(url, scenario, stream)
                except Exception as error:  # whatever a client does with a wrong reply
                    line["failure"] = f"{type(error).__name__}: {error}"[:200]
                print(json.dumps(line), flush=True)


main()
