"""Run a server as long as anybody holds the lock of its folder; a program by itself.

It imports the standard library alone, for it is started by its path. A process that ends in any
way lets go of its lock, and so the server goes with the last of its users, killed or not.
"""

import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys


def _end_with_parent() -> None:
    if sys.platform == "linux":  # should this program be killed, the server ends as well
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def keep(lock: str, place: str, command: list[str]) -> None:
    """Start a server, and stop it when nobody holds the lock.

    Args:
        lock: The file that users hold a shared lock of.
        place: The folder of its socket, which goes with the server.
        command: Runs the server.
    """
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_end_with_parent)
    file = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        server.terminate()
        server.wait()
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(file)


if __name__ == "__main__":
    keep(sys.argv[1], sys.argv[2], sys.argv[3:])
