"""A guard outlives the test run: it ends the server and removes its folder, come what may."""

import subprocess
import sys
from pathlib import Path
from typing import IO, cast

# Each line names the process to end, 0 for none. The pipe closes when the test run is gone, even by
# SIGKILL; a death signal of the kernel would not survive `unshare`, nor would it remove the folder.
_SCRIPT = """
import os, shutil, signal, sys, time
pid = 0
for line in sys.stdin:
    pid = int(line)

def is_alive():
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True

for number in (signal.SIGQUIT, signal.SIGKILL) if pid else ():
    if is_alive():
        os.kill(pid, number)
    deadline = time.monotonic() + 5
    while is_alive() and time.monotonic() < deadline:
        time.sleep(0.02)
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


class Guard:
    """Watches one server process and its folder on behalf of the test run."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-I", "-S", "-c", _SCRIPT, str(folder)]
        # A session of its own: Ctrl-C in the terminal must reach the tests, not the guard.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        self._pipe = cast(IO[bytes], self._process.stdin)

    def watch(self, pid: int) -> None:
        """From now on this is the process to end; 0 when there is none."""
        self._pipe.write(b"%d\n" % pid)
        self._pipe.flush()

    def dismiss(self) -> None:
        """End what is watched and remove the folder now; return when that is done."""
        self._pipe.close()
        self._process.wait(timeout=15)
