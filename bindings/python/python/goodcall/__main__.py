"""The ``goodcall`` command, as ``goodcall`` and as ``python -m goodcall``."""

from __future__ import annotations

import os
import shutil
import signal
import sys


def main() -> None:
    """Runs the command and ends the process with its exit code."""
    from . import _goodcall

    command = getattr(_goodcall, "command", None)
    if command is None:
        sys.exit("goodcall: this build of the package has no command")
    # The interpreter's own handler would keep an interrupt until the command returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    script = os.path.abspath(sys.argv[0])
    if script.endswith(".py"):
        script = shutil.which("goodcall") or "goodcall"
    sys.exit(command([script, *sys.argv[1:]]))


if __name__ == "__main__":
    main()
