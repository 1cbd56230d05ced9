"""Writes generated calls, the same for the same number: `generate.py ROWS FILE`.

FILE ends in .jsonl (lines of goodcall's protocol) or .parquet (the columns tool_name, arguments, model,
and others if asked for by --conversations). The definitions are those that `generate.py --tools` prints.
"""

import json
import random
import sys

TOOLS = [
    {"name": "read_file", "description": "Reads a file.", "parameters": {
        "type": "object", "additionalProperties": False, "required": ["file_path"], "properties": {
            "file_path": {"type": "string", "description": "The file"},
            "offset": {"type": "integer", "minimum": 0, "description": "The first line"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines"}}}},
    {"name": "create_issue", "description": "Creates an issue.", "parameters": {
        "type": "object", "required": ["title", "priority"], "properties": {
            "title": {"type": "string"}, "labels": {"type": "array", "items": {"type": "string"}},
            "priority": {"enum": ["low", "medium", "high"]}}}},
    {"name": "search", "description": "Searches.", "parameters": {
        "type": "object", "required": ["query"], "properties": {
            "query": {"type": "string"}, "max_results": {"type": "integer"}}}},
]
GOOD = {
    "read_file": ['{"file_path": "src/main.rs"}', '{"file_path": "a/b.txt", "offset": 10, "limit": 50}'],
    "create_issue": ['{"title": "Crash on start", "labels": ["bug"], "priority": "high"}'],
    "search": ['{"query": "tool calls"}', '{"query": "rust", "max_results": 5}'],
}
ODD = {
    "read_file": ['{"file_path": "a.txt", "limit": "50"}', '{"filePath": "a.txt"}', '{"limit": 5}',
                  '{"file_path": "a.txt", "limit": 5000}', '{"file_path": "a.tx', '{"file_path": "a.txt", "why": 1}'],
    "create_issue": ['{"title": "x", "priority": "High"}', '{"title": "x", "priority": "urgent"}',
                     '{"title": "x", "labels": "[\\"bug\\"]", "priority": "low",}'],
    "search": ['{"query": ["x"]}', "query: x", '{"max_results": 3}', ""],
}
MODELS = {"small-8b": 0.3, "medium-70b": 0.12, "large": 0.04}


def rows(count, seed=26):
    """The distinct calls that are drawn from, and how often each is."""
    draw = random.Random(seed)
    drawn = []
    for _ in range(count):
        tool = draw.choice(["read_file", "read_file", "create_issue", "search"])
        model = draw.choice(list(MODELS))
        odd = draw.random() < MODELS[model]
        name = "raed_file" if odd and draw.random() < 0.05 else tool
        drawn.append((name, draw.choice(ODD[tool] if odd else GOOD[tool]), model))
    return drawn


def write_lines(count, path):
    with open(path, "w", encoding="utf-8") as file:
        for index, (tool, raw, model) in enumerate(rows(count)):
            line = {"tool": tool, "raw": raw, "model": model, "time": 1763200000 + index * 60}
            file.write(json.dumps(line) + "\n")


def write_parquet(count, path, conversations):
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = rows(min(count, 100_000))
    columns = [pa.array(column) for column in zip(*kinds)]
    writer = None
    draw = random.Random(7)
    for start in range(0, count, 250_000):
        size = min(250_000, count - start)
        order = pa.array([draw.randrange(len(kinds)) for _ in range(size)])
        table = {name: column.take(order) for name, column in zip(("tool_name", "arguments", "model"), columns)}
        if conversations:
            # Conversations of eight calls, next to each other, whose results repeat now and then.
            numbers = range(start, start + size)
            table["conversation_id"] = pa.array([f"c{number // 8}" for number in numbers])
            table["turn"] = pa.array(list(numbers))
            table["result"] = pa.array(["same" if number % 16 < 8 else str(number) for number in numbers])
        table = pa.table(table)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="snappy")
        writer.write_table(table, row_group_size=125_000)
    writer.close()


if __name__ == "__main__":
    if sys.argv[1] == "--tools":
        json.dump(TOOLS, sys.stdout)
    elif sys.argv[2].endswith(".parquet"):
        write_parquet(int(sys.argv[1]), sys.argv[2], "--conversations" in sys.argv)
    else:
        write_lines(int(sys.argv[1]), sys.argv[2])
