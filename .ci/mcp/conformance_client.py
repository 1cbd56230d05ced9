"""Runs the conformance client of the Python SDK through the proxy:
`conformance_client.py PROGRAM MODE CLIENT URL`.

MODE is `direct` (no proxy), `listen` (the proxy listens in front of the URL) or `pipes` (the client
starts the proxy and talks to it over pipes; where a login is needed, `goodcall mcp login` makes it).
CLIENT is the SDK's script, which takes the URL.
"""
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import threading
from urllib.parse import urlsplit

import httpx2
from mcp import StdioServerParameters
from mcp.client import client as sdk

program, mode, client, url = sys.argv[1:]


def run(url):
    sys.argv = [client, url]
    runpy.run_path(client, run_name="__main__")


def listening(proxy):
    """The address at which the proxy listens, as it says itself. What it says later is passed on."""
    for line in proxy.stderr:
        if found := re.search(r"http://(127\.0\.0\.1:\d+)/", line):
            threading.Thread(target=lambda: sys.stderr.writelines(proxy.stderr), daemon=True).start()
            return found[1]
    sys.exit("the proxy does not listen")


def follow_redirects():
    """The SDK's stand-in for a browser takes the first redirect for the way back to the client. Browsers
    follow all of them, and the proxy sends them on to the authorization server and back."""
    plain = httpx2.AsyncClient.get

    async def get(self, address, **rest):
        answer = await plain(self, address, **rest)
        while rest.get("follow_redirects") is False and answer.is_redirect:
            address = answer.headers["location"]
            if address.startswith("http://localhost:3000/callback"):
                break
            answer = await plain(self, address, **rest)
        return answer

    httpx2.AsyncClient.get = get


def log_in(environment):
    """Logs in with the proxy's own command. The suite's page needs no user, so curl is the browser."""
    command = [program, "mcp", "login", url]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    environment = {**environment, "BROWSER": "curl -sL -o /dev/null"}
    if "client_id" in context:
        environment["SECRET"] = context["client_secret"]
        command += ["--client-id", context["client_id"], "--client-secret-env", "SECRET"]
    subprocess.run(command, env=environment, check=True, timeout=60)


if mode == "direct":
    run(url)
elif mode == "listen":
    follow_redirects()
    command = [program, "mcp", "--listen", "127.0.0.1:0", "--url", url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as proxy:
        try:
            run(urlsplit(url)._replace(netloc=listening(proxy)).geturl())
        finally:
            proxy.terminate()
elif mode == "pipes":
    plain = sdk.Client
    folder = tempfile.TemporaryDirectory()
    environment = {**os.environ, "XDG_CONFIG_HOME": folder.name}
    if os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/"):
        log_in(environment)

    def over_pipes(_, **rest):
        command = ["mcp", "--url", url]
        return plain(StdioServerParameters(command=program, args=command, env=environment), **rest)

    sdk.Client = over_pipes
    run(url)
else:
    sys.exit(f"unknown mode `{mode}`: expected direct, listen or pipes")
