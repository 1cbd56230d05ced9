"""Bad forms of a good call, as models write them."""
import copy
import json
import re

# Forms in which a server may ignore a key, because its schema allows any other.
MISSPELT_KEYS = {"keys in camel case", "keys in snake case", "keys in Pascal case", "a key with a space"}


def camel(key):
    return re.sub(r"[_-](\w)", lambda found: found[1].upper(), key)


def snake(key):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), key).replace("-", "_")


def pascal(key):
    key = camel(key)
    return key[:1].upper() + key[1:]


def renamed(value, style):
    """Renames the keys of all objects."""
    if isinstance(value, dict):
        return {style(key): renamed(inner, style) for key, inner in value.items()}
    return [renamed(inner, style) for inner in value] if isinstance(value, list) else value


def replaced(arguments, key, value):
    return {**arguments, key: value}


def of(tool, arguments, tools):
    """Yields the name of each form, the tool's name and the arguments."""
    schema = tools[tool]["inputSchema"]
    seen = {json.dumps([tool, arguments])}
    for form, name, bad in forms(tool, arguments, schema):
        text = json.dumps([name, bad])
        if text not in seen:
            seen.add(text)
            yield form, name, bad


def forms(tool, arguments, schema):
    for key, value in arguments.items():
        yield from of_value(tool, arguments, key, value)
    yield "arguments as text", tool, json.dumps(arguments)
    yield "arguments in a list", tool, [arguments]
    for wrapper in ("arguments", "input", "parameters", tool):
        yield "wrapped arguments", tool, {wrapper: arguments}
    for form, style in [("keys in camel case", camel), ("keys in snake case", snake), ("keys in Pascal case", pascal)]:
        yield form, tool, renamed(arguments, style)
    for key in list(arguments)[:1]:
        rest = {other: value for other, value in arguments.items() if other != key}
        yield "a key with a space", tool, {f" {key}": arguments[key], **rest}
    for key in schema.get("properties", {}):
        if key not in arguments and key not in schema.get("required", []):
            yield "null for an optional value", tool, replaced(arguments, key, None)
    yield "a key of the host", tool, replaced(arguments, "reasoning", "because")
    for key in schema.get("required", []):
        rest = copy.deepcopy(arguments)
        rest.pop(key, None)
        yield "a missing value", tool, rest
    for name in {snake(tool), pascal(tool), f"functions.{tool}", tool.replace("_", "-")}:
        yield "a name in another style", name, arguments


def of_value(tool, arguments, key, value):
    if isinstance(value, bool):
        yield "a boolean as text", tool, replaced(arguments, key, str(value).lower())
        yield "a boolean in Python", tool, replaced(arguments, key, str(value))
    elif isinstance(value, (int, float)):
        yield "a number as text", tool, replaced(arguments, key, json.dumps(value))
        yield "a number in a list", tool, replaced(arguments, key, [value])
    elif isinstance(value, str):
        yield "text in a list", tool, replaced(arguments, key, [value])
        yield "an object for text", tool, replaced(arguments, key, {"value": value})
        yield "text in capitals", tool, replaced(arguments, key, value.upper())
    elif isinstance(value, (list, dict)):
        yield "JSON as text", tool, replaced(arguments, key, json.dumps(value))
        if isinstance(value, list) and len(value) == 1:
            yield "one element without its list", tool, replaced(arguments, key, value[0])
