"""A client that sends raw lines, for messages that no SDK would send."""
import json
import os
import select
import subprocess
import sys
import threading

# No answer takes this long, even on a busy machine.
PATIENCE = 120


class Lines:
    def __init__(self, command, **options):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options
        )
        self.next_id = 0
        self.buffer = b""
        self.ended = False

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        """Returns the next line as bytes without its line end, or `None` at the end."""
        if not self.ended and b"\n" not in self.buffer:
            self.fill()
        line, end, self.buffer = self.buffer.partition(b"\n")
        return line if end else None

    def fill(self):
        while not self.ended and b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            if not ready:
                self.process.kill()
                sys.exit(f"FAILED: no answer within {PATIENCE} s: {self.process.args}")
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            self.ended = not part
            self.buffer += part

    def answer(self):
        """Returns the next response, skipping notifications and requests of the server."""
        while (line := self.read()) is not None:
            message = json.loads(line)
            if "method" not in message:
                return line
        return None

    def ask(self, method, params):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        self.send(json.dumps(message, ensure_ascii=False))
        return json.loads(self.answer() or sys.exit(f"FAILED: no answer: {self.process.args}"))

    def open(self):
        self.ask("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "ci", "version": "1"},
        })
        self.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return self

    def close(self):
        self.process.stdin.close()
        timer = threading.Timer(20, self.process.kill)
        timer.start()
        code = self.process.wait()
        timer.cancel()
        return code
