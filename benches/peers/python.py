"""The peers that run on Python: `python python.py TASK …`.

Tasks: peers | load PEER | valid CALLS | traps TRAPS | menders | mend MENDER FILE | mend-value MENDER FILE.
"""

import importlib
import importlib.metadata
import json
import os
import sys
import time

ENOUGH = 0.3
PACKAGES = {"pydantic": "pydantic", "msgspec": "msgspec", "json_repair": "json_repair", "baml-py": "baml_py"}
# Bounds of JSON Schema by the names that pydantic and msgspec share.
BOUNDS = {
    "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of", "minLength": "min_length", "maxLength": "max_length",
    "minItems": "min_length", "maxItems": "max_length", "pattern": "pattern",
}


def peers():
    """The version of each package that is there."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass  # Not installed: it is not a peer, and the caller says why.
    return versions


class Types:
    """Python types from a JSON Schema, as one would write them by hand for a tool."""

    scalars = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}

    def __init__(self, root):
        self.root = root
        self.made = 0

    def of(self, schema):
        from typing import Annotated, Any, Literal

        if "$ref" in schema:
            target = self.root
            for part in schema["$ref"].split("/")[1:]:
                target = target[part]
            return self.of(target)
        if "const" in schema or "enum" in schema:
            return Literal[tuple(schema.get("enum", [schema.get("const")]))]
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.union([self.of(branch) for branch in schema[key]])
        kind = schema.get("type")
        if isinstance(kind, list):
            return self.union([self.of({**schema, "type": one}) for one in kind])
        bounds = {BOUNDS[key]: value for key, value in schema.items() if key in BOUNDS}
        if kind == "array":
            made = list[self.of(schema.get("items", {}))]
            bounds = {key: n for key, n in bounds.items() if key in ("min_length", "max_length")}
        elif kind == "object" and "properties" in schema:
            return self.record(schema)
        elif kind == "object":
            values = schema.get("additionalProperties")
            return dict[str, self.of(values) if isinstance(values, dict) and values else Any]
        elif kind in self.scalars:
            made = self.scalars[kind]
            text = ("min_length", "max_length", "pattern")
            bounds = {key: n for key, n in bounds.items() if (key in text) == (kind == "string")}
            if kind in ("boolean", "null"):
                bounds = {}
        else:
            return Any
        return Annotated[made, self.bounds(**bounds)] if bounds else made

    def fields(self, schema):
        """Name, type and whether it is required, the required ones first."""
        required = schema.get("required", [])
        fields = [(name, self.of(sub), name in required) for name, sub in schema["properties"].items()]
        return sorted(fields, key=lambda field: not field[2])

    def name(self):
        self.made += 1
        return f"Record{self.made}"


class Pydantic(Types):
    def bounds(self, **bounds):
        from pydantic import Field

        return Field(**bounds)

    def union(self, branches):
        from typing import Union

        return Union[tuple(branches)]

    def record(self, schema):
        from pydantic import ConfigDict, create_model

        extra = "forbid" if schema.get("additionalProperties") is False else "allow"
        # Optional means that it may be left out, as in the schema; null is no value of it.
        fields = {name: (kind, ... if needed else None) for name, kind, needed in self.fields(schema)}
        return create_model(self.name(), __config__=ConfigDict(extra=extra), **fields)

    def judge(self):
        from pydantic import TypeAdapter

        adapter = TypeAdapter(self.of(self.root))
        return adapter.validate_json, lambda value: adapter.dump_json(value, exclude_unset=True).decode()


class Msgspec(Types):
    def bounds(self, **bounds):
        import msgspec

        return msgspec.Meta(**bounds)

    def union(self, branches):
        from typing import Any, Union

        try:
            import msgspec

            made = Union[tuple(branches)]
            msgspec.json.Decoder(made)
            return made
        except TypeError:
            return Any  # msgspec takes no union of several records without a tag.

    def record(self, schema):
        import msgspec

        fields = [
            (name, kind) if needed else (name, self.unset(kind), msgspec.UNSET)
            for name, kind, needed in self.fields(schema)
        ]
        forbid = schema.get("additionalProperties") is False
        return msgspec.defstruct(self.name(), fields, forbid_unknown_fields=forbid)

    @staticmethod
    def unset(kind):
        from typing import Union

        import msgspec

        return Union[kind, msgspec.UnsetType]

    def judge(self):
        import msgspec

        decoder = msgspec.json.Decoder(self.of(self.root), strict=False)
        return decoder.decode, lambda value: msgspec.json.encode(value).decode()


class Repaired(Pydantic):
    """json_repair, then pydantic on what it made."""

    def judge(self):
        import json_repair
        from pydantic import TypeAdapter

        adapter = TypeAdapter(self.of(self.root))
        judge = lambda text: adapter.validate_python(json_repair.loads(text))
        return judge, lambda value: adapter.dump_json(value, exclude_unset=True).decode()


class Baml:
    """BAML's own reader of replies, with a function that returns the tool's arguments."""

    scalars = {"string": "string", "integer": "int", "number": "float", "boolean": "bool", "null": "null"}

    def __init__(self, root):
        self.root, self.classes = root, []

    def of(self, schema):
        if "$ref" in schema:
            target = self.root
            for part in schema["$ref"].split("/")[1:]:
                target = target[part]
            return self.of(target)
        if "enum" in schema:
            return "(" + " | ".join(json.dumps(value) for value in schema["enum"]) + ")"
        if "anyOf" in schema:
            return "(" + " | ".join(self.of(branch) for branch in schema["anyOf"]) + ")"
        kind = schema["type"]
        if kind == "array":
            return self.of(schema["items"]) + "[]"
        if kind == "object":
            required = schema.get("required", [])
            fields = [
                f"  {name} {self.of(sub)}{'' if name in required else '?'}"
                for name, sub in schema["properties"].items()
            ]
            name = f"Record{len(self.classes)}"
            self.classes.append(f"class {name} {{\n" + "\n".join(fields) + "\n}\n")
            return name
        return self.scalars[kind]

    def judge(self):
        made = self.of(self.root)
        source = "".join(self.classes) + (
            'client<llm> None {\n  provider openai\n  options {\n    model "none"\n    api_key "none"\n  }\n}\n'
            f'function Call(x: string) -> {made} {{\n  client None\n  prompt #"{{{{ x }}}}"#\n}}\n'
        )
        return baml_reader(source), lambda value: json.dumps(plain(value))


def baml_reader(source):
    import types

    from baml_py import BamlRuntime
    from pydantic import BaseModel, ConfigDict

    class Loose(BaseModel):
        model_config = ConfigDict(extra="allow")

    class Module(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return Loose

    runtime = BamlRuntime.from_files("baml_src", {"main.baml": source}, {})
    module = Module("records")
    context = runtime.create_context_manager()
    return lambda text: runtime.parse_llm_response(
        "Call", text, module, module, module, False, context, None, None, {}
    )


def plain(value):
    """A value without the classes that BAML put it in; what it left out is left out."""
    if hasattr(value, "model_dump"):
        return {key: plain(part) for key, part in value.model_dump().items() if part is not None}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


JUDGES = [
    ("pydantic", ["pydantic"], Pydantic),
    ("msgspec, lax", ["msgspec"], Msgspec),
    ("json_repair + pydantic", ["json_repair", "pydantic"], Repaired),
    ("BAML", ["baml-py", "pydantic"], Baml),
]


def judges():
    there = peers()
    return [judge for judge in JUDGES if all(name in there for name in judge[1])]


def best(run):
    """Nanoseconds, the best of as many runs as fit; a slow one is run once."""
    least, began = float("inf"), time.perf_counter()
    while least == float("inf") or time.perf_counter() - began < ENOUGH:
        start = time.perf_counter_ns()
        run()
        least = min(least, time.perf_counter_ns() - start)
    return least


def valid(path):
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    times = {}
    for name, _, kind in judges():
        if name in ("BAML", "json_repair + pydantic"):
            continue
        calls = []
        for row in rows:
            judge, _ = kind(row["schema"]).judge()
            calls += [(judge, json.dumps(call, ensure_ascii=False)) for call in row["valid"]]
        refused = [text for judge, text in calls if not accepts(judge, text)]
        label = name if not refused else f"{name} (accepts {len(calls) - len(refused)} of {len(calls)})"
        calls = [call for call in calls if call[1] not in refused]

        def run():
            for judge, text in calls:
                judge(text)

        times[label] = best(run) / len(calls)
    return times


def accepts(judge, text):
    try:
        judge(text)
        return True
    except Exception:  # noqa: BLE001: each peer has its own, and all of them mean a refusal.
        return False


def traps(path):
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    answers = {}
    for name, _, kind in judges():
        answers[name] = []
        for case in cases:
            judge, show = kind(case["schema"]).judge()
            try:
                answers[name].append(show(judge(case["raw"])))
            except Exception:  # noqa: BLE001
                answers[name].append(None)
    return answers


RECORDS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "id": {"type": "integer"}, "name": {"type": "string"}, "ok": {"type": "boolean"},
            "score": {"type": "number"}, "text": {"type": "string"},
            "tags": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        },
        "required": ["id", "name", "ok", "score", "text", "tags"],
    },
}


def menders():
    there = peers()
    names = {"json_repair (Python)": "json_repair", "BAML (Python)": "baml-py"}
    return [name for name, package in names.items() if package in there]


def reader(name):
    if name.startswith("json_repair"):
        import json_repair

        return json_repair.loads
    return Baml(RECORDS).judge()[0]


def content(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def mend(name, path):
    read, text, was_read = reader(name), content(path), False

    def run():
        nonlocal was_read
        was_read = accepts(read, text)

    return f"{best(run)}\t{str(was_read).lower()}"


def mend_value(name, path):
    return json.dumps(plain(reader(name)(content(path))))


def main(task, *rest):
    os.environ.setdefault("BAML_LOG", "off")
    tasks = {
        "peers": lambda: json.dumps(peers()),
        "load": lambda name: importlib.import_module(PACKAGES[name]) and "",
        "valid": lambda path: json.dumps(valid(path)),
        "traps": lambda path: json.dumps(traps(path)),
        "menders": lambda: "\n".join(menders()),
        "mend": mend,
        "mend-value": mend_value,
    }
    if task not in tasks:
        sys.exit(f"no task {task}; one of: {', '.join(tasks)}")
    print(tasks[task](*rest))


if __name__ == "__main__":
    main(*sys.argv[1:])
