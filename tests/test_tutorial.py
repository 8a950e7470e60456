"""The tutorial, followed to the letter in an empty folder."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[str]) -> None:
    for _ in range(1200):
        assert process.poll() is None, process.communicate()[0]
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the service does not listen")


def test_the_service_does_what_the_page_shows(tmp_path: Path) -> None:
    port = free_port()
    files = dict(re.findall(r'```python title="([a-z]+\.py)"\n(.*?)```', PAGE, re.DOTALL))
    assert list(files) == ["notes.py", "fill.py", "service.py", "ask.py"]
    for name, text in files.items():
        (tmp_path / name).write_text(text.replace(":8000/", f":{port}/"), "utf-8")
    (filled, asked) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    options = {
        "cwd": tmp_path,
        "env": {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        "text": True,
    }

    def run(script: str) -> str:
        done = subprocess.run(
            [sys.executable, script], capture_output=True, timeout=600, check=False, **options
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("fill.py") == filled
    assert f"uvicorn service:app --port {8000}" in PAGE
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    ) as service:
        try:
            wait_for(port, service)
            assert run("ask.py") == asked
        finally:
            service.send_signal(signal.SIGINT)
            said, _ = service.communicate(timeout=120)
    assert "Traceback" not in said, said
    assert "Application shutdown complete" in said
