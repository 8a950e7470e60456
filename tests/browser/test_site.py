"""Pages of the site in a browser: nothing broken, nothing from elsewhere, nothing too wide."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Page

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_start_page(page: Page, site: str, axe: str, width: int, dark: bool) -> None:
    page.resize(width, dark=dark)
    page.console_errors()
    page.open(site)
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.faults(axe) == []
    assert page.console_errors() == []
