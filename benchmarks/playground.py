"""How long a visitor waits: the first answer of the playground, and the one to each keystroke.

In the site, with Python in the browser, as Chromium on this machine runs it: from the start of the
navigation to the first answer on the page, with nothing kept from an earlier visit and with all of
it; and from a key to the frame in which its answer is shown, one key after the other. The aims are
5 seconds and 100 milliseconds.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.timing import duration, show
from tests.browser.chromium import PATIENCE, NoBrowser, build, chromium, served
from tools.npm_package import PYODIDE, NotFetched, fetch

VISITS = 9
TYPED = "lang == 'en' AND NOT (year < 2020 OR status IN ['draft', 'internal'])"
TYPED_THERE = "kind == 'function' AND NOT (length >= 400 OR raises == 'ValueError')"
_FIRST = """
addEventListener("playground:answered", (event) => {
  window.firstAnswer ??= performance.now();
  window.lastAnswer = event.detail;
}, true);
"""
_KEYS = """
const field = document.querySelector("#vp-filter");
window.taken = [];
let struck = 0;
field.addEventListener("input", (event) => { struck = event.timeStamp; });
document.querySelector("#vecstore-playground").addEventListener("playground:answered", () => {
  const from = struck;
  // A task that is queued in a frame runs after the frame has been drawn.
  requestAnimationFrame(() => setTimeout(() => window.taken.push(performance.now() - from)));
});
field.value = "";
field.focus();
"""


def run() -> None:
    """Build the site, visit it, type into it, and print what that took."""
    try:
        fetch(PYODIDE)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="playground-")))
            driver = stack.enter_context(chromium(folder / "profile"))
            address = stack.enter_context(served(build(folder / "site"))) + "playground/"
            version = driver.capabilities["browserVersion"]
            before = _load()
            head = ["", "median", "95 %", "times"]
            rows = measured(driver, address, VISITS)
            show(f"Playground, Chromium {version}, load {before} to {_load()}", head, rows)
    except (NoBrowser, NotFetched) as reason:
        print(f"\nThe playground is not measured: {reason}")


def measured(driver: Any, address: str, visits: int) -> list[list[str]]:
    """The rows of the table: what, the median, what 95 % stay below, and how many."""
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _FIRST})
    new, again = [], []
    for _ in range(visits):
        driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        new.append(visited(driver, address))
        again.append(visited(driver, address))
    rows = [
        _row("first answer, first visit", new),
        _row("first answer, later visit", again),
        _row("a key, six documents", typed(driver, TYPED)),
    ]
    visited(driver, f"{address}#sample=docstrings")
    several = driver.execute_script("return document.querySelectorAll('#vp-rows tr').length")
    rows.append(_row(f"a key, {several} documents", typed(driver, TYPED_THERE)))
    return rows


def visited(driver: Any, address: str) -> float:
    """Seconds from the start of the navigation to the first answer."""
    driver.get("about:blank")
    driver.get(address)
    return _until(driver, "return window.firstAnswer") / 1000


def typed(driver: Any, text: str) -> list[float]:
    """Seconds from each key to its answer."""
    driver.execute_script(_KEYS)
    field = driver.find_element("css selector", "#vp-filter")
    for number, letter in enumerate(text, 1):
        field.send_keys(letter)
        _until(driver, f"return window.taken.length >= {number}")
    told = driver.execute_script("return [window.lastAnswer.filter, window.taken]")
    if told[0] != text:
        raise RuntimeError(f"{told[0]!r} was answered, and {text!r} was typed")
    return [one / 1000 for one in told[1]]


def _until(driver: Any, script: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := driver.execute_script(script):
            return found
        time.sleep(0.01)
    raise RuntimeError(f"never true in {PATIENCE} s: {script}")


def _row(what: str, seconds: list[float]) -> list[str]:
    high = quantiles(seconds, n=20, method="inclusive")[-1]
    return [what, duration(median(seconds)), duration(high), str(len(seconds))]


def _load() -> str:
    return " ".join(f"{one:.2f}" for one in os.getloadavg())
