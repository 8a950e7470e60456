"""Readers on real files, held against an independent reading; and on what nobody should send."""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.indexing.texts import TEXTS
from vecstore import BackendNotInstalledError, ConfigurationError, Document, SourceError
from vecstore.indexing import (
    KINDS,
    READERS,
    Source,
    TokenSplitter,
    chain,
    file_source,
    fingerprint_of,
    read,
    read_csv,
    read_html,
    read_json,
    read_jsonl,
    read_markdown,
    read_pdf,
    text_source,
)

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def of(kind: str, data: str | bytes, **metadata: object) -> Source:
    raw = data.encode() if isinstance(data, str) else data
    return Source(id=f"a.{kind}", load=lambda: raw, kind=kind, metadata=metadata)


def sections(documents: Any) -> list[tuple[str, list[str]]]:
    return [(one.text, one.metadata.get("headings", [])) for one in documents]


def refused(reader: Any, source: Source) -> str:
    with pytest.raises(SourceError) as caught:
        [*reader(source)]
    assert caught.value.source == source.id
    return str(caught.value)


def test_every_kind_of_file_has_a_reader() -> None:
    assert {*KINDS.values()} == {*READERS}
    assert len({fingerprint_of(reader) for reader in READERS.values()}) == len(READERS)


@pytest.mark.parametrize("kind", sorted(READERS))
def test_nothing_is_read_from_nothing(kind: str) -> None:
    if kind == "pdf":
        assert "cannot be read as PDF" in refused(read, of(kind, b""))
    else:
        assert [*read(of(kind, ""))] == [*read(of(kind, "\ufeff \n\n"))] == []


@pytest.mark.parametrize("kind", sorted({*READERS} - {"pdf"}))
def test_bytes_that_are_no_text_are_named(kind: str) -> None:
    assert "is not UTF-8 at byte 3" in refused(read, of(kind, b"abc\xff"))
    assert "holds NUL in line 2" in refused(read, of(kind, b"a\n\0"))


# --- Markdown ---------------------------------------------------------------------------------


def headings_by_hand(text: str) -> list[tuple[int, str]]:
    """The headings of a page of ours, whose only other lines with # stand in fences."""
    found, fenced = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and (match := re.match(r"(#+) (.*)", line)):
            found.append((len(match[1]), match[2]))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sections_of_the_documentation_are_exact_and_all_of_it(page: Path) -> None:
    text = page.read_text("utf-8")
    found = [*read(file_source(page, page.name))]
    settings = re.match(r"---\n.*?\n---\n", text, re.DOTALL)  # of the page, and no part of it
    place = settings.end() if settings else 0
    for one in found:
        start, end = one.metadata["span"]
        assert text[start:end] == one.text == one.text.strip()
        assert not text[place:start].strip()
        place = end
        if one.text.startswith("#"):
            level, marked = len(one.text.split()[0]), one.text.splitlines()[0].lstrip("# ")
            assert len(one.metadata["headings"]) <= level
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*\\]", r"\1", marked)
            assert one.metadata["headings"][-1] == plain
    assert not text[place:].strip()
    begun = [one.text.splitlines()[0] for one in found if one.text.startswith("#")]
    assert begun == [f"{'#' * level} {title}" for level, title in headings_by_hand(text)]


MARKDOWN = """\
Before any heading.

# Bread *and* [`butter`](https://example.com "x")
Flour.

Setext, in two
lines
---
- item

```sh
# no heading
```

    # nor this

> # nor this

### Deeper
| a | b |
|---|---|
| 1 | 2 |

## ![a picture](p.png) Rye &amp; more ##
<!-- # nor this -->
Sour.

# Empty

##
Without a name.
"""


def test_sections_of_markdown() -> None:
    found = [*read_markdown()(of("md", MARKDOWN))]
    assert [one.metadata.get("headings", []) for one in found] == [
        [],
        ["Bread and butter"],
        ["Bread and butter", "Setext, in two lines"],
        ["Bread and butter", "Setext, in two lines", "Deeper"],
        ["Bread and butter", "a picture Rye & more"],
        ["Empty"],
        ["Empty"],
    ]
    assert {one.metadata["title"] for one in found} == {"Bread and butter"}
    assert found[0].text == "Before any heading."
    assert found[3].text == "### Deeper\n| a | b |\n|---|---|\n| 1 | 2 |"
    assert found[6].text == "##\nWithout a name."
    assert len([*read_markdown(level=1)(of("md", MARKDOWN))]) == 3
    (whole,) = read_markdown(level=0)(of("md", MARKDOWN))
    assert whole.text == MARKDOWN.strip()
    crlf = MARKDOWN.replace("\n", "\r\n")
    again = [*read_markdown()(of("md", crlf))]
    assert [one.metadata.get("headings") for one in again] == [
        one.metadata.get("headings") for one in found
    ]
    for one in again:
        start, end = one.metadata["span"]
        assert crlf[start:end] == one.text


@given(
    st.lists(
        st.sampled_from(
            [
                *"# \n\r\t>-`=|[]()*_\\",
                "\n\n",
                "# a",
                "```\n",
                "word",
                "---\n",
                "é",
                "\u2028",
                "\x0b",
            ]
        )
    ).map("".join)
)
def test_sections_of_any_markdown_are_all_of_it(text: str) -> None:
    place = 0
    for one in read_markdown(front_matter=False)(of("md", text)):
        start, end = one.metadata["span"]
        assert text[start:end] == one.text
        assert start >= place
        assert not text[place:start].strip()
        place = end
    assert not text[place:].strip()


def test_front_matter_is_metadata() -> None:
    yaml = "---\ntitle: Rye\nlang: de\ndate: 2024-05-06\ntags: [a, b]\nnone:\n---\n# Bread\nSour."
    (one,) = read_markdown()(of("md", yaml, team="t"))
    assert one.metadata == {
        "source": "a.md",
        "title": "Rye",
        "lang": "de",
        "date": "2024-05-06",
        "tags": ["a", "b"],
        "headings": ["Bread"],
        "span": [yaml.index("#"), len(yaml)],
        "team": "t",
    }
    toml = '+++\r\ntitle = "Rye"\r\n+++\r\nSour.'
    (one,) = read_markdown()(of("md", toml))
    assert (one.text, one.metadata["title"]) == ("Sour.", "Rye")
    kept = [*read_markdown(front_matter=False)(of("md", "---\ntitle: Rye\n---\nSour."))]
    assert [one.text for one in kept] == ["---", "title: Rye\n---\nSour."]
    # Two rules with a text between them are no front matter, and nor is what has no end.
    for text, expected in (
        ("---\nOnce upon a time\n---\nmore", ["---", "Once upon a time\n---\nmore"]),
        ("---\ntitle: x\n\nmore", ["---\ntitle: x\n\nmore"]),
    ):
        assert [one.text for one in read_markdown()(of("md", text))] == expected


@pytest.mark.parametrize(
    "front",
    [
        "a: [",
        "a: &x [1]\nb: *x",
        "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "a: !!python/object/apply:os.system ['true']",
        "a: " + "[" * 2_000,
        "a: '" + "x" * 70_000 + "'",
        "a: 2024-99-99",
    ],
)
def test_front_matter_that_is_none_is_refused(front: str) -> None:
    message = refused(read_markdown(), of("md", f"---\n{front}\n---\ntext"))
    assert message.startswith("a.md, front matter: it cannot be read; read_markdown(front_matter=F")
    assert (
        "text"
        in [*read_markdown(front_matter=False)(of("md", f"---\n{front}\n---\ntext"))][-1].text
    )


def test_a_file_cannot_write_itself_into_another_tenant() -> None:
    message = refused(read_markdown(), of("md", "---\ntenant: theirs\n---\ntext", tenant="ours"))
    assert "it has the key 'tenant', which the source carries already" in message
    for key in ("source", "chunk", "span"):
        assert f"'{key}', which readers write" in refused(
            read_markdown(), of("md", f"---\n{key}: x\n---\ntext")
        )
    page = of("html", "<meta name=tenant content=theirs><p>x", tenant="ours")
    assert [one.metadata["tenant"] for one in read_html()(page)] == ["ours"]
    assert "'tenant', which the source" in refused(read_html(meta=("tenant",)), page)
    for reader, kind, data in (
        (read_json(), "json", '{"tenant": "theirs"}'),
        (read_csv(), "csv", "tenant\ntheirs\n"),
    ):
        assert "'tenant', which the source" in refused(reader, of(kind, data, tenant="ours"))


# --- HTML -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES[::4], ids=lambda page: page.stem)
def test_pages_of_the_site_have_the_sections_of_their_markdown(page: Path) -> None:
    """Rendered by the library, and with the extensions, that build the site."""
    from markdown import Markdown

    text = page.read_text("utf-8")
    renderer = Markdown(
        extensions=["admonition", "pymdownx.superfences", "tables", "toc"],
        extension_configs={"toc": {"permalink": True}},
    )
    site = f"<html><body><article>{renderer.convert(text)}</article></body></html>"
    rendered = [*read_html("article")(of("html", site))]
    written = [*read_markdown(front_matter=False)(of("md", text))]
    assert [one.metadata.get("headings") for one in rendered] == [
        one.metadata.get("headings") for one in written
    ]
    for one in rendered:
        assert "¶" not in one.text
        assert not re.search(r"<\w+>.*</\w+>", one.text) or "<" in text
    # Every word that stands in a code block is on the page as it stands.
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S):
        assert any(block.strip() in one.text for one in rendered)


HTML = """<!DOCTYPE html><html lang="de"><head><title> Brot
 &amp; Butter </title><meta name="Description" content="Über Brot"><meta name="other" content="x">
<style>p {}</style></head><body><nav>Menu</nav><p>Before.</p>
<main><h1>Bread<a class="headerlink" href="#x">¶</a></h1><p>Flour,<b> water</b>,
 <i>s</i>alt<br>and&nbsp;time.</p><script>alert(1)</script><!-- no -->
<ul><li>one</li><li>two</li></ul><table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>
<section><h2><em>Rye</em></h2><pre>  keep
    this</pre><p>See <a href="https://example.com/r">recipe</a>.</p></section>
<h4>Deep</h4>text<h2></h2>last</main></body></html>"""


def test_sections_of_html() -> None:
    found = [*read_html("main")(of("html", HTML))]
    assert sections(found) == [
        ("Bread\nFlour, water, salt\nand time.\none\ntwo\na b\nc", ["Bread"]),
        ("Rye\n  keep\n    this\nSee recipe.", ["Bread", "Rye"]),
        ("Deep\ntext", ["Bread", "Rye", "Deep"]),
        ("last", ["Bread"]),
    ]
    assert {key: found[0].metadata[key] for key in ("title", "lang", "description")} == {
        "title": "Brot & Butter",
        "lang": "de",
        "description": "Über Brot",
    }
    assert "other" not in found[0].metadata
    whole = [*read_html()(of("html", HTML))]
    assert whole[0].text == "Menu\nBefore."
    assert [one.text for one in whole[1:]] == [one.text for one in found]
    linked = [*read_html("main", links=True)(of("html", HTML))]
    assert "See recipe (https://example.com/r)." in linked[1].text
    assert [one.text for one in read_html("h1, main, body h1")(of("html", HTML))] == [
        one.text for one in found
    ]
    with pytest.raises(ConfigurationError, match="cannot be read as a CSS selector"):
        [*read_html("main[")(of("html", HTML))]


def test_a_page_says_its_own_encoding() -> None:
    page = '<meta charset="windows-1252"><p>Grüße'.encode("cp1252")
    assert [one.text for one in read_html()(of("html", page))] == ["Grüße"]
    assert "is not UTF-8 at byte" in refused(read_html(encoding="utf-8"), of("html", page))


def test_the_main_text_of_a_page() -> None:
    sentence = "The harbour froze in January, and for six weeks nothing came in or went out. "
    page = f"<body><nav><a href=x>Menu</a></nav><article><p>{sentence * 5}</p></article></body>"
    (one,) = read_html(main=True)(of("html", page))
    assert one.text == (sentence * 5).strip()


@pytest.mark.parametrize("tag", ["div", "b", "span", "ul><li", "blockquote"])
def test_pages_nested_without_end_are_read_so_far(tag: str) -> None:
    page = f"<{tag}>" * 1_900 + "<h1>T</h1>deep"
    assert [one.text for one in read_html()(of("html", page))][-1].endswith("deep")
    message = refused(read_html(), of("html", f"<{tag}>\n" * 200_000))
    assert message.startswith("a.html, line 2,001: more than 2,000 elements are open there")
    closed = f"<{tag}><p><br><td>" + "".join(f"</{one}>" for one in reversed(tag.split("><")))
    assert [*read_html()(of("html", closed * 5_000 + "end"))][-1].text.endswith("end")


# --- JSON, JSON lines, CSV ----------------------------------------------------------------------


def test_records_of_json() -> None:
    data = {"data": {"items": [{"k": "x", "t": "One", "u": "Two", "o": {"n": [1, 2]}}, "bare", 3]}}
    source = of("json", json.dumps(data))
    found = [*read_json(["t", "u"], id="k", pointer="/data/items/0")(source)]
    assert found == [Document("One\nTwo", {"source": "a.json", "o": {"n": [1, 2]}}, id="x")]
    whole = [*read_json(pointer="/data/items")(source)]
    assert [one.text for one in whole] == [
        'k: x\nt: One\nu: Two\no: {"n": [1, 2]}',
        "bare",
        "3",
    ]
    assert whole[0].metadata == {"source": "a.json", **data["data"]["items"][0]}  # type: ignore[dict-item]
    escaped = of("json", '{"a/b": {"~": ["x", "y"]}}')
    assert [one.text for one in read_json(pointer="/a~1b/~0/1")(escaped)] == ["y"]
    odd = of("jsonl", '{"t": "a\u2028b"}\r\n\n{"t": "c"}\n')
    assert [one.text for one in read_jsonl("t")(odd)] == ["a\u2028b", "c"]


@pytest.mark.parametrize(
    ("reader", "data", "message"),
    [
        (read_json(), '{"a": [1,\n}', "a.json, line 2, column 1: it is no JSON"),
        (read_json(), "[" * 100_000, "a.json, line 1: it is nested too deep to be read"),
        (read_json(), '{"a": NaN}', "a.json, line 1: it cannot be read: NaN is no JSON"),
        (read_json(), "[" + "9" * 5_000 + "]", "a.json, line 1: it cannot be read"),
        (read_json(), '[{"a": 1}, {"": 2}]', "a.json, element 1: document"),
        (read_json("t"), '[{"a": 1}]', "a.json, element 0: it has no key 't'; it has 'a'"),
        (read_json("t", id="i"), '{"t": 1, "i": ""}', "its key 'i' is empty, which is no id"),
        (read_json("t", id="i"), '{"t": 1, "i": null}', "its key 'i' is empty, which is no id"),
        (read_json(rename={"a": "b"}), '{"a": 1, "b": 2}', "gives two of its keys one name"),
        (read_json(), '{"source": 1}', 'name it otherwise: rename={"source": "origin"}'),
        (read_json(pointer="a"), "{}", "the pointer 'a' begins with no slash: '/a'"),
        (
            read_json(pointer="/a/1"),
            '{"a": [1]}',
            "the pointer '/a/1' leads nowhere: there is no '1'",
        ),
        (read_jsonl(), '{}\n\n{"a"', "a.json, line 3, column 5: it is no JSON"),
        (read_csv(), 'a,b\n1,"x', "a.json, line 2: the row that begins there is no CSV"),
        (
            read_csv(),
            "a,b\n1,2\n1\n",
            "a.json, line 3: the row has 1 fields, and there are 2 columns",
        ),
        (read_csv(), "a,a\n1,2\n", "a.json, line 1: the name of a column is empty or there twice"),
        (
            read_csv(),
            "a\n" + "x" * 140_000,
            "line 2: the row that begins there is no CSV: a field of",
        ),
        (read_csv("t"), "a,b\n1,2\n", "a.json, line 2: it has no key 't'; it has 'a', 'b'"),
    ],
)
def test_records_that_cannot_be_read_name_the_place(reader: Any, data: str, message: str) -> None:
    assert message in refused(reader, of("json", data))


def test_a_key_of_a_record_can_be_renamed() -> None:
    source = of("csv", "source,t\nx,Rain\n")
    (one,) = read_csv("t", rename={"source": "origin"})(source)
    assert one.metadata == {"source": "a.csv", "origin": "x"}
    assert fingerprint_of(read_csv("t")) != fingerprint_of(read_csv("t", rename={"source": "o"}))


cells = st.text(st.sampled_from([*"ab ,;\n\r\t\"'é你😀\u2028", "\ufeff"]), max_size=8)


@given(st.lists(st.tuples(cells, cells.filter(str.strip)), max_size=5))
@settings(max_examples=30)
def test_rows_of_csv_come_back(rows: list[tuple[str, str]]) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows([("a", "t"), *rows])
    found = [*read_csv("t")(of("csv", "\ufeff" + written.getvalue()))]
    assert [(one.metadata["a"], one.text) for one in found] == rows


# --- PDF --------------------------------------------------------------------------------------


def pdf_of(pages: list[str], title: str | None = None) -> bytes:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.set_font("Helvetica", size=11)
    if title:
        pdf.set_title(title)
    for page in pages:
        pdf.add_page()
        if page:
            pdf.multi_cell(0, 6, page)
    return bytes(pdf.output())


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_pages_of_pdf_come_back_page_by_page() -> None:
    written = []
    for page in PAGES[:6]:
        text = page.read_text("utf-8").encode("ascii", "ignore").decode()
        written.append("\n".join(line[:80] for line in text.splitlines() if line.strip())[:1_500])
    written[2] = ""  # as a scan has it
    data = pdf_of(written, "Six pages")
    found = [*read(of("pdf", data))]
    assert [one.metadata["page"] for one in found] == [1, 2, 4, 5, 6]
    assert {one.metadata["title"] for one in found} == {"Six pages"}
    for one in found:
        assert words(one.text) == words(written[one.metadata["page"] - 1])
    pairs = [*read_pdf(pages_per_document=2)(of("pdf", data))]
    assert [one.metadata["page"] for one in pairs] == [1, 3, 5]
    assert words(pairs[2].text) == words(written[4] + "\n" + written[5])
    some = [*read_pdf(ranges=[(5, 9), (1, 2)])(of("pdf", data))]
    assert [one.metadata["page"] for one in some] == [5, 6, 1, 2]


@pytest.mark.parametrize(
    ("pages", "told"),
    [
        (["One.", "Two."], []),
        (["", "Two."], ["no text layer on page 1"]),
        (["", "", "Three.", "", "Five.", "", ""], ["no text layer on pages 1 to 2, 4, 6 to 7"]),
        (["", ""], ["no page has a text layer, as in a scan"]),
        (["", "x"] * 23, [f"no text layer on pages {', '.join(map(str, range(1, 40, 2)))}, "
                          "3 more ranges"]),
    ],
)  # fmt: skip
def test_pages_without_text_are_told(pages: list[str], told: list[str]) -> None:
    data = pdf_of(pages)
    for together in (1, 2):
        remarks: list[str] = []
        source = Source(id="a.pdf", load=lambda: data, kind="pdf", note=remarks.append)
        [*read_pdf(pages_per_document=together)(source)]
        assert remarks == told
    assert len([*read_pdf()(of("pdf", data))]) == len([one for one in pages if one])


def test_pdfs_that_are_none() -> None:
    import pypdf

    data = pdf_of(["One.", "Two."])
    assert "cannot be read as PDF" in refused(read_pdf(), of("pdf", b"%PDF-1.7\n" + b"x" * 100))
    assert "cannot be read as PDF" in refused(read_pdf(), of("pdf", data[:20]))
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt("secret", algorithm="RC4-128")
    locked = io.BytesIO()
    writer.write(locked)
    message = refused(read_pdf(), of("pdf", locked.getvalue()))
    assert message == "a.pdf is encrypted; save it without a password"
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt("", "owner", algorithm="RC4-128")  # anybody may read it
    open_to_all = io.BytesIO()
    writer.write(open_to_all)
    assert [one.text for one in read_pdf()(of("pdf", open_to_all.getvalue()))] == ["One.", "Two."]


@given(st.integers(0, 900), st.binary(min_size=1, max_size=6))
@settings(max_examples=40)
def test_damaged_pdfs_are_read_or_refused(place: int, noise: bytes) -> None:
    data = pdf_of(["One."])
    damaged = data[:place] + noise + data[place + len(noise) :]
    try:
        [*read_pdf()(of("pdf", damaged))]
    except SourceError as error:
        assert error.source == "a.pdf"  # noqa: PT017


def test_pages_are_numbers_from_1() -> None:
    for given_pages in (0, True, "2"):
        with pytest.raises(ConfigurationError, match="pages_per_document is"):
            read_pdf(given_pages)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"\(0, 2\) is no range of pages"):
        read_pdf(ranges=[(0, 2)])


# --- libraries --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "reader", "kind", "data", "line"),
    [
        (
            "markdown_it",
            read_markdown(),
            "md",
            "# a",
            "pip install 'markdown-it-py>=4,<5' 'pyyaml>",
        ),
        ("yaml", read_markdown(), "md", "---\na: 1\n---\n", "# the extra markdown"),
        ("selectolax.lexbor", read_html(), "html", "<p>a", "pip install 'selectolax>=1,<2'"),
        ("trafilatura", read_html(main=True), "html", "<p>a", "# the extra html-main"),
        ("pypdf", read_pdf(), "pdf", "x", "pip install 'pypdf>=7,<8'  # the extra pdf"),
    ],
)
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, reader: Any, kind: str, data: str, line: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BackendNotInstalledError, match=re.escape(line)):
        [*reader(of(kind, data))]


# --- the way through --------------------------------------------------------------------------


def test_a_line_of_a_megabyte() -> None:
    line = "word [x](y) `z` " * 65_536
    for kind, data in (
        ("text", line),
        ("markdown", f"# T\n{line}"),
        ("html", f"<p>{line}"),
        ("json", json.dumps([line])),
        ("jsonl", json.dumps({"t": line[:500_000]})),
    ):
        found = [*chain(TokenSplitter(800, max_chunks=100_000))(read(of(kind, data)))]
        assert len(found) > 300


def test_docstrings_of_the_standard_library_come_through_every_reader() -> None:
    prose = [inspect.getdoc(import_module(name)) or "" for name in ("argparse", "decimal", "heapq")]
    prose = [one.encode("ascii", "ignore").decode() for one in prose] + [*TEXTS.values()][:4]
    markdown = "\n\n".join(f"# Part {place}\n\n```\n{one}\n```" for place, one in enumerate(prose))
    html = "".join(
        f"<h1>Part {place}</h1><pre>{one.replace('&', '&amp;').replace('<', '&lt;')}</pre>"
        for place, one in enumerate(prose)
    )
    for reader, source in (
        (read_markdown(), text_source("a", markdown, "markdown")),
        (read_html(), text_source("a", html, "html")),
        (read_json(), text_source("a", json.dumps(prose), "json")),
    ):
        found = [*reader(source)]
        assert len(found) == len(prose)
        for one, text in zip(found, prose, strict=True):
            assert text.strip() in one.text
            for piece in TokenSplitter(60).split(one):
                place = piece.metadata["chunk"]
                assert piece.text == one.text[place["start"] : place["end"]]
