"""Pages of the site in a browser: nothing broken, nothing from elsewhere, nothing too wide."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Page

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", ["", "how-it-works/", "searching/", "dialects/"])
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page(page: Page, site: str, axe: str, name: str, width: int, dark: bool) -> None:
    page.resize(width, dark=dark)
    page.console_errors()
    page.open(site + name)
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.faults(axe) == []
    assert page.console_errors() == []


def test_every_page_fits_a_phone_and_loads_whole(page: Page, site: str) -> None:
    page.resize(360)
    page.open(site)
    pages = page.run(
        "return [...new Set([...document.querySelectorAll('.md-nav a')]"
        ".map((one) => one.href.split('#')[0]))]"
    )
    assert len(pages) > 40
    page.console_errors()
    for address in pages:
        if not address.endswith("/playground/"):  # which has tests of its own, and takes a while
            page.open(address)
            assert page.run("return document.documentElement.scrollWidth") <= 360, address
            assert page.console_errors() == [], address


def test_the_start_page_shows_problem_filter_store_and_ways_on_in_one_screen(
    page: Page, site: str
) -> None:
    page.resize(1280, 900)
    page.open(site)
    shown = page.run(
        "return ['.vs-start table', '.vs-start pre', '.vs-go li:last-child'].map((one) => "
        "[...document.querySelectorAll(one)].map((it) => it.getBoundingClientRect().bottom)).flat()"
    )
    assert len(shown) >= 4
    assert max(shown) < 900
    # Code on it is not cut off where the two columns stand beside each other.
    assert page.run(
        "return [...document.querySelectorAll('.vs-start pre > code')]"
        ".every((one) => one.scrollWidth <= one.clientWidth)"
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_diagrams_are_drawn_in_the_colours_of_the_page(page: Page, site: str, dark: bool) -> None:
    page.resize(1280, dark=dark)
    page.open(f"{site}how-it-works/")
    seen = page.run(
        "return [...document.querySelectorAll('article img')]"
        ".filter((one) => one.naturalWidth && one.offsetWidth).map((one) => one.src)"
    )
    wanted = "dark" if dark else "light"
    assert [one.rpartition("/")[2] for one in seen] == [
        f"way-of-a-{way}-{wanted}.svg#only-{wanted}" for way in ("compile", "search")
    ]
