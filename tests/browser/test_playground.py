"""The playground as a person uses it, in the site and on this machine."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

import vecstore
from tests.browser.chromium import build
from tests.browser.conftest import Page, Serve

pytestmark = pytest.mark.browser

FIRST = "lang == 'en' AND year >= 2020 AND NOT (status == 'draft')"
VERDICTS = "#vp-rows tr:not([hidden]) .vp-verdict"


def states(page: Page) -> dict[str, str]:
    return page.run(
        "return Object.fromEntries([...document.querySelectorAll('.vp-dialect')]"
        ".map((one) => [one.dataset.dialect, one.dataset.state]))"
    )


def opened(page: Page, address: str, filter: str = FIRST) -> None:
    page.open(address)
    page.answered(filter)


def test_a_filter_is_typed_and_everything_follows(page: Page, playground: str) -> None:
    opened(page, playground)

    before = page.texts(VERDICTS)
    page.type("#vp-filter", "title >= 'B' AND lang != 'de'")
    page.until("return document.querySelector('#vp-text').textContent === arguments[0]",
               "title >= 'B' AND lang != 'de'")  # fmt: skip
    told = states(page)
    assert set(told) == set(vecstore.dialect_names())
    assert (told["pgvector"], told["qdrant"]) == ("exact", "refused")
    assert (
        page.text("[data-dialect=pgvector] .vp-query")
        == vecstore.compile_filter("title >= 'B' AND lang != 'de'", "pgvector").query
    )
    refused = page.text("[data-dialect=qdrant]")
    assert "qdrant cannot answer >= on key title" in refused
    assert "^^^^^^^^^^^^" in refused
    assert 'With residual="evaluate": qdrant answers' in refused
    after = page.texts(VERDICTS)
    assert after != before
    assert len(after) == 6
    assert "title >= 'B' – title is 'A diary'" in page.text("#vp-rows tr:nth-child(4)")


def test_an_error_stands_under_its_caret_and_goes_again(page: Page, playground: str) -> None:
    opened(page, playground)
    page.type("#vp-filter", "country == BG")
    page.until(
        "return document.querySelector('#vp-error').textContent.includes('quote the string')"
    )
    shown = page.text("#vp-error .vp-excerpt").split("\n")
    assert shown == ["country == BG", "           ^^"]
    assert (
        page.run("return document.querySelector('#vp-filter').getAttribute('aria-invalid')")
        == "true"
    )
    # In one column the letters and the carets are as wide as each other, and on one line each.
    assert page.run(
        "const box = document.querySelector('#vp-error .vp-excerpt');"
        "return box.getClientRects().length === 1 && getComputedStyle(box).whiteSpace === 'pre'"
    )
    page.until(
        "return document.querySelector('#vp-live').textContent.startsWith('Error in the filter: BG')"
    )
    page.type("#vp-filter", "country == 'BG'")
    page.until("return document.querySelector('#vp-error').hidden")
    assert (
        page.run("return document.querySelector('#vp-filter').hasAttribute('aria-invalid')")
        is False
    )
    page.until("return document.querySelector('#vp-live').textContent.includes('6 false.')")


def test_documents_are_edited_removed_and_added(page: Page, playground: str) -> None:
    opened(page, playground)
    first = "#vp-rows tr:nth-child(1)"
    page.type(f"{first} textarea", '{"lang": "en", "year": [2021, "x"]}')
    page.until("return document.querySelector(arguments[0]).dataset.verdict === 'unusable'", first)
    assert "a list holds values of one type" in page.text(first)
    page.type(f"{first} textarea", '{"lang": "en", "year": 2021}')
    page.until("return document.querySelector(arguments[0]).dataset.verdict === 'true'", first)
    page.driver.find_element("css selector", f"{first} button").click()
    page.until("return document.querySelectorAll('#vp-rows tr').length === 5")
    page.driver.find_element("css selector", "#vp-add").click()
    page.until("return document.querySelectorAll('#vp-rows .vp-verdict').length === 6")
    assert (
        page.run("return document.activeElement.getAttribute('aria-label')")
        == "Metadata of document 6"
    )
    assert page.run("return document.querySelector('#vp-sample').value") == "own"


def test_what_was_typed_before_leaves_no_trace_in_the_reasons(page: Page, playground: str) -> None:
    """Elements stay while a filter is typed: they hold what those of a new page hold."""
    html = (
        "return [...document.querySelectorAll('#vp-rows tr')]"
        ".map((row) => [row.cells[0].innerHTML, row.cells[2].innerHTML])"
    )
    many = " AND ".join(f"k{number} == {number}" for number in range(8))
    opened(page, playground)
    for wanted in (many, "lang == 'en'", "", "year < 3 OR NOT (lang == 'en' AND year > 1)", many):
        page.type("#vp-filter", wanted)
        page.answered(wanted)
        typed = page.run(html)
        opened(page, f"{playground.split('#')[0]}#filter={quote(wanted)}", wanted)
        assert page.run(html) == typed


def test_only_some_verdicts_are_shown(page: Page, playground: str) -> None:
    opened(page, playground)
    everything = page.texts(VERDICTS)
    page.run(
        "const show = document.querySelector('#vp-show'); show.value = 'false';"
        "show.dispatchEvent(new Event('change'))"
    )
    assert page.texts(VERDICTS) == [one for one in everything if one == "✗ false"] != []


def test_a_link_shows_the_same_to_someone_else(page: Page, playground: str) -> None:
    opened(page, playground)
    wanted = "tags IN [\"a&b=c#d\", 'é+%20'] OR NOT (n > 1)"
    page.type("#vp-filter", wanted)
    page.type("#vp-rows tr:nth-child(2) textarea", '{"tags": "a&b=c#d", "n": 9007199254740993}')
    page.run(
        "const data = document.querySelector('#vp-data'); data.value = 'declared';"
        "data.dispatchEvent(new Event('change'))"
    )
    page.until(
        "return location.hash.includes('declared') && location.hash.includes('9007199254740993')"
    )
    page.answered(wanted)
    link, seen = page.run("return location.href"), page.texts(VERDICTS)
    parts = parse_qs(urlsplit(link).fragment)
    assert parts["filter"] == [wanted]
    assert len(parts["document"]) == 6
    opened(page, link, wanted)
    assert page.run("return document.querySelector('#vp-filter').value") == wanted
    assert page.run("return document.querySelector('#vp-data').value") == "declared"
    assert page.texts(VERDICTS) == seen
    assert page.text("#vp-schema").startswith("As the documents on this page have it: Schema({")


def test_another_link_in_the_same_tab_is_followed(page: Page, playground: str) -> None:
    opened(page, playground)
    page.run("location.hash = 'filter=' + encodeURIComponent(\"tags == 'food'\")")
    page.until("return document.querySelector('#vp-text').textContent === \"tags == 'food'\"")


@pytest.mark.parametrize(
    "fragment",
    ["filter=%00", "filter=" + quote("<img src=x onerror=document.title='broken'>"), "filter=%E0%A4%A",
     "filter=a+%3D%3D+1&data=__proto__&sample=constructor&document=%3Cscript%3E", "x" * 5_000,
     "filter=" + quote("a == '<b>bold</b>' OR \"<i>\" > 1") + "&document=" + quote('{"<i>": "<img src=x onerror=alert(1)>"}')],
)  # fmt: skip
def test_a_hostile_link_is_shown_as_text(page: Page, playground: str, fragment: str) -> None:
    page.open(f"{playground}#{fragment}")
    page.until("return document.querySelector('#vp-state').hidden")
    page.until("return document.querySelectorAll('#vp-rows td:first-child').length > 0")
    assert (
        page.run("return document.querySelectorAll('.vp img, .vp b, .vp i, .vp script').length")
        == 0
    )
    assert "broken" not in page.driver.title


def test_the_docstrings_are_one_choice_away(page: Page, playground: str) -> None:
    opened(page, playground)
    page.run(
        "const sample = document.querySelector('#vp-sample'); sample.value = 'docstrings';"
        "sample.dispatchEvent(new Event('change'))"
    )
    page.until("return document.querySelectorAll('#vp-rows .vp-verdict').length >= 100")
    page.driver.find_element("css selector", ".vp-examples summary").click()
    page.driver.find_element("css selector", "#vp-examples button").click()
    page.until("return document.querySelector('#vp-counts').textContent.includes(' true')")
    page.until(
        "return location.hash.includes('sample=docstrings') && location.hash.includes('kind')"
    )
    opened(page, page.run("return location.href"), "kind == 'function' AND length < 400")
    assert len(page.texts("#vp-rows .vp-verdict")) >= 100


def test_all_of_it_is_reached_from_the_keyboard(page: Page, playground: str) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(page, playground)
    page.run("document.querySelector('#vp-filter').focus()")
    reached: list[str] = []
    while "vp-add" not in reached and len(reached) < 60:
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(
            page.run(
                "const one = document.activeElement;"
                "const ring = getComputedStyle(one).outlineStyle !== 'none';"
                "return (one.id || one.getAttribute('aria-label') || one.tagName) + (ring ? '' : ' without a ring')"
            )
        )
    wanted = ["vp-share", "SUMMARY", "vp-data", "vp-sample", "vp-show", "Metadata of document 1",
              "Remove document 1", "Metadata of document 2", "Remove document 6", "vp-add"]  # fmt: skip
    assert [one for one in reached if one in wanted] == wanted


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_and_axe_finds_nothing_serious(
    page: Page, playground: str, axe: str, width: int, dark: bool
) -> None:
    page.resize(width, dark=dark)
    opened(page, playground)
    for filter in (
        FIRST,
        "title >= 'a long text that goes on and on' AND " + "n" * 80 + " > 1",
        "country == BG",
    ):
        page.run("location.hash = arguments[0]", f"filter={quote(filter)}")
        page.answered(filter)
        assert page.run("return document.documentElement.scrollWidth") <= width
        assert page.faults(axe) == []
    background = page.run(
        "return getComputedStyle(document.querySelector('.vp-card')).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert (sum(background[:3]) < 3 * 128) is dark


def test_a_site_without_python_says_how_to_run_the_playground(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    folder = build(tmp_path / "site", VECSTORE_SITE_WITHOUT_PYODIDE="1")
    assert not (folder / "playground/pyodide").exists()
    page.console_errors()
    page.open(serve(folder) + "playground/")
    page.until(
        "return document.querySelector('#vp-state').textContent.includes('vecstore playground')"
    )
    assert page.console_errors() == []
