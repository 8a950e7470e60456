"""What users of filter languages have reported, as far as reading text is concerned."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.clock import takes_less
from vecstore import F, FilterBuilder, FilterLimitError, FilterSyntaxError, FilterTypeError, parse


def refused(text: str) -> FilterSyntaxError:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text)
    return caught.value


def test_not_binds_tighter_than_and_and_or() -> None:
    # spring-projects/spring-ai#6818
    tree = parse("NOT country == 'BG' AND year >= 2020")
    assert tree == ~(F.country == "BG") & (F.year >= 2020)
    assert not tree.matches({"country": "BG", "year": 2019})
    assert not tree.matches({"country": "BG", "year": 2021})
    assert tree.matches({"country": "NL", "year": 2021})


def test_grouping_survives_the_text() -> None:
    # spring-projects/spring-ai#3577, #6543, #5408
    text = "(year >= 2020 OR country == 'BG') AND city != 'Sofia'"
    tree = parse(text)
    b = FilterBuilder()
    built = b.and_(b.or_(b.gte("year", 2020), b.eq("country", "BG")), b.ne("city", "Sofia"))
    assert tree == built.build()
    assert tree.to_text() == text
    assert not tree.matches({"country": "BG", "city": "Sofia"})
    assert not tree.matches({"year": 2021, "city": "Sofia"})
    assert tree.matches({"year": 2021})


@pytest.mark.parametrize(
    "key", "inventory android origin notes isbn nullable order trueish nin_x".split()
)
def test_keywords_are_whole_words(key: str) -> None:
    # spring-projects/spring-ai#4908
    assert parse(f"{key} == 1") == (F[key] == 1)
    assert parse(f"a.{key} == 1 and {key} in ['x']") == (F.a[key] == 1) & F[key].in_(["x"])


def test_a_key_of_two_words_is_quoted() -> None:
    error = refused("pin code == 1")
    assert error.hint == 'quote a key of several words: "pin code" == 1'
    assert parse('"pin code" == 1') == (F["pin code"] == 1)


def test_adjacent_strings_are_refused_and_escapes_undone() -> None:
    # spring-projects/spring-ai#5225
    assert "'y'" in refused("a == 'x' 'y'").message
    assert parse(r"a == 'it\'s'").value.value == "it's"
    assert parse(r'a == "say \"hi\""').value.value == 'say "hi"'
    assert parse(r"a == 'c:\\dir'").value.value == r"c:\dir"
    assert refused(r"a == 'c:\dir'").hint == r"write a backslash twice: a == 'c:\\dir'"


def test_a_comparison_with_null_says_is_null() -> None:
    # spring-projects/spring-ai#3694
    assert parse("meta IS NULL") == F.meta.is_null()
    for word in ("null", "NULL", "None"):
        assert refused(f"meta == {word}").hint == "write IS NULL: meta IS NULL"
        assert refused(f"meta != {word}").hint == "write IS NOT NULL: meta IS NOT NULL"
    with pytest.raises(FilterTypeError, match="IS NULL"):
        FilterBuilder().eq("meta", None)


def test_the_printed_form_of_a_filter_is_its_text() -> None:
    # spring-projects/spring-ai#3179
    tree = parse("a == 1 AND NOT b IN ['x']")
    assert parse(str(tree)) == tree
    with pytest.raises(TypeError, match="parsed already"):
        parse(tree)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000 + "a==1" + ")" * 100_000,
        "NOT " * 50_000 + "a==1",
        " AND ".join(["a==1"] * 50_000),
        "(" * 20_000 + "a==1" + ")" * 20_000,
        "NOT " * 16_000 + "a==1",
    ],
    ids=["parentheses", "nots", "ands", "short parentheses", "short nots"],
)
def test_nesting_and_length_are_refused_in_no_time(text: str) -> None:
    # opensearch-project/OpenSearch#22557
    def refuse() -> None:
        with pytest.raises(FilterLimitError):
            parse(text)

    assert takes_less(2, refuse)


def test_a_long_flat_chain_is_read() -> None:
    assert len(parse(" AND ".join(["a==1"] * 5_000)).operands) == 5_000


def test_what_looks_like_a_date_stays_a_string() -> None:
    # langchain-ai/langchain#15856
    tree = parse("d == '2024-01-05T00:00:00Z'")
    assert tree.value.value == "2024-01-05T00:00:00Z"
    assert tree.matches({"d": "2024-01-05T00:00:00Z"})
    assert parse("d == '2024-01-05'").matches({"d": "2024-01-05"})
    assert "DATE '2024-01-05'" in (refused("d == 2024-01-05").hint or "")


def test_timestamps_have_one_form() -> None:
    # deepset-ai/haystack#12246, #11962
    moment = datetime(2024, 1, 5, 12, tzinfo=UTC)
    for text in (
        "2024-01-05T12:00:00Z",
        "2024-01-05T12:00:00+00:00",
        "2024-01-05 12:00",
        "2024-01-05T14:00:00+02:00",
        "2024-01-05T12:00:00.000000",
    ):
        for sign, matches in {"==": True, ">=": True, "<=": True, "!=": False, ">": False}.items():
            tree = parse(f"d {sign} TIMESTAMP '{text}'")
            assert tree.matches({"d": moment}) is matches
            assert tree.matches({"d": moment.replace(tzinfo=None)}) is matches
        assert parse(f"d IN [TIMESTAMP '{text}']").matches({"d": moment})


def test_a_dotted_key_is_a_path_and_a_quoted_one_is_not() -> None:
    # langchain-ai/langchain-postgres#110
    path = parse("common.source == 'wiki'")
    name = parse("'common.source' == 'wiki'")
    assert path.matches({"common": {"source": "wiki"}})
    assert not path.matches({"common.source": "wiki"})
    assert name.matches({"common.source": "wiki"})
    assert not name.matches({"common": {"source": "wiki"}})
    assert parse("a.b.c == 1").matches({"a": {"b": {"c": 1}}})
    # qdrant/qdrant#3613
    assert parse("\"tb_9.6.1-1\" == 'x'").matches({"tb_9.6.1-1": "x"})
    # run-llama/llama_index#17025
    for key in "id content embedding score distance document_id".split():
        assert parse(f"{key} == 'x'").matches({key: "x"})


def test_an_empty_text_is_an_error() -> None:
    # spring-projects/spring-ai#1749
    for text in ("", " ", "\n\t\xa0"):
        assert "empty" in refused(text).message


def test_an_empty_list_matches_nothing_and_its_negation_everything() -> None:
    # redis/redis-vl-python#71
    for metadata in ({}, {"a": None}, {"a": 1}, {"a": []}, {"a": ["x"]}):
        for text in ("a IN []", "a in ()"):
            assert not parse(text).matches(metadata)
        for text in ("a NIN []", "a NOT IN ()"):
            assert parse(text).matches(metadata)


@pytest.mark.parametrize(
    "word", "LIKE ilike CONTAINS Matches startswith BETWEEN regexp XOR ~".split()
)
def test_what_is_not_part_of_the_language_is_named(word: str) -> None:
    # spring-projects/spring-ai#328
    text = f"a == 1 {word} b == 1" if word == "XOR" else f"a {word} 'x%'"
    assert f"{word.upper()} is not part of the filter language" in refused(text).message


def test_elements_of_lists_are_compared_as_wholes() -> None:
    # langchain4j/langchain4j#3455
    hint = refused("roles CONTAINS 'it'").hint
    assert hint == "if roles is a list, write: roles == 'it'"
    assert parse("roles == 'it'").matches({"roles": ["hr", "it"]})
    assert not parse("roles == 'it'").matches({"roles": ["audit"]})


def test_source_code_is_not_run() -> None:
    # CVE-2026-22738, CVE-2026-26030
    refused("().__class__.__mro__")
    tree = parse("\"__import__('os').system('touch pwned')\" == 1")
    assert not tree.matches({"a": 1})
    for source in (lambda document: True, b"a == 1"):
        with pytest.raises(TypeError, match="text of a filter"):
            parse(source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    ['x" || $.tenant == "t2', "evil.pdf' or '1'=='1", "C:\\docs\\", "line1\nline2\t\r", "\u2028猫", '"'],
)  # fmt: skip
def test_a_value_stays_one_value(value: str) -> None:
    # CVE-2026-22729, spring-projects/spring-ai#4545
    tree = (F.tenant == "t1") & (F.title == value)
    assert parse(tree.to_text()) == tree
    assert parse(tree.to_text()).operands[1].value.value == value


@pytest.mark.parametrize(
    "key", ['a"] == 1 or m["b', "a' OR 1=1 --", "a}) RETURN n //", "x:1 OR y", "$where", "a`b"]
)
def test_a_key_stays_one_key(key: str) -> None:
    # CVE-2026-40967
    tree = F[key] == 1
    assert parse(tree.to_text()) == tree
    assert parse(tree.to_text()).key.path == (key,)
