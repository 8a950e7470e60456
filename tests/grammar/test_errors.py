"""What errors say: the place, what was expected, and the corrected line."""

from __future__ import annotations

import pytest

from vecstore import FilterSyntaxError, Limits, parse
from vecstore.grammar.faults import Advice, Edit, Fault, syntax_error


def fault(text: str) -> FilterSyntaxError:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text)
    assert caught.value.span is not None
    assert caught.value.span.source == text
    return caught.value


# fmt: off
CORRECTED = [
    ('a == 1 adn b == 2', 7, 'did you mean AND?', 'a == 1 AND b == 2'),
    ('a == 1 nad b == 2', 7, 'did you mean AND?', 'a == 1 AND b == 2'),
    ('a == 1 & b == 2', 7, 'did you mean AND?', 'a == 1 AND b == 2'),
    ('a == 1 | b == 2', 7, 'did you mean OR?', 'a == 1 OR b == 2'),
    ('a == 1 and also b == 2', 11, 'leave also out', 'a == 1 and b == 2'),
    ('a == 1 or else b == 2', 10, 'leave else out', 'a == 1 or b == 2'),
    ('a == 1 orr b == 2', 7, 'did you mean OR?', 'a == 1 OR b == 2'),
    ('a == 1, b == 2', 6, 'did you mean AND?', 'a == 1 AND b == 2'),
    ('a == 1 ＡＮＤ b == 2', 7, 'did you mean AND?', 'a == 1 AND b == 2'),
    ('city == New York', 8, 'quote the string', "city == 'New York'"),
    ('city == New York AND a == 1', 8, 'quote the string', "city == 'New York' AND a == 1"),
    ('file == report.pdf', 8, 'quote the string', "file == 'report.pdf'"),
    ('name == foo-bar', 8, 'quote the string', "name == 'foo-bar'"),
    ("a == 'it's'", 9, 'escape the quote inside the string', "a == 'it\\'s'"),
    ("a == 'it's' AND b == 1", 9, 'escape the quote inside the string', "a == 'it\\'s' AND b == 1"),
    ("a == 'it''s'", 9, 'escape the quote with a backslash', "a == 'it\\'s'"),
    ("a IN ['it's', 'x']", 10, 'escape the quote inside the string', "a IN ['it\\'s', 'x']"),
    ("path == 'C:\\docs\\'", 8, 'write a backslash twice, since it escapes the quote', "path == 'C:\\\\docs\\\\'"),
    ('a == ‘x’ AND b == “y”', 5, 'use straight quotes', "a == 'x' AND b == 'y'"),
    ("a == “it's”", 5, 'use straight quotes', 'a == "it\'s"'),
    ('“odd key” == 1', 0, 'use straight quotes', '"odd key" == 1'),
    ('`a` == 1', 0, 'use straight quotes', '"a" == 1'),
    ('a == `x`', 5, 'use straight quotes', "a == 'x'"),
    ('a ≤ 1 ∧ b ≥ 2', 2, 'write <=', 'a <= 1 AND b >= 2'),
    ('a＝1', 1, 'write =', 'a=1'),
    ('a > −5', 4, 'write -', 'a > -5'),
    ('a == ١٢', 5, 'write 12', 'a == 12'),
    ('a == 5 AND\u200b b == 1', 10, 'delete it', 'a == 5 AND b == 1'),
    ("tags CONTAINS 'x'", 5, 'if tags is a list, write', "tags == 'x'"),
    ("tags NOT CONTAINS 'x'", 9, 'if tags is a list, write', "tags != 'x'"),
    ("a LIKE 'abc%'", 2, 'a prefix is a range', "a >= 'abc' AND a < 'abd'"),
    ("a LIKE 'abc'", 2, 'write ==', "a == 'abc'"),
    ('a BETWEEN 1 AND 5', 2, 'write two comparisons', 'a >= 1 AND a <= 5'),
    ('a NOT BETWEEN 1 AND 5', 6, 'write two comparisons', 'a < 1 OR a > 5'),
    ("a BETWEEN 'x' AND 'y' AND b == 1", 2, 'write two comparisons', "a >= 'x' AND a <= 'y' AND b == 1"),
    ('a === 1', 4, 'write ==', 'a == 1'),
    ('a !== 1', 4, 'write !=', 'a != 1'),
    ('a => 1', 3, 'write >=', 'a >= 1'),
    ('a =< 1', 3, 'write <=', 'a <= 1'),
    ('a =! 1', 3, 'write !=', 'a != 1'),
    ('a ! = 1', 2, 'write !=', 'a != 1'),
    ('in == 1', 0, 'quote the key', '"in" == 1'),
    ('order == 1 AND is == 2', 15, 'quote the key', 'order == 1 AND "is" == 2'),
    ('a.in == 1', 2, 'quote it', 'a."in" == 1'),
    ('not == 1', 4, 'quote the key', '"not" == 1'),
    ('NOT not == 1', 8, 'quote the key', 'NOT "not" == 1'),
    ('a IN 1, 2', 6, 'several values stand in a list', 'a IN [1, 2]'),
    ('a == 1, 2', 6, 'several values stand in a list', 'a IN [1, 2]'),
    ('a IN 1', 5, 'write IN', 'a IN [1]'),
    ('a == 1 OR 2', 10, 'several values stand in a list', 'a IN [1, 2]'),
    ("a == 'x' OR 'y'", 15, 'several values stand in a list', "a IN ['x', 'y']"),
    ('5 > a', 0, 'the key stands on the left', 'a < 5'),
    ('1 <= a <= 5', 0, 'write two comparisons', 'a >= 1 AND a <= 5'),
    ('a > 1 < 5', 6, 'write the key again', 'a > 1 AND a < 5'),
    ('1 == a', 0, 'the key stands on the left', 'a == 1'),
    ('1 == in', 0, 'the key stands on the left', '"in" == 1'),
    ('5 < a.Or', 0, 'the key stands on the left', 'a."Or" > 5'),
    ('1 == "in".is', 0, 'the key stands on the left', '"in"."is" == 1'),
    ('1 < in < 5', 0, 'write two comparisons', '"in" > 1 AND "in" < 5'),
    ("'BG' == country", 8, 'the key stands on the left', "country == 'BG'"),
    ('a == 5.L', 7, 'leave it out', 'a == 5.0'),
    ('a == 1.5L', 8, 'leave it out', 'a == 1.5'),
    ('a == 0xFF', 6, 'write it in decimal', 'a == 255'),
    ('a == 1_000', 6, 'write', 'a == 1000'),
    ('a == 1e', 6, 'write', 'a == 1e0'),
    ('a == 5kg', 6, 'quote the string', "a == '5kg'"),
    ('a == 1.2.3', 8, 'quote the string', "a == '1.2.3'"),
    ('a == 10.0.0.1', 9, 'quote the string', "a == '10.0.0.1'"),
    ('a == 550e8400-e29b-41d4-a716-446655440000', 13, 'quote the string', "a == '550e8400-e29b-41d4-a716-446655440000'"),
    ('a == 1 # c', 7, 'leave it out', 'a == 1'),
    ('a == 1 // c', 7, 'leave it out', 'a == 1'),
    ('a == 1 /* c */', 7, 'leave it out', 'a == 1'),
    ('a == 1;', 6, 'leave it out', 'a == 1'),
    ('a.0 == 1', 1, 'for a key inside an object, write', 'a."0" == 1'),
    ('a[0] == 1', 1, 'any element is compared by the key of the list', 'a == 1'),
    ('a["b"] == 1', 1, 'write a dot', 'a."b" == 1'),
    ("meta['some key'].x == 1", 4, 'write a dot', 'meta."some key".x == 1'),
    ('a->b == 1', 1, 'write a dot between the parts of a key', 'a.b == 1'),
    ("a->>'b' == 1", 1, 'write a dot between the parts of a key', "a.'b' == 1"),
    ('d > 2024-01-01', 4, 'write DATE', "d > DATE '2024-01-01'"),
    ('d > 2024-1-1 AND a == 1', 4, 'write DATE', "d > DATE '2024-01-01' AND a == 1"),
    ('d > 2024-01-01T00:00:00Z', 4, 'write TIMESTAMP', "d > TIMESTAMP '2024-01-01T00:00:00Z'"),
    ('d > 2024-01-01 10:00:00', 4, 'write TIMESTAMP', "d > TIMESTAMP '2024-01-01 10:00:00'"),
    ('d > DATE 2024-01-01', 9, 'quote it', "d > DATE '2024-01-01'"),
    ('d == date', 9, 'quote the string', "d == 'date'"),
    ('d == DATE', 9, 'quote the string', "d == 'DATE'"),
    ('d IN [2024-01-01, 2024-01-02]', 6, 'write DATE', "d IN [DATE '2024-01-01', DATE '2024-01-02']"),
    ('a $ne 1', 2, 'write !=', 'a != 1'),
    ('a $in [1]', 2, 'write IN', 'a IN [1]'),
    ('$and == 1', 0, 'quote the key', '"$and" == 1'),
    ('a == None', 5, 'write IS NULL', 'a IS NULL'),
    ('a != None', 5, 'write IS NOT NULL', 'a IS NOT NULL'),
    ('a IS None', 5, 'write NULL', 'a IS NULL'),
    ("a IS 'x'", 5, 'write ==', "a == 'x'"),
    ('a IS NOT 5', 9, 'write !=', 'a != 5'),
    ('a IS true', 5, 'write ==', 'a == true'),
    ('a IS NOT IN [1]', 9, 'write NOT IN', 'a NOT IN [1]'),
    ('a NOT == 1', 6, 'write !=', 'a != 1'),
    ('a NOT NULL', 6, 'write IS NOT NULL', 'a IS NOT NULL'),
    ('a NOT [1]', 6, 'write NOT IN', 'a NOT IN [1]'),
    ('a: 1', 1, 'did you mean ==?', 'a == 1'),
    ('a := 1', 2, 'did you mean ==?', 'a == 1'),
    ('a eq 1', 2, 'write ==', 'a == 1'),
    ('a is_null', 2, 'write IS NULL', 'a IS NULL'),
    ('a not_in [1]', 2, 'write NOT IN', 'a NOT IN [1]'),
    ('exists a', 0, 'write IS NOT NULL', 'a IS NOT NULL'),
    ('exists(a)', 6, 'write IS NOT NULL', 'a IS NOT NULL'),
    ("contains(tags, 'x')", 8, '== is true of a list that holds the value', "tags == 'x'"),
    ('(a == 1', 7, 'close it', '(a == 1)'),
    ('((a == 1 AND b == 2)', 20, 'close it', '((a == 1 AND b == 2))'),
    ('a IN [1, 2', 10, 'close it', 'a IN [1, 2]'),
    ('a IN [1, 2 AND b == 1', 11, 'close the list', 'a IN [1, 2] AND b == 1'),
    ('a IN (1, 2]', 10, 'write', 'a IN (1, 2)'),
    ('a IN [1,,2]', 8, 'leave this comma out', 'a IN [1,2]'),
    ('a IN [1, 2,]', 11, 'leave the last comma out', 'a IN [1, 2]'),
    ('a == (1)', 5, 'write the value alone', 'a == 1'),
    ("a == ('x', 'y')", 5, 'write IN', "a IN ('x', 'y')"),
    ('a IN [[1, 2]]', 6, 'write one list', 'a IN [1, 2]'),
    ('a == 1]', 6, 'leave it out', 'a == 1'),
    ('a == 1) AND b == 2', 6, 'leave it out', 'a == 1 AND b == 2'),
    ('a == 1 AND', 10, 'add a condition, or leave AND out', 'a == 1'),
    ('a == 1 AND OR b == 2', 11, 'leave OR out', 'a == 1 AND b == 2'),
    ('OR a == 1', 0, 'leave OR out', 'a == 1'),
    ('a AND b == 1', 2, 'to test a bool, write', 'a == true AND b == 1'),
    ('a', 1, 'compare it with something', "a == 'value'"),
    ('NOT a', 5, 'compare it with something', "a == 'value'"),
    ('(a)', 2, 'to test a bool, write', '(a == true)'),
    ("a == 'x' 'y'", 9, 'several values stand in a list', "a IN ['x', 'y']"),
    ("a == 'x' b == 1", 9, 'did you mean AND?', "a == 'x' AND b == 1"),
    ('a == 1 NOT b == 2', 7, 'did you mean AND?', 'a == 1 AND NOT b == 2'),
    ('a == 1 (b == 2)', 7, 'did you mean AND?', 'a == 1 AND (b == 2)'),
    ('a b == 1', 2, 'quote a key of several words', '"a b" == 1'),
    ("first name == 'x'", 6, 'quote a key of several words', '"first name" == \'x\''),
    ("first-name == 'x'", 5, 'quote the key', '"first-name" == \'x\''),
    ("first-1 == 'x'", 5, 'quote the key', '"first-1" == \'x\''),
    ('a² == 1', 1, 'quote the key', '"a²" == 1'),
    ("e-mail IN ['x']", 1, 'quote the key', '"e-mail" IN [\'x\']'),
    ('country BG', 8, 'did you mean', "country == 'BG'"),
    ('a 1', 2, 'did you mean', 'a == 1'),
    ("a 'x'", 2, 'did you mean', "a == 'x'"),
    ("a == \\'x\\'", 5, 'quotes need no backslash here', "a == 'x'"),
    ('a == b', 5, 'quote the string', "a == 'b'"),
    ('a == b.c', 5, 'quote the string', "a == 'b.c'"),
    ('a > b', 4, 'quote the string', "a > 'b'"),
    ('a IN [b, c]', 6, 'quote the string', "a IN ['b', 'c']"),
    ('a IN b', 5, 'quote the string', "a IN ['b']"),
    ('a == yes', 5, 'quote the string', "a == 'yes'"),
    ('a == 50%', 7, 'quote the string', "a == '50%'"),
    ('a == 5 apples', 7, 'quote the string', "a == '5 apples'"),
    ('a == OR', 5, 'quote the string', "a == 'OR'"),
    ('.a == 1', 0, 'leave the dot out', 'a == 1'),
    ('a. == 1', 3, 'leave the dot out', 'a == 1'),
    ('a..b == 1', 2, 'leave the dot out', 'a.b == 1'),
    ("a == 'x\\qy'", 7, 'write a backslash twice', "a == 'x\\\\qy'"),
    ("a == '\\x41'", 6, 'write \\u0041', "a == '\\u0041'"),
    ("a == '\\ud83d\\ude00'", 6, 'write the whole character as \\U', "a == '\\U0001F600'"),
    ("d == DATE '2024-1-1'", 5, 'write YYYY-MM-DD', "d == DATE '2024-01-01'"),
    ("d == DATE '20240101'", 5, 'write YYYY-MM-DD', "d == DATE '2024-01-01'"),
    ("d == DATE '2024-01-01T00:00:00Z'", 5, 'write TIMESTAMP', "d == TIMESTAMP '2024-01-01T00:00:00Z'"),
    ("d == TIMESTAMP '2024-01-01T00:00:00.1234567Z'", 5, 'cut it to microseconds', "d == TIMESTAMP '2024-01-01T00:00:00.123456Z'"),
    ('a > [5]', 4, 'compare with one number or string', 'a > 5'),
    ("a > 'x' > 'y'", 8, 'write the key again', "a > 'x' AND a > 'y'"),
    ('a == [1, 2]', 5, 'write IN', 'a IN [1, 2]'),
    ('a != [1]', 5, 'write NOT IN', 'a NOT IN [1]'),
    ("a == 'x", 5, 'close the string', "a == 'x'"),
    ('a == "x\'', 5, 'use the same quote on both sides', "a == 'x'"),
    ("a == 'x AND b == 1", 5, 'close the string', "a == 'x' AND b == 1"),
    ("a IN ['x, 'y']", 11, 'close the string', "a IN ['x', 'y']"),
    ('a == "say "hi""', 11, 'escape the quotes inside the string', 'a == "say \\"hi\\""'),
    ('a == 1 AN b == 2', 7, 'did you mean AND?', 'a == 1 AND b == 2'),
    ('a IN {1, 2}', 5, 'write brackets', 'a IN [1, 2]'),
    ('a nto in [1]', 2, 'did you mean NOT?', 'a NOT in [1]'),
    ('a == 1 && || b == 2', 10, 'leave || out', 'a == 1 && b == 2'),
    ('a ISNULL', 2, 'write IS NULL', 'a IS NULL'),
    ('a == --5', 6, 'write one sign', 'a == -5'),
    ('a == - 5', 5, 'write', 'a == -5'),
    ('NOT a BETWEEN 1 AND 5', 6, 'write two comparisons', 'NOT (a >= 1 AND a <= 5)'),
    ('b == 1 AND a NOT BETWEEN 1 AND 5', 17, 'write two comparisons', 'b == 1 AND (a < 1 OR a > 5)'),
    ("NOT a LIKE 'x%'", 6, 'a prefix is a range', "NOT (a >= 'x' AND a < 'y')"),
    ("d BETWEEN DATE '2024-01-01' AND DATE '2024-02-01' OR x == 1", 2, 'write two comparisons', "d >= DATE '2024-01-01' AND d <= DATE '2024-02-01' OR x == 1"),
    ('NOT 1 <= a <= 5', 4, 'write two comparisons', 'NOT (a >= 1 AND a <= 5)'),
    ('NOT a > 1 < 5', 10, 'write the key again', 'NOT (a > 1 AND a < 5)'),
    ('a ＝＝ ‘x’', 2, 'write ==', "a == 'x'"),
    ("a NOT LIKE 'abc%'", 6, 'a prefix is a range', "NOT (a >= 'abc' AND a < 'abd')"),
    ('{"a": 1}', 0, 'write key, operator and value', 'a == 1'),
    ('a hot [1]', 2, 'did you mean NOT?', 'a NOT IN [1]'),
    ('SELECT * FROM x WHERE a == 1', 0, 'keep what stands after WHERE', 'a == 1'),
    ('year ge 2020', 5, 'write >=', 'year >= 2020'),
    ("year ge 2020 and country eq BG", 5, 'write >=', "year >= 2020 and country == 'BG'"),
    ('a gt 1 or b lte 2 or c ne 3', 2, 'write >', 'a > 1 or b <= 2 or c != 3'),
    ("title contains foo", 6, 'if title is a list, write', "title == 'foo'"),
    ("a HAS 'x' AND b HAS 'y'", 2, 'if a is a list, write', "a == 'x' AND b == 'y'"),
    ("tags OVERLAPS ['a', 'b']", 5, 'if tags is a list, write', "tags IN ['a', 'b']"),
    ("'x' = ANY(tags)", 6, '== is true of a list that holds the value', "tags == 'x'"),
    ("'x' NOT IN tags", 11, '!= is true of a list that does not hold it', "tags != 'x'"),
    ("name STARTSWITH 'Ab'", 5, 'a prefix is a range', "name >= 'Ab' AND name < 'Ac'"),
    ("name.startsWith('Ab') && a == 1", 15, 'a prefix is a range', "name >= 'Ab' AND name < 'Ac' && a == 1"),
    ("NOT a BETWEEN 1 AND 5 OR b NOT BETWEEN 1 AND 5", 6, 'write two comparisons', 'NOT (a >= 1 AND a <= 5) OR (b < 1 OR b > 5)'),
    ('a BETWEEN (1, 5)', 2, 'write two comparisons', 'a >= 1 AND a <= 5'),
    ('x EXISTS AND y NOT EXISTS', 2, 'write IS NOT NULL', 'x IS NOT NULL AND y IS NULL'),
    ('isnull(a)', 6, 'write IS NULL', 'a IS NULL'),
    ('a==1&b==2', 4, 'did you mean AND?', 'a==1 AND b==2'),
    ('a == 1; b == 2', 6, 'did you mean AND?', 'a == 1 AND b == 2'),
    ('a == 1 /* c */ AND b == 2', 7, 'leave it out', 'a == 1 AND b == 2'),
    ('{"a": {"$gte": 1, "$lt": 5}, "b": \'x\'}', 0, 'write key, operator and value', "a >= 1 AND a < 5 AND b == 'x'"),
    ('a: {$in: [1, 2]}', 1, 'write IN', 'a IN [1, 2]'),
    ('title:foo AND year:2020', 5, 'did you mean ==?', "title == 'foo' AND year == 2020"),
    ('year:[2000 TO 2010]', 4, 'write two comparisons', 'year >= 2000 AND year <= 2010'),
    ('$.tenant == 1', 0, 'leave $. out', 'tenant == 1'),
    ("metadata['x'] == 1", 8, 'leave metadata out', 'x == 1'),
    ("metadata.get('page no') == 1", 12, 'write the key alone', '"page no" == 1'),
    ("and(eq('a', 1), gt('b', 2))", 0, 'write and between the conditions', '(a == 1 and b > 2)'),
    ("tags.contains('x')", 13, '== is true of a list that holds the value', "tags == 'x'"),
    ("a == x'", 5, 'quote the string', "a == 'x'"),
    ("a IN ['x', 'y", 11, 'close the string', "a IN ['x', 'y']"),
    ("(a == b", 6, 'quote the string', "(a == 'b')"),
    ("a == '''x'''", 7, 'one quote on each side is enough', "a == 'x'"),
    ("a == u'x'", 5, 'write the string alone', "a == 'x'"),
    ("1=1 AND a == 2", 0, 'leave it out', 'a == 2'),
    ('a > 1 OR < 0', 9, 'write the key again', 'a > 1 OR a < 0'),
    ('a IS == 5', 5, 'leave IS out', 'a == 5'),
    ('a ==', 4, 'add a value', "a == 'value'"),
    ('a NOT IN', 8, 'add a list', "a NOT IN ['value']"),
    ('a IS', 4, 'write', 'a IS NULL'),
    ('b == 1 AND a == 1 OR 2', 21, 'several values stand in a list', 'b == 1 AND a IN [1, 2]'),
    ('a != 1 AND 2', 11, 'several values stand in a list', 'a NOT IN [1, 2]'),
    ('a > 1 OR 2', 9, 'write the key again', 'a > 1 OR a > 2'),
    ("NOT a == 'x' OR 'y'", 19, 'several values stand in a list', "NOT a IN ['x', 'y']"),
    ("a == 'x' OR 'y' OR 'z'", 16, 'several values stand in a list', "a IN ['x', 'y', 'z']"),
    ('a == 1 OR 2 OR 3', 10, 'several values stand in a list', 'a IN [1, 2, 3]'),
    ('true == a', 0, 'the key stands on the left', 'a == true'),
    ('true == 1', 0, 'quote the key', '"true" == 1'),
    ('t > 10:30', 6, 'quote the string', "t > '10:30'"),
    ('d == 01/02/2024', 7, 'quote the string', "d == '01/02/2024'"),
    ('a == empty', 5, 'quote the string', "a == 'empty'"),
    ('a IS EMPTY', 5, 'write NULL', 'a IS NULL'),
    ('WHERE == 1', 6, 'quote the key', '"WHERE" == 1'),
    ('a.b.c', 5, 'compare it with something', "a.b.c == 'value'"),
]
TOLD = [
    ("title CONTAINS 'foo' AND b == 1 c == 2", 6, 'CONTAINS is not part of the filter language: == matches an element of a list, and nothing looks into strings', "if title is a list, write: title == 'foo'"),
    ("tags CONTAINS ALL ['x']", 5, 'CONTAINS is not part of the filter language: == matches an element of a list, and nothing looks into strings', "write key == 'element'"),
    ('{"op": "eq", "key": "a", "value": 1}', 0, 'a filter text does not start with {', 'for the dict form, use Expression.from_dict(...)'),
    ("a ENDS WITH 'x'", 2, 'ENDS WITH is not part of the filter language: there is no pattern matching', 'compare with ==, IN or a range, and match patterns on the results'),
    ('a == 1; DROP TABLE x', 6, '; ends nothing here: a filter is one condition', None),
    ('a == $key', 5, 'a filter text has no placeholders such as $key', 'build the filter in Python, where values need no quoting: F.key == value'),
    ('1 == 1', 0, 'expected a key, NOT or "(", not the number 1: a value is compared with no other value', 'a filter that selects everything is no filter: pass None'),
    ("a LIKE '%abc%'", 2, 'LIKE is not part of the filter language: there is no pattern matching', 'compare with ==, IN or a range, and match patterns on the results'),
    ("a ~ 'x'", 2, '~ is not part of the filter language: there is no pattern matching', 'compare with ==, IN or a range, and match patterns on the results'),
    ("a =~ 'x'", 3, '~ is not part of the filter language: there is no pattern matching', 'compare with ==, IN or a range, and match patterns on the results'),
    ("a !~ 'x'", 2, '!~ is not part of the filter language: there is no pattern matching', 'compare with ==, IN or a range, and match patterns on the results'),
    ('a > NULL', 4, 'NULL is no value to compare with: absence has a test of its own', 'write IS NULL or IS NOT NULL'),
    ('a IN [1, NULL]', 9, 'a list on the right of IN cannot hold NULL', 'add OR ... IS NULL to the filter instead'),
    ('a == ?', 5, 'a filter text has no placeholders such as ?', 'build the filter in Python, where values need no quoting: F.key == value'),
    ('a == :x', 5, 'a filter text has no placeholders such as :x', 'build the filter in Python, where values need no quoting: F.key == value'),
    ('a == %s', 5, 'a filter text has no placeholders such as %s', 'build the filter in Python, where values need no quoting: F.key == value'),
    ('a == {x}', 5, 'a filter text has no placeholders such as {x}', 'build the filter in Python, where values need no quoting: F.key == value'),
    ('a == $1', 5, 'a filter text has no placeholders such as $1', 'build the filter in Python, where values need no quoting: F.key == value'),
    ('d > now()', 4, 'there are no functions in a filter: now( cannot be called', "write the value itself, such as 'text', 5 or TIMESTAMP '2024-01-31T09:30:00Z'"),
    ('true', 0, 'expected a key, NOT or "(", not "true"', 'a filter that selects everything is no filter: pass None'),
    ('a == 1 ORDER BY b', 7, 'ORDER is not part of the filter language: a filter only selects', 'limits and orders are arguments of the search'),
    ('a == 1 LIMIT 5', 7, 'LIMIT is not part of the filter language: a filter only selects', 'limits and orders are arguments of the search'),
    ('a == 1 + 2', 7, 'expected AND, OR or the end, not the character +; a filter does no arithmetic', 'compute the value before you write it into the filter'),
    ('a == 1 * 2', 7, 'expected AND, OR or the end, not the character *; a filter does no arithmetic', 'compute the value before you write it into the filter'),
    ('a + 1 == 2', 2, 'expected an operator (==, !=, <, <=, >, >=, IN, NOT IN, IS NULL), not the character +; a filter does no arithmetic', 'compute the value before you write it into the filter'),
    ('a * 2 == 2', 2, 'expected an operator (==, !=, <, <=, >, >=, IN, NOT IN, IS NULL), not the character *; a filter does no arithmetic', 'compute the value before you write it into the filter'),
    ('a == and b == 1', 5, 'expected a value, not "and"', None),
    ("a == '\\u12'", 6, 'the escape \\u takes 4 hexadecimal digits, not 2', 'fill up with zeros: \\u0012'),
    ("a == '\\U00110000'", 6, 'the escape \\U00110000 is beyond the last Unicode character', 'the last one is \\U0010FFFF'),
    ("d == TIMESTAMP '0001-01-01T00:00:00+14:00'", 5, 'the timestamp leaves the years 1 to 9999 when expressed in UTC', 'store a timestamp inside that range'),
    ('a == 1 IMPLIES b == 2', 7, 'expected AND, OR or the end, not "IMPLIES"', None),
    ("'' == 1", 0, 'an empty key cannot be used', 'give the key a name'),
    ("a.'' == 1", 2, 'an empty key cannot be used', 'give the key a name'),
    ('__vecstore_id == 1', 0, 'keys that start with __vecstore are reserved for the library', 'rename the key'),
    ('a iz null', 2, 'expected an operator (==, !=, <, <=, >, >=, IN, NOT IN, IS NULL), not "iz"', None),
    ('a == @x', 5, 'a filter text has no placeholders such as @x', 'build the filter in Python, where values need no quoting: F.key == value'),
    ('where where a == 1', 6, 'expected a key, NOT or "(", not "where"', None),
    ('a == 1 WHERE b == 2', 7, 'expected AND, OR or the end, not "WHERE"', None),
    ('a == -', 5, 'a sign and its number stand together', None),
    ('a == +x', 6, 'a number needs digits after its sign, not x', None),
    ('a == 1 - 1', 7, 'expected AND, OR or the end, not the character -; a filter does no arithmetic', 'compute the value before you write it into the filter'),
    ('a == 1 -1', 7, 'expected AND, OR or the end, not the number -1; a filter does no arithmetic', 'compute the value before you write it into the filter'),
    ('a -1 == 2', 2, 'expected an operator (==, !=, <, <=, >, >=, IN, NOT IN, IS NULL), not the number -1; a filter does no arithmetic', 'compute the value before you write it into the filter'),
    ('a != 1 OR 2', 10, 'expected a key, NOT or "(", not the number 2', None),
    ('a == 1 AND OR !b', 11, 'expected a key, NOT or "(", not "OR"', None),
    ("a == 'x'-1", 8, 'expected AND, OR or the end, not the number -1; a filter does no arithmetic', 'compute the value before you write it into the filter'),
    ('a == 1/2', 6, 'expected AND, OR or the end, not the character /; a filter does no arithmetic', 'compute the value before you write it into the filter'),
    ('a == 5\\x', 6, 'a backslash outside a string', None),
    ('a = 1 and = 2', 10, 'expected a key, NOT or "(", not "="', None),
    ('a == 1 ) (', 7, 'expected AND, OR or the end, not ")": there is no "(" for it', None),
    ('a IN []  []', 9, 'expected AND, OR or the end, not "["', None),
    ('a == 1 AND (', 12, 'unexpected end of the filter: expected a key, NOT or "("', None),
    ("'it's' == 1", 4, 'expected an operator (==, !=, <, <=, >, >=, IN, NOT IN, IS NULL), not "s"', None),
    ('delete from x', 0, 'DELETE begins a statement: a filter is its condition alone', 'keep what stands after WHERE'),
]
# fmt: on


@pytest.mark.parametrize(("text", "at", "lead", "corrected"), CORRECTED)
def test_the_corrected_line_is_shown(text: str, at: int, lead: str, corrected: str) -> None:
    error = fault(text)
    assert error.span.start == at
    joint = "" if lead.endswith("?") else ":"
    assert error.hint == f"{lead}{joint} {corrected}"
    parse(corrected)


@pytest.mark.parametrize(("text", "at", "message", "hint"), TOLD)
def test_what_is_wrong_is_told(text: str, at: int, message: str, hint: str | None) -> None:
    error = fault(text)
    assert (error.span.start, error.message, error.hint) == (at, message, hint)


def printed(text: str) -> str:
    return str(fault(text))


def test_printed_form() -> None:
    assert printed("country == BG") == (
        "BG is not a value: strings are quoted\n"
        "  line 1, column 12\n"
        "    country == BG\n"
        "               ^^\n"
        "hint: quote the string: country == 'BG'"
    )


def test_printed_form_of_one_line_among_others() -> None:
    text = "year >= 2020\n  AND country = = 'BG'\n  AND city == 'Sofia'\n"
    assert printed(text) == (
        "expected a value, not = after =\n"
        "  line 2, column 17\n"
        "      AND country = = 'BG'\n"
        "                    ^\n"
        "hint: write ==: AND country == 'BG'"
    )
    error = fault(text)
    assert (error.line, error.column) == (2, 17)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the filter is empty"),
        ("\n\t ", "the filter is empty"),
        ("a ?", "an operator (==, !=, <, <=, >, >=, IN, NOT IN, IS NULL)"),
        ("a ==", "a value"),
        ("a IN", "a list of values"),
        ("a IN [", 'a value or "]"'),
        ("a IN (", 'a value or ")"'),
        ("a IN (1", '"," or ")"'),
        ("a IN [1", '"," or "]"'),
        ("a IN [1, *", "another value"),
        ("a IS", "NULL or NOT NULL"),
        ("a IS NOT", "expected NULL"),
        ("a NOT", "expected IN"),
        ("a == DATE", "a string"),
        ("a.", "the next part of the key"),
        ("NOT", 'a key, NOT or "("'),
        ("a == 1 @", "AND, OR or the end"),
        ("(a == 1 @", 'AND, OR or ")"'),
        ("WHERE", 'a key, NOT or "("'),
    ],
)
def test_what_was_expected_is_said_in_words_of_the_language(text: str, expected: str) -> None:
    assert expected in fault(text).message


def test_the_end_is_the_length_of_the_text() -> None:
    for text in ("a ==", "a == ", "a ==\n\n", "NOT   ", " ", "("):
        span = fault(text).span
        assert (span.start, span.end) == (len(text), len(text))


def test_an_error_inside_a_huge_text_is_small() -> None:
    filler = " AND ".join(["some_key == 'some value'"] * 1_500)
    for fault_text in (
        "b == c",
        "b == 'x",
        "b ==",
        "b == 1 c == 2",
        "b ≤ 1",
        "b == 5" + "x" * 9_000,
    ):
        for text in (f"{fault_text} AND {filler}", f"{filler} AND {fault_text}"):
            error = fault(text)
            assert len(str(error)) < 600
            assert error.hint is None or len(error.hint) < 200


@pytest.mark.parametrize(
    "text",
    [
        "a == 1 \x1b[31m",
        "\x1b]0;x\x07 == 1",
        "a == b\x1b[2J",
        "a == 'x' \x9b5n",
        "\ud800 == 1",
        "a == 1 \u202e b",
        "a == 1 '\x1b[2J'",
        "a == 'x\x1b' 'y'",
        "d == DATE '\x1b'",
        "d == TIMESTAMP '\u202e'",
        "a == '\\\x1b'",
    ],
)
def test_errors_do_not_act_on_a_terminal(text: str) -> None:
    error = printed(text)
    assert all(character.isprintable() or character == "\n" for character in error), repr(error)
    error.encode("utf-8")


@pytest.mark.parametrize("text", ["2024-01", "2024-2-30", "20240230", "2024-13-1", "0000-1-1"])
def test_no_day_is_proposed_that_there_is_not(text: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(f"d == DATE '{text}' AND a == 1")
    assert caught.value.hint == "write YYYY-MM-DD: DATE '2024-01-31'"


@pytest.mark.parametrize("constant", ["true", "False", "NULL"])
def test_a_constant_on_the_right_is_not_taken_for_the_key(constant: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(f"1 == {constant}")
    assert "left" not in str(caught.value.hint)


ADVICE = (
    Advice("change both", "b", (Edit(0, 1, "b"), Edit(5, 6, "2"))),
    Advice("change one", "2", (Edit(5, 6, "2"),)),
    Advice("do something"),
)


def hint_of(text: str, readable: str, *advice: Advice, wrong_at: int = 99) -> str | None:
    def fault_of(corrected: str, places: object) -> Fault | None:
        return None if corrected == readable else Fault("unreadable", wrong_at, wrong_at)

    return syntax_error(text, Fault("wrong", 5, 6, *advice), fault_of).hint


def test_a_whole_line_is_shown_only_when_it_can_be_read() -> None:
    assert hint_of("a == 1", "b == 2", *ADVICE) == "change both: b == 2"
    assert hint_of("a == 1", "a == 2", *ADVICE) == "change one: a == 2"
    assert hint_of("a == 1 x", "", *ADVICE) == "change both: b"
    assert hint_of("a == 1", "", *ADVICE[2:]) == "do something"
    assert hint_of("a == 1", "") is None
    silent = Advice("change it", "", (Edit(0, 1, "b"),))
    assert hint_of("a == 1", "", silent) is None
    assert hint_of("a == 1", "b == 1", Advice("right?", "b", (Edit(0, 1, "b"),))) == "right? b == 1"
    assert hint_of("a == 1 x", "", Advice("right?", "b", (Edit(0, 1, "b"),))) == "right?"
    assert hint_of("a == 1 x", "", Advice("write b", "b", (Edit(0, 1, "b"),))) == "write b"


def test_no_piece_is_shown_that_is_itself_at_fault() -> None:
    for wrong_at in (0, 5, 6):
        assert hint_of("a == 1", "", *ADVICE, wrong_at=wrong_at) == "do something"
        assert hint_of("a == 1", "", *ADVICE[:2], wrong_at=wrong_at) is None


def test_no_line_is_shown_that_is_long_or_acts_on_a_terminal() -> None:
    advice = Advice("change one", "2", (Edit(5, 6, "2"),))
    for rest in (" " * 200 + "x", "\x1b[31m", "\u202e"):
        assert hint_of("a == 1" + rest, "a == 2" + rest, advice) == "change one: 2"
    # Of several lines, the one that was corrected is shown.
    assert hint_of("a == 1\n AND\x1b", "a == 2\n AND\x1b", advice) == "change one: a == 2"
    noisy = Advice("change one", "\x1b", (Edit(5, 6, "\x1b"),))
    assert hint_of("a == 1", "a == \x1b", noisy) is None


def test_the_same_correction_is_made_as_often_as_it_takes() -> None:
    assert fault("a == b AND c == d OR e IN [f, g]").hint == (
        "quote the string: a == 'b' AND c == 'd' OR e IN ['f', 'g']"
    )
    assert fault("a == b AND c == 1 d == 2").hint == "quote the string: 'b'"


def test_a_correction_past_the_limits_is_not_shown_as_a_line() -> None:
    text = "(" * 70 + "a == b" + ")" * 70
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text, limits=None)
    assert caught.value.hint == "quote the string: 'b'"


def test_a_correction_past_the_limits_of_the_reader_is_not_shown() -> None:
    text = "x == 1 AND a NOT BETWEEN 1 AND 5"
    assert fault(text).hint == "write two comparisons: x == 1 AND (a < 1 OR a > 5)"
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text, limits=Limits(nesting=0))
    assert caught.value.hint == "write two comparisons: key < 1 OR key > 5"
