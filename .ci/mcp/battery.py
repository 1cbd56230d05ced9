"""Calls the tools of real servers, directly and through the proxy: `battery.py PROGRAM SCRATCH [--all]`.

A call that works directly must give the same result through the proxy. From each such call bad ones are
made, as models write them. Through the proxy each of them gives the result of the call that was meant,
is refused with a text, or ends as it does directly. `--all` adds Playwright with a browser.
"""
import http.server
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import battery_calls as calls
import bad_forms
from lines import Lines

NPM = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
]
PLAYWRIGHT = "@playwright/mcp@0.0.83"
PYPI = ["mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19", "mcp-server-fetch==2026.10.24", "fastmcp==4.1.2"]
# This one needs an older SDK, and so an environment of its own.
PYPI_OLD = ["mcp-server-sqlite==2025.4.25", "mcp<2"]

program = str(Path(sys.argv[1]).resolve())
scratch = Path(sys.argv[2]).resolve() / "battery"
runs_all = "--all" in sys.argv[3:]
here = Path(__file__).resolve().parent
npm = scratch / "npm/node_modules"


def install():
    scratch.mkdir(parents=True, exist_ok=True)
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    packages = NPM + ([PLAYWRIGHT] if runs_all else [])
    options = ["--silent", "--no-audit", "--no-fund", "--prefix", scratch / "npm"]
    subprocess.run(["npm", "install", *options, *packages], **quiet)
    for name, packages in [("venv", PYPI), ("venv-old", PYPI_OLD)]:
        subprocess.run([sys.executable, "-m", "venv", scratch / name], **quiet)
        subprocess.run([scratch / name / "bin/pip", "install", "--quiet", *packages], **quiet)


def fill_files(box):
    (box / "sub").mkdir()
    (box / "notes.txt").write_text("one\ntwo\nthree\n")
    (box / "sub/deep.md").write_text("# deep\n")
    (box / "dot.png").write_bytes(bytes.fromhex("89504e470d0a1a0a"))


def fill_repository(box):
    def git(*words):
        author = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
                  [("NAME", "a"), ("EMAIL", "a@example.org"), ("DATE", "2025-01-01T00:00:00Z")]}
        subprocess.run(["git", "-C", box, *words], check=True, env={**os.environ, **author}, capture_output=True)

    git("init", "--quiet", "--template=", "--initial-branch=main")
    (box / "notes.txt").write_text("one\ntwo\n")
    git("add", ".")
    git("commit", "--quiet", "--message=first")
    (box / "notes.txt").write_text("one\n2\n")


def fill_memory(box):
    (box / "memory.jsonl").write_text("\n".join(json.dumps(line) for line in [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["wrote programs"]},
        {"type": "entity", "name": "Math", "entityType": "subject", "observations": []},
        {"type": "relation", "from": "Ada", "to": "Math", "relationType": "studies"},
    ]))


def fill_database(box):
    with sqlite3.connect(box / "data.db") as database:
        database.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
        database.execute("INSERT INTO people (name) VALUES ('Ada'), ('Bo')")
    database.close()


def servers():
    """Name, command, calls, and what its folder has in it."""
    official = npm / "@modelcontextprotocol"
    here_python, old = scratch / "venv/bin", scratch / "venv-old/bin"
    yield "everything", ["node", official / "server-everything/dist/index.js"], calls.EVERYTHING, None
    yield "filesystem", ["node", official / "server-filesystem/dist/index.js", "BOX"], calls.FILESYSTEM, fill_files
    yield "memory", ["node", official / "server-memory/dist/index.js"], calls.MEMORY, fill_memory
    thinking = official / "server-sequential-thinking/dist/index.js"
    yield "sequential-thinking", ["node", thinking], calls.THINKING, None
    yield "git", [here_python / "mcp-server-git"], calls.GIT, fill_repository
    yield "time", [here_python / "mcp-server-time"], calls.TIME, None
    yield "fetch", [here_python / "mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips"], calls.FETCH, None
    yield "sqlite", [old / "mcp-server-sqlite", "--db-path", "BOX/data.db"], calls.SQLITE, fill_database
    yield "fastmcp", [here_python / "python", here / "fast_server.py"], calls.FAST, None
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if runs_all and browser:
        options = ["--headless", "--isolated", "--no-sandbox", "--executable-path", browser]
        yield "playwright", ["node", npm / "@playwright/mcp/cli.js", *options], calls.PLAYWRIGHT, None
    elif runs_all:
        print("skipped: playwright: there is no Chromium here")


PAGE = b"""<title>Page</title><h1>Hello</h1><p>Some text.</p><input id=name aria-label=Name>
<button onclick="document.title='pressed'">Go</button>
<select aria-label=Pick><option>a<option>b</select>"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


# What differs from run to run.
VARYING = [
    (r"\d{4}-\d\d-\d\dT[-:.\d]+(Z|[-+]\d\d:\d\d)?", "TIME"),
    (r"(created|modified|accessed): [^\\\"]*", r"\1"),
    (r'(thoughtHistoryLength\\*"): \d+', r"\1: 1"),
    (r'(branches\\*"): \[[^]]*\]', r"\1: []"),
    (r"ref=f\d+e", "ref=e"),
    (r"\d+ms|\d+\.\d+ ?s\b", "DURATION"),
]


class Server:
    """A running server with a folder of its own."""

    def __init__(self, command, fill, page, is_proxied):
        # Equally long, so that texts that are cut have the same length.
        self.box = Path(tempfile.mkdtemp(dir=scratch))
        self.page, self.fill = page, fill
        self.reset()
        words = [str(word).replace("BOX", str(self.box)) for word in command]
        environment = {**os.environ, "MEMORY_FILE_PATH": str(self.box / "memory.jsonl")}
        proxy = [program, "mcp", "--"] if is_proxied else []
        self.lines = Lines(proxy + words, cwd=self.box, env=environment).open()

    def reset(self):
        if self.fill:
            for path in self.box.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            self.fill(self.box)

    def tools(self):
        return {tool["name"]: tool for tool in self.lines.ask("tools/list", {})["result"]["tools"]}

    def call(self, name, arguments):
        """The answer, with the changes of the proxy apart."""
        self.reset()
        if name.startswith("browser_"):
            self.lines.ask("tools/call", {"name": "browser_navigate", "arguments": {"url": self.page}})
        text = json.dumps({"name": name, "arguments": arguments})
        params = json.loads(text.replace("BOX", str(self.box)).replace("PAGE", self.page))
        answer = self.lines.ask("tools/call", params)
        answer.pop("id")
        meta = answer.get("result", {}).get("_meta", {})
        own = {key: meta.pop(key) for key in list(meta) if key.startswith("goodcall/")}
        if own and not meta:
            del answer["result"]["_meta"]
        text = json.dumps(answer, sort_keys=True).replace(str(self.box), "BOX")
        for pattern, word in VARYING:
            text = re.sub(pattern, word, text)
        return text, own

    def close(self):
        self.lines.close()
        shutil.rmtree(self.box)


def is_error(text):
    answer = json.loads(text)
    return "error" in answer or answer["result"].get("isError") is True


class Report:
    def __init__(self, server):
        self.server, self.counts, self.wrong = server, Counter(), []

    def fail(self, what, call, direct, proxied):
        self.wrong.append(f"{self.server}: {what}: {json.dumps(call, ensure_ascii=False)[:300]}\n"
                          f"    direct: {direct[:300]}\n    proxy:  {proxied[:300]}")


def battery(name, command, valid, fill, page):
    report = Report(name)
    direct, proxied = (Server(command, fill, page, is_proxied) for is_proxied in (False, True))
    tools = direct.tools()
    destructive = {tool for tool in tools if tools[tool].get("annotations", {}).get("destructiveHint")}
    for tool, arguments in valid:
        meant, _ = direct.call(tool, arguments)
        got, own = proxied.call(tool, arguments)
        report.counts["valid"] += 1
        if is_error(meant) or got != meant or own:
            report.fail("a valid call differs", (tool, arguments), meant, got)
        for form, bad_tool, bad in bad_forms.of(tool, arguments, tools):
            # A server may take a call that its schema forbids, or ignore a key that is misspelt.
            may_refuse = tool in destructive or form in bad_forms.MISSPELT_KEYS
            judge_bad(report, (form, may_refuse), (bad_tool, bad), meant, direct, proxied)
    direct.close()
    proxied.close()
    return report


def judge_bad(report, how, call, meant, direct, proxied):
    form, may_refuse = how
    alone, _ = direct.call(*call)
    got, own = proxied.call(*call)
    refused = "goodcall/reason" in own
    if got == meant:
        # The server may have taken it by itself.
        report.counts["succeed" if is_error(alone) else "same"] += 1
    elif got == alone:
        report.counts["same" if not is_error(alone) else "server's error"] += 1
    elif refused and is_error(alone):
        report.counts["told"] += 1
    elif refused and may_refuse:
        report.counts["told, though the server takes it"] += 1
    else:
        report.fail(form, call, alone, got)


if not (scratch / "npm").exists():
    try:
        install()
    except (subprocess.CalledProcessError, OSError) as error:
        shutil.rmtree(scratch, ignore_errors=True)
        print(f"skipped: the servers could not be installed ({error})")
        sys.exit(0)
listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=listener.serve_forever, daemon=True).start()
page = f"http://127.0.0.1:{listener.server_address[1]}/"
wrong = []
for name, command, valid, fill in servers():
    report = battery(name, command, valid, fill, page)
    wrong += report.wrong[:10]
    counts = ", ".join(f"{count} {what}" for what, count in report.counts.items())
    print(f"{'FAILED' if report.wrong else 'ok'}: {name}: {counts}", flush=True)
if wrong:
    sys.exit("\n".join(wrong))
