"""goodcall beside other Python packages, on the same calls: `python bindings/python/bench.py [--write]`.

It needs json-repair, pydantic, msgspec, jsonschema-rs and baml-py. `--write` puts the figures into
docs/python-benchmarks.md. Times are the best of several rounds, in nanoseconds per call.
"""

from __future__ import annotations

import importlib.metadata
import json
import pathlib
import platform
import sys
import timeit
from types import ModuleType
from typing import Any, Callable, Optional

import goodcall
import json_repair
import jsonschema_rs
import msgspec
import pydantic

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "python-benchmarks.md"


class Edit(msgspec.Struct):
    before: str
    after: str


class EditFile(msgspec.Struct):
    path: str
    edits: list[Edit]
    dry_run: bool = False
    limit: int = 100


class EditModel(pydantic.BaseModel):
    before: str
    after: str


class EditFileModel(pydantic.BaseModel):
    path: str
    edits: list[EditModel]
    dry_run: bool = False
    limit: int = 100


SCHEMA = msgspec.json.schema(EditFile)
VALID = json.dumps({"path": "src/main.rs", "edits": [{"before": "let a = 1;", "after": "let a = 2;"}], "limit": 20})
SMALL = '{"path": "a.txt", "edits": []}'
LARGE = json.dumps({"path": "src/main.rs", "edits": [{"before": "line %d\n" % n * 3, "after": "x" * 40} for n in range(40)]})
BROKEN = VALID.replace("}]", "},]").replace('"limit": 20', "'limit': '20',")


def best(function: Callable[[], Any]) -> float:
    timer = timeit.Timer(function)
    number, _ = timer.autorange()
    return min(timer.repeat(7, max(1, number // 4))) / max(1, number // 4) * 1e9


def main() -> None:
    tools = goodcall.Tools([{"name": "EditFile", "parameters": SCHEMA}])
    decoder = msgspec.json.Decoder(EditFile)
    validator = jsonschema_rs.validator_for(SCHEMA)
    adapter = pydantic.TypeAdapter(EditFileModel)
    rows: list[tuple[str, str, float]] = []
    for kind, raw in (("small", SMALL), ("typical", VALID), ("large", LARGE)):
        assert tools.check("EditFile", raw).kind == "good"
        data = raw.encode()

        def schema_rs() -> Any:
            value = json.loads(raw)
            validator.validate(value)
            return value

        for name, function in (
            ("goodcall `check(…).arguments`", lambda: tools.check("EditFile", raw).arguments),
            ("msgspec `decode` into a Struct", lambda: decoder.decode(data)),
            ("pydantic `validate_json`", lambda: adapter.validate_json(data)),
            ("json.loads + jsonschema-rs", schema_rs),
            ("json.loads", lambda: json.loads(raw)),
        ):
            rows.append((f"valid, {kind} ({len(raw)} bytes)", name, best(function)))
    assert tools.check("EditFile", BROKEN).kind == "mended"
    repaired = json_repair.loads(BROKEN)
    assert repaired["path"] == "src/main.rs"
    broken = [
        ("goodcall `check(…).arguments`", lambda: tools.check("EditFile", BROKEN).arguments),
        ("json_repair `loads` (not validated)", lambda: json_repair.loads(BROKEN)),
        baml(),
    ]
    for name, function in broken:
        rows.append((f"broken ({len(BROKEN)} bytes)", name, best(function)))
    write(rows)


BAML = """
class Edit {
  before string
  after string
}
class EditFile {
  path string
  edits Edit[]
  dry_run bool?
  limit int?
}
client<llm> Nobody {
  provider openai
  options {
    model "m"
    api_key "k"
  }
}
function Read(text: string) -> EditFile {
  client Nobody
  prompt #"{{ text }} {{ ctx.output_format }}"#
}
"""


def baml() -> tuple[str, Callable[[], Any]]:
    """BAML's parser of replies, which its generated clients call."""
    import baml_py

    class Optionals(pydantic.BaseModel):
        path: str
        edits: list[EditModel]
        dry_run: Optional[bool] = None
        limit: Optional[int] = None

    types = ModuleType("types")
    types.Edit, types.EditFile = EditModel, Optionals  # type: ignore[attr-defined]
    runtime = baml_py.BamlRuntime.from_files("baml_src", {"baml_src/main.baml": BAML}, {})
    context = runtime.create_context_manager()

    def parse() -> Any:
        return runtime.parse_llm_response("Read", BROKEN, types, types, types, False, context, None, None, {})

    assert parse().limit == 20
    return "BAML `parse` into a model", parse


def write(rows: list[tuple[str, str, float]]) -> None:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}"
                         for name in ("json-repair", "pydantic", "msgspec", "jsonschema-rs", "baml-py"))
    lines = ["# goodcall in Python, beside others", "",
             f"CPython {platform.python_version()}, {platform.machine()}, goodcall {goodcall.__version__}, {versions}.",
             "`python bindings/python/bench.py --write` made this table: the best of seven rounds, nanoseconds",
             "per call. goodcall checks against the schema and returns plain values; msgspec and pydantic return",
             "typed objects.", "", "| call | with | ns |", "|---|---|--:|"]
    lines += [f"| {kind} | {name} | {time:,.0f} |" for kind, name, time in rows]
    text = "\n".join(lines) + "\n"
    print(text)
    if "--write" in sys.argv:
        DOCUMENT.write_text(text)


if __name__ == "__main__":
    main()
