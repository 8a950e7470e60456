"""A real browser, the site as it is built, and the playground of this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import PATIENCE, NoBrowser, build, chromium, served
from tools.npm_package import AXE, PYODIDE, NotFetched, NpmPackage, fetch
from vecstore.playground.server import PlaygroundServer


class Page:
    """A page in a browser, as a test looks at it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get("about:blank")  # or another fragment of the same page would not load it
        self.driver.get(address)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait for a script to return something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        def look(_: Any) -> Any:
            return self.run(script, *arguments)

        return WebDriverWait(self.driver, PATIENCE, 0.05).until(look, f"never true: {script}")

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)",
            selector,
        )

    def type(self, selector: str, text: str) -> None:
        """Replace what a field holds, key by key."""
        from selenium.webdriver.common.keys import Keys

        field = self.driver.find_element("css selector", selector)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.DELETE)
        field.send_keys(text)

    def answered(self, filter: str) -> None:
        """Wait until the page shows what becomes of a filter."""
        self.until(
            "const root = document.querySelector('#vecstore-playground');"
            "return document.querySelector('#vp-filter').value === arguments[0]"
            " && root.dataset.answered === arguments[0] && !root.hasAttribute('aria-busy')",
            filter,
        )

    def console_errors(self) -> list[str]:
        return [
            one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"
        ]

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def faults(self, axe: str) -> list[str]:
        """What axe finds that is serious or critical."""
        self.run(axe)
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, {resultTypes: ['violations']}).then((told) => done(told.violations))"
        )
        return [
            f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:120]} ({len(one['nodes'])})"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    try:
        with chromium(tmp_path_factory.mktemp("chromium")) as driver:
            yield Page(driver)
    except NoBrowser as reason:
        pytest.skip(str(reason))


Serve = Callable[[Path], str]


@pytest.fixture(scope="session")
def serve() -> Iterator[Serve]:
    """``serve(folder)`` gives the address of a folder, served to this machine."""
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(served(folder))


def fetched(package: NpmPackage) -> Path:
    try:
        return fetch(package)
    except NotFetched as reason:
        pytest.skip(f"{package.name} is missing: {reason}")


@pytest.fixture(scope="session")
def site(page: Page, serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the site, with Python for browsers in it."""
    fetched(PYODIDE)
    folder = build(tmp_path_factory.mktemp("site"))
    assert (folder / "playground/pyodide/pyodide.asm.wasm").exists()
    return serve(folder)


@pytest.fixture(scope="session")
def local(page: Page) -> Iterator[str]:
    """The address of the playground with this Python behind it."""
    with PlaygroundServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,))
        thread.start()
        yield server.address
        server.shutdown()
        thread.join()


@pytest.fixture(params=["site", "local"])
def playground(request: pytest.FixtureRequest, page: Page) -> Iterator[str]:
    """The playground, once as a page of the site and once of this machine."""
    name = request.param
    address: str = request.getfixturevalue(name) + ("playground/" if name == "site" else "")
    page.resize(1280)
    page.console_errors()  # what earlier tests left
    yield address
    assert page.console_errors() == []


@pytest.fixture(scope="session")
def axe() -> str:
    return (fetched(AXE) / "axe.min.js").read_text("utf-8")
