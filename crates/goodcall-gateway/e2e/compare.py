"""Direct and through the gateway: `compare.py DIRECT THROUGH`.

What failed directly must succeed, unless nobody could mend it, and what succeeded must give an equal
answer.
"""
import json
import sys


def read(path):
    lines = [json.loads(line) for line in open(path, encoding="utf-8")]
    return {(line["client"], line["scenario"], line["stream"]): line for line in lines}


direct, through = read(sys.argv[1]), read(sys.argv[2])
assert direct and direct.keys() == through.keys(), "not the same scripts"
wrong, mended = [], {}
for key, before in direct.items():
    after = through[key]
    if key[1] == "error" or (key[1] == "cut" and "anthropic" in key[0].lower()):
        # An error of the provider is the same error. So is a call that the client's own token limit
        # cut off, which Anthropic's requests always have: the next reply would end there as well.
        if after.get("failure") != before.get("failure"):
            wrong.append((key, before, after))
    elif "failure" in after:
        wrong.append((key, before.get("failure", "succeeded"), after["failure"]))
    elif "answer" in before and before["answer"] != after["answer"]:
        wrong.append((key, before["answer"], after["answer"]))
    elif "failure" in before:
        mended.setdefault(key[0], []).append(key[1] + (" (stream)" if key[2] else ""))
for client, scenarios in sorted(mended.items()):
    print(f"{client}: failed directly, succeeds through the gateway: {', '.join(scenarios)}")
for key, before, after in wrong:
    print("WRONG", key, "| direct:", before, "| gateway:", after)
same = sum("answer" in line for line in direct.values())
print(f"{len(direct)} scripts: {same} succeeded directly and are equal, "
      f"{sum(map(len, mended.values()))} failed directly and succeed, {len(wrong)} wrong")
sys.exit(1 if wrong else 0)
