"""A server that ends for nobody: `stubborn_server.py FOLDER`. It leaves its process id as a file in FOLDER,
answers the handshake, and ignores the end of its input and every signal that it can ignore."""
import json
import os
import pathlib
import signal
import sys
import time

for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(ignored, signal.SIG_IGN)
(pathlib.Path(sys.argv[1]) / str(os.getpid())).touch()
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "stubborn", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
while True:
    time.sleep(60)
