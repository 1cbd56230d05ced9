"""Runs the official conformance suite of MCP through the proxy: `conformance.py PROGRAM SCRATCH [--all]`.

The server and the client under test are those with which the Python SDK tests itself. Without `--all`
a selection runs in a minute or two; with it all scenarios in all modes, and without a proxy.

Every check that fails must be in expected-differences.toml, with the reason, and every entry there
must fail.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
# The suite needs a newer Node than some systems have.
NODE = "node@22"
SDK = "2.3.0"
VERSIONS = ["2025-11-25", "2026-07-28"]
# Modes of the proxy in front of a server, and between a client and a server.
SERVER_MODES = {
    "direct": "all", "listen-command": "fast", "listen-url": "fast",
    # Over pipes there is no suite, so another proxy listens in front.
    "pipes-command": "all", "pipes-url": "all",
}
CLIENT_MODES = {"direct": "all", "listen": "fast", "pipes": "fast"}

# What a login before the first request can satisfy: over pipes it is made by `goodcall mcp login`, which
# registers itself and does not log in again while a session runs.
ONE_LOGIN = {f"auth/{name}" for name in [
    "metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "pre-registration",
    "scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined",
    "token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none",
    "iss-supported", "iss-not-advertised", "offline-access-scope", "offline-access-not-supported",
]}

here = Path(__file__).resolve().parent
program = str(Path(sys.argv[1]).resolve())
scratch = Path(sys.argv[2]).resolve() / "conformance"
runs_all = "--all" in sys.argv[3:]
sdk = scratch / f"mcp-{SDK}"
python = scratch / "venv/bin/python"
environment = {**os.environ, "PYTHONPATH": str(sdk / "examples/servers/everything-server")}


def install():
    scratch.mkdir(parents=True, exist_ok=True)
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", scratch / "npm"]
    subprocess.run([*npm, SUITE, NODE], **quiet)
    subprocess.run([sys.executable, "-m", "venv", scratch / "venv"], **quiet)
    pip = [python, "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", f"mcp=={SDK}", "click"], **quiet)
    download = ["download", "--quiet", "--no-deps", "--no-binary", "mcp", "--dest", scratch]
    subprocess.run([*pip, *download, f"mcp=={SDK}"], **quiet)
    shutil.unpack_archive(scratch / f"mcp-{SDK}.tar.gz", scratch, filter="data")


def suite(*words, seconds=600):
    """Runs a command of the suite. Returns its exit status and its output."""
    modules = scratch / "npm/node_modules"
    main = modules / "@modelcontextprotocol/conformance/dist/index.js"
    ended = subprocess.run(
        [modules / ".bin/node", main, *words], env=environment, timeout=seconds, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return ended.returncode, ended.stdout


def scenarios(side):
    """The scenarios for servers or clients, each with its versions."""
    _, text = suite("list")
    part = text.split("Client scenarios")[0 if side == "server" else 1].split("Authorization server")[0]
    return {name: versions.split(",") for name, versions in re.findall(r"- (\S+) \[(.*)\]", part)}


def results(folder):
    """The checks below a folder: scenario, check, whether it passed."""
    for path in folder.rglob("checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT[-\d]+Z$", "", str(path.parent.relative_to(folder)))
        for check in json.loads(path.read_text()):
            if check["status"] in ("SUCCESS", "FAILURE"):
                yield name, check["id"], check["status"] == "SUCCESS"


class Differences:
    """What may fail, and what did."""

    def __init__(self):
        text = (here / "expected-differences.toml").read_text()
        self.expected = tomllib.loads(text)["difference"]
        self.seen = set()
        self.wrong = []

    def report(self, what, checks):
        side, mode, version = what
        passed, expected, failed = 0, 0, []
        for scenario, check, is_good in checks:
            if is_good:
                passed += 1
            elif self.is_expected(side, mode, scenario, check):
                expected += 1
            else:
                failed.append(f"{scenario}: {check}")
        more = f", {expected} differ as expected" if expected else ""
        state = "FAILED" if failed or not passed else "ok"
        print(f"{state}: {side}, {mode}, {version}: {passed} checks passed{more}", flush=True)
        for line in failed:
            print(f"  {line}")
        self.wrong += failed if passed else ["nothing was checked"]

    def is_expected(self, side, mode, scenario, check):
        for index, entry in enumerate(self.expected):
            if (entry["side"], entry["check"]) == (side, check):
                if mode in entry["modes"] and scenario in entry["scenarios"]:
                    self.seen.add((index, scenario))
                    return True
        return False

    def unseen(self):
        """Entries that did not fail; a selection does not run all of them."""
        every = {(i, name) for i, entry in enumerate(self.expected) for name in entry["scenarios"]}
        return [f"{name}: {self.expected[i]['check']}" for i, name in every - self.seen] if runs_all else []


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(port, *command):
    with open(scratch / f"server.{port}.log", "w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process
        except OSError:
            time.sleep(0.1)
    sys.exit(f"FAILED: nothing listens: {command}")


def server_suite(mode, differences):
    port, upstream = free_port(), free_port()
    listen = [program, "mcp", "--listen", f"127.0.0.1:{port}"]
    everything = [str(python), "-m", "mcp_everything_server.server", "--log-level", "ERROR", "--port"]
    over_pipes = "from mcp_everything_server.server import mcp; mcp.run(transport='stdio')"
    url = f"http://127.0.0.1:{upstream}/mcp"
    running = []
    try:
        if mode == "direct":
            running.append(start(port, *everything, str(port)))
        elif mode == "listen-command":
            running.append(start(port, *listen, "--", str(python), "-c", over_pipes))
        elif mode == "pipes-command":
            between = [program, "mcp", "--"]
            running.append(start(port, *listen, "--", *between, str(python), "-c", over_pipes))
        else:
            running.append(start(upstream, *everything, str(upstream)))
            if mode == "listen-url":
                running.append(start(port, *listen, "--url", url))
            else:
                running.append(start(port, *listen, "--", program, "mcp", "--url", url))
        for version in VERSIONS:
            folder = scratch / f"results/server-{mode}-{version}"
            suite("server", "--url", f"http://localhost:{port}/mcp", "--suite", "all", "--spec-version",
                  version, "--timeout", "60000", "--output-dir", str(folder))
            checks = ((name.removeprefix("server-"), check, good) for name, check, good in results(folder))
            differences.report(("server", mode, version), checks)
    finally:
        for process in running:
            process.terminate()


def client_scenario(mode, version, name, folder):
    """Runs one scenario. A client that fails is a check that failed."""
    client = sdk / ".github/actions/conformance/client.py"
    command = f"{python} {here / 'conformance_client.py'} {program} {mode} {client}"
    status, text = suite("client", "--command", command, "--scenario", name, "--spec-version", version,
                         "--timeout", "120000", "--output-dir", str(folder / name.replace("/", "_")))
    return (name, "client-exit", False) if "CLIENT EXITED WITH ERROR" in text else None


def client_suite(mode, differences):
    for version in VERSIONS:
        names = [name for name, versions in scenarios("client").items() if version in versions]
        if mode == "pipes":
            names = [name for name in names if not name.startswith("auth/") or name in ONE_LOGIN]
        elif mode == "listen" and not runs_all and version != "2025-11-25":
            names = [name for name in names if not name.startswith("auth/")]
        folder = scratch / f"results/client-{mode}-{version}"
        with ThreadPoolExecutor(2) as pool:
            exits = pool.map(lambda name: client_scenario(mode, version, name, folder), names)
            exits = [one for one in exits if one]
        checks = []
        for name in names:
            below = folder / name.replace("/", "_")
            checks += [(name, check, good) for _, check, good in results(below)]
        differences.report(("client", mode, version), checks + exits)


if not (scratch / "npm").exists() or not sdk.exists():
    try:
        install()
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"skipped: the conformance suite or the SDK could not be installed ({error})")
        sys.exit(0)
shutil.rmtree(scratch / "results", ignore_errors=True)
differences = Differences()
for mode, size in SERVER_MODES.items():
    if runs_all or size == "fast":
        server_suite(mode, differences)
for mode, size in CLIENT_MODES.items():
    if runs_all or size == "fast":
        client_suite(mode, differences)
for line in differences.unseen():
    print(f"FAILED: expected to differ, but does not: {line}")
sys.exit(1 if differences.wrong or differences.unseen() else 0)
