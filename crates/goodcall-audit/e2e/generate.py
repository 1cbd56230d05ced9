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
#: Arguments as models send them; `$name` stands for a value that is drawn for each call.
GOOD = {
    "read_file": ['{"file_path": "$path"}', '{"file_path": "$path", "offset": $number, "limit": 50}'],
    "create_issue": ['{"title": "$words", "labels": ["$word"], "priority": "high"}'],
    "search": ['{"query": "$words"}', '{"query": "$words", "max_results": $number}'],
}
#: The same with the faults that models make: about a third can be mended.
ODD = {
    "read_file": ['{"file_path": "$path", "limit": "50"}', '{"filePath": "$path"}', '{"limit": $number}',
                  '{"file_path": "$path", "limit": 5000}', '{"file_path": "$path', '{"file_path": "$path", "why": 1}'],
    "create_issue": ['{"title": "$words", "priority": "High"}', '{"title": "$words", "priority": "urgent"}',
                     '{"title": "$words", "labels": "[\\"$word\\"]", "priority": "low",}'],
    "search": ['{"query": ["$words"]}', "query: $words", '{"max_results": $number}', ""],
}
#: The share of calls with a fault, by model.
MODELS = {"small-8b": 0.3, "medium-70b": 0.12, "large": 0.04}
WORDS = ("agent arguments branch cache client crash deploy error field file gateway index invoice login model parser "
         "policy query release report retry schema server stream table ticket timeout token tool upload").split()


def rows(count, seed=26):
    """Draws calls: nearly every one differs from all others."""
    draw = random.Random(seed)

    def filled(text):
        values = {"word": draw.choice(WORDS), "number": str(draw.randrange(1, 2000)),
                  "words": " ".join(draw.choices(WORDS, k=draw.randrange(2, 7))),
                  "path": f"src/{draw.choice(WORDS)}/{draw.choice(WORDS)}_{draw.randrange(100_000)}.rs"}
        for name in ("words", "word", "number", "path"):
            text = text.replace(f"${name}", values[name])
        return text

    drawn = []
    for _ in range(count):
        tool = draw.choice(["read_file", "read_file", "create_issue", "search"])
        model = draw.choice(list(MODELS))
        odd = draw.random() < MODELS[model]
        name = "raed_file" if odd and draw.random() < 0.05 else tool
        drawn.append((name, filled(draw.choice(ODD[tool] if odd else GOOD[tool])), model))
    return drawn


def write_lines(count, path):
    with open(path, "w", encoding="utf-8") as file:
        for index, (tool, raw, model) in enumerate(rows(count)):
            line = {"tool": tool, "raw": raw, "model": model, "time": 1763200000 + index * 60}
            file.write(json.dumps(line) + "\n")


def write_parquet(count, path, conversations):
    import pyarrow as pa
    import pyarrow.parquet as pq

    # More different texts than a dictionary of Parquet has room for.
    kinds = rows(min(count, 400_000))
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
