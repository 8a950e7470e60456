"""The hints: what is written in the place of something else, and how it is put right.

The first row that fits decides. Every correction is read again before it is shown, so a row
may be bold: what cannot be read, or would be read as something else, is left out.
"""

from __future__ import annotations

from vecstore.grammar.explain.rows import Way, row
from vecstore.grammar.explain.scene import Place

ANYWHERE = tuple(Place)
CONDITION, SEGMENT, OPERATOR = (Place.CONDITION,), (Place.SEGMENT,), (Place.OPERATOR,)
IN_WORD, NULL_OR_NOT, NULL_WORD = (Place.IN_WORD,), (Place.NULL_OR_NOT,), (Place.NULL_WORD,)
VALUE, CHOICES, DATED = (Place.VALUE,), (Place.CHOICES,), (Place.DATED,)
FIRST_ITEM, ITEM, AFTER_ITEM = (Place.FIRST_ITEM,), (Place.ITEM,), (Place.AFTER_ITEM,)
JOINT_INSIDE = (Place.JOINT_INSIDE,)
JOINTS = (Place.JOINT, Place.JOINT_INSIDE)
NULLS = NULL_OR_NOT + NULL_WORD
ITEMS = FIRST_ITEM + ITEM
VALUES = VALUE + CHOICES + ITEMS
AFTER_KEY = OPERATOR + IN_WORD
AFTER_VALUE = JOINTS + AFTER_ITEM

EXPECTED = "{expected}"
FOREIGN = "{w:upper} is not part of the filter language"
FOREIGN_AS_WRITTEN = "{w} is not part of the filter language"
NO_PATTERNS = f"{FOREIGN}: there is no pattern matching"
NO_PART = f"{FOREIGN}: == matches an element of a list, and nothing looks into strings"
NO_FUNCTIONS = "there are no functions in a filter: {w}( cannot be called"
NO_ARITHMETIC = f"{EXPECTED}; a filter does no arithmetic"
NO_POSITIONS = (
    "the elements of a list have no keys of their own: lists are not addressed by position"
)
UNQUOTED = "{w} is not a value: strings are quoted"
RESERVED = "{w} is a reserved word: as a key it is quoted"
ABSENCE = "{w} is no value to compare with: absence has a test of its own"
RUNS_INTO = "the number {n} runs into {w}"
WHOLE_SUFFIX = "the suffix {found} belongs to whole numbers, not to {n}"

MATCH_LATER = "compare with ==, IN or a range, and match patterns on the results"
COMPUTE = "compute the value before you write it into the filter"
SELECTS_ALL = "a filter that selects everything is no filter: pass None"
IN_DICT_FORM = "for the dict form, use Expression.from_dict(...)"
IN_PYTHON = Way("build the filter in Python, where values need no quoting", piece="F.key == value")
AN_EXAMPLE = Way("write a key, an operator and a value", piece="key == 'value'")
DID_YOU_MEAN_AND = Way("did you mean AND?", "AND ", "‸", "")
QUOTE_NUMBER = Way("quote the string", "{chunk:string}", "{chunk}")
SEVERAL = "several values stand in a list"
AGAIN = "write the key again"
ON_THE_LEFT = "the key stands on the left"
HOLDS = "== is true of a list that holds the value"
IF_LIST = "if {key} is a list, write"
TWO = "write two comparisons"
PREFIX = "a prefix is a range"
IN_PREFIX = "{key} >= {p:string} AND {key} < {p:after}"

# Parts of patterns.
NO_CONSTANT = r"(?!(?:TRUE|FALSE|NULL)\b)"
NOTHING = r"(?P<w>NULL|NONE|NIL|UNDEFINED|NAN)\b(?!\()"
PATTERNS = r"(?:I?LIKE|RLIKE|GLOB|REGEXP?|MATCH(?:ES)?|SIMILAR|(?:START|END)S[\x20_]?WITH)\b"
EXACT = r"(?P<s>'[^'%_*\\]*'|\"[^\"%_*\\]*\")"
STARTING = (
    r"(?:(?:LIKE|GLOB) (?=['\"][^%_*]*[%*]['\"])|STARTS[\x20_]?WITH )"
    r"{q:mark}(?P<p>[^'\"\\]*?[^'\"\\%*\ud7ff-\U0010ffff])[%*]?(?P=q)"
)
ELEMENTS = r"(?:CONTAINS?|HAS|INCLUDES|OVERLAPS|ANY|ALL)\b"
BOUNDS = r"BETWEEN (?P<o>[\[(])? {low:thing} (?:AND\b|TO\b|,) {high:thing}(?(o) [\])])"
CLAUSES = r"(?:ORDER|GROUP|LIMIT|OFFSET|HAVING)\b"
DAY = r"-(?P<m>[0-9]{1,2})-(?P<d>[0-9]{1,2})"
TIME = r"[T\x20][0-9]{2}:[0-9]{2}(?::[0-9.]+)?(?:Z|[+-][0-9:]+)?"
INVISIBLE = (
    r"[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\ud800-\uf8ff\ufeff\ufff0-\uffff]"
)
AND_SLIP = (
    r"(?:adn|nad|nda|dna|dan|an|ad|nd|\wand|a\wnd|an\wd|and\w|\wnd|a\wd|an\w"
    r"|und|et|plus|ＡＮＤ)\b"
)
OR_SLIP = r"(?:ro|\wor|o\wr|or\w|oder|ＯＲ)\b"
NOT_SLIP = r"(?:nto|ton|tno|otn|ont|no|nt|ot|\wnot|n\wot|no\wt|not\w|\wot|n\wt|no\w)\b"
TESTED = r"(?P<k>{:string}|[\w.]+) : "
MONGO = r"\{ ['\"]?(?P<w>\$(?:eq|ne|gte?|lte?|n?in)\b)['\"]? : (?P<v>{:value}|{:list})"
ENDED = r"(?P<end>\}|,) "
EITHER = r"{key} (?P<s>==?) {v:value} (?:OR\b|\|\|) "
NEITHER = r"{key} (?P<s>!=|<>) {v:value} (?:AND\b|&&) "
LISTED = r"{key} IN [\[(](?P<v>[^\[\]()]++)[\])] (?:OR\b|\|\|) "
ORDERED = "{key} {s:order} {v:value} {joint} "
# What comes after one of these: a string that was taken for a key, or another literal.
STRING_AGAIN = r"{w:string}(?P<gap>\s*+)‸(?={:joint}|\)|\Z)"
VALUE_AGAIN = "(?P<gap>)‸{w:value}(?! {:sign})"
LIST_BOTH = (SEVERAL, "{key} {s:listed} [{v}, {w}]{gap}")
LIST_MORE = (SEVERAL, "{key} IN [{v}, {w}]{gap}")
COMPARE_BOTH = (AGAIN, "{key} {s} {v} {joint} {key} {s} {w}{gap}")

# fmt: off
ROWS = (
    # Whole texts of another kind.
    row(ANYWHERE, r"\A\s*+‸\Z", "to select everything, pass None instead of a filter",
        says="the filter is empty", of="  "),
    row(OPERATOR,
        r"\A\s*+«(?P<w>SELECT|DELETE|UPDATE|INSERT|FROM)\b»\s++‸(?!{sign}|(?:NOT\s+)?IN\b|\Z)",
        ("keep what stands after WHERE", "", r"\s*+{word}(?:(?!\bWHERE\b).)*+\bWHERE\s++"),
        "keep what stands after WHERE",
        says="{w:upper} begins a statement: a filter is its condition alone",
        of=("SELECT * FROM x WHERE a == 1", "delete from x")),
    row(ANYWHERE, "‸\ufeff", "read the file with encoding='utf-8-sig'",
        says="a byte-order mark (U+FEFF) is no part of a filter", of="\ufeffa == 1"),
    # Strings whose quotes are missing, or others.
    row(ANYWHERE, r"‸(?!{string}){q:mark}",
        ("write a backslash twice, since it escapes the quote", "{q}{body:doubled}",
         r"‸{q:mark}(?P<body>.*\\(?P=q))\s*\Z", ""),
        ("use the same quote on both sides", "{other}{body}{other}",
         r"‸{q:mark}(?P<body>[^'\"]*+)(?!(?P=q))(?P<other>['\"])", ""),
        ("close the string", "{q}{piece}{q}", r"‸{q:mark}{piece}", ""),
        ("close the string", "{q}{phrase}{q}", r"‸{q:mark}{phrase}", ""),
        ("close the string", "{q}{q}", r"‸{q:mark}(?=\s)", ""),
        ("close the string", "{q}{rest}{q}", r"‸{q:mark}(?P<rest>.*\S)\s*\Z", ""),
        "close the string with {q}", says="unterminated string: no closing {q} follows",
        of=(r"path == 'C:\docs\'", "a == \"x'", "a IN ['x AND b == 1", "a == 'New York AND b == 1",
            "a == ' AND b == 1", "a == 'x, y", "a == '")),
    row(CONDITION + SEGMENT, "‸{quote}",
        ("use straight quotes", '"{text}"', "‸{quote}{text}(?:{end:quote}|['\"])"),
        says="{quote} ({quote:name}) is no quotation mark of the filter language",
        of="“odd key” == 1"),
    row(ANYWHERE, "‸{quote}",
        ("use straight quotes", "'{text}'", "‸{quote}{text}(?:{end:quote}|'|\")"),
        ("use straight quotes", '"{text}"', "‸{quote}(?P<text>[^\"\\\\]*?){end:quote}"),
        ("use straight quotes", "'{text}'", "‸{quote}{text:phrase}"),
        says="{quote} ({quote:name}) is no quotation mark of the filter language",
        of=("a == ‘x’", "a == “it's”", "a == “x AND b == 1")),
    row(ANYWHERE, r"‸«(?P<n>(?:(?![0-9])\d)++)»", ("write {n:ascii}", "{n:ascii}"),
        says="{found} ({found:name}) is not understood: the digits are 0 to 9", of="a == ١٢"),
    row(ANYWHERE, "‸«{like}»", ("write {like:ascii}", "{like:ascii}"),
        says="{found} ({found:name}) is not understood: operators are written in ASCII",
        of="a ≤ 1 ∧ b ≥ 2"),
    row(ANYWHERE, f"‸{INVISIBLE}", ("delete it", ""),
        says="an invisible character ({found:code}) outside a string",
        of="a == 5 AND\u200b b == 1"),
    row(AFTER_VALUE, r"{q:mark}{:inside}(?P=q)‸(?=[\w'\"].*(?P=q))",
        ("close the string", "{q}{text}{q}",
         r"{q:mark}(?P<text>(?:(?!(?P=q)).)*?)(?<!\s)(?=\s*[,)\]]|\s+{joint}\s)", ""),
        ("one quote on each side is enough", "{q}{body}{q}",
         r"{q:mark}(?P=q)++(?P<body>[^'\"]*+)(?P=q){2,3}"),
        ("escape the quote with a backslash", "{q}{one}\\{q}{two}{q}",
         r"{q:mark}{one:inside}(?P=q){2}{two:inside}(?P=q)"),
        ("escape the quote inside the string", "{q}{one}\\{q}{two}{q}",
         r"{q:mark}{one:inside}(?P=q)(?P<two>(?:(?!(?P=q)).)++)(?P=q)", ""),
        ("escape the quotes inside the string", "{q}{text:escaped}{q}",
         r"{q:mark}(?P<text>.*?)(?P=q){closed}", ""),
        of=("a IN ['x, 'y']", "a == '''x'''", "a == 'it''s'", "a == 'it's'", 'a == "say "hi""')),
    # Numbers that run into something.
    row(AFTER_VALUE, rf"«(?P<y>[0-9]{{4}})‸(?P<rest>{DAY}{TIME})»",
        ("write TIMESTAMP", "TIMESTAMP '{y}{rest}'"), says="a date is written as a quoted string",
        of="d > 2024-01-01T00:00:00Z"),
    row(AFTER_VALUE, rf"«(?P<y>[0-9]{{4}})‸{DAY}»", ("write DATE", "DATE '{y}-{m:two}-{d:two}'"),
        says="a date is written as a quoted string", of="d > 2024-1-1"),
    row(AFTER_VALUE,
        r"(?P<sign>[+-]?)(?P<zero>0)‸«(?P<w>(?:x[0-9a-f]{1,18}|o[0-7]{1,18}|b[01]{1,60})\b)»",
        ("write it in decimal", "{sign}{code:decimal}", r"(?P<sign>[+-]?)(?P<code>0\w+)"),
        says="a number is written with the digits 0 to 9", of="a == 0xFF"),
    row(AFTER_VALUE, r"{n:digits}‸«(?P<more>_[0-9_]++)»", ("write", "{n}{more:digits}"),
        says="a number is written without underscores", of="a == 1_000"),
    row(AFTER_VALUE, r"{n:digits}‸«E\b»", ("write", "{n}e0"),
        says="the exponent of a number needs digits", of="a == 1e"),
    row(AFTER_VALUE, r"(?P<n>[+-]?(?:[0-9]*\.[0-9]+(?:E[+-]?[0-9]+)?|[0-9]+E[+-]?[0-9]+))‸«L\b»",
        ("leave it out", "{n}"), says=WHOLE_SUFFIX, of="a == 1.5L"),
    row(AFTER_VALUE, r"(?P<n>[+-]?[0-9]+\.)‸L\b", ("leave it out", "{n}0"), says=WHOLE_SUFFIX,
        of="a == 5.L"),
    row(AFTER_VALUE, "{n:digits}‸«{w:reserved}»", ("insert it", " ", "‸", ""),
        says="a space is missing between the number {n} and {w}", of="a == 1AND b == 2"),
    row(AFTER_VALUE, r"{n:digits}‸«(?P<w>[^\W\d]\w*+)»", QUOTE_NUMBER, says=RUNS_INTO,
        of="a == 5kg"),
    row(AFTER_VALUE, r"{n:digits}‸(?:[.:%]|/[0-9]+/|[+-](?=[\w.]))", QUOTE_NUMBER, of="t > 10:30"),
    # Characters in the middle of a key.
    row(OPERATOR, r"{key}‸«(?P<w>->>?|[?!]\.)»",
        ("write a dot between the parts of a key", ".", r"‸(?:->>?|[?!]\.) "),
        says="{w} is an operator of another language", of="a->'b' == 1"),
    row(OPERATOR + AFTER_VALUE, r"‸«::\w++»", ("leave it out", ""),
        says="a filter converts no types", of="a::int > 5"),
    row(OPERATOR, r"‸\.(?P<w>[0-9]\w*+)(?<!\s\w)",
        ("for a key inside an object, write", ".{w:segment}"),
        says="a part of a key that is no name is quoted, as in .{w:segment}; "
        "lists are not addressed by position", of="a.0 == 1"),
    row(OPERATOR, r"[^\W\d]\w*?‸(?P<c>[-+/#@$%&*?\\^](?=[^\s,()\[\]'\"=<>!])|[^\x00-\x7f])",
        ("quote the key", "{w:segment}", r"(?P<w>[^\W\d][^\s,()\[\]'\"=<>!]++)"),
        says="{c} cannot stand in a key that is not quoted", of="first-name == 'x'"),
    # Signs that are no operators, or others.
    row(AFTER_KEY + AFTER_VALUE + CONDITION, "‸&(?!&)", ("did you mean AND?", "AND"),
        ("leave it out", "", "", ""), says="& is not an operator",
        of=("a == 1 & b == 2", "a == 1 &&& b == 2")),
    row(AFTER_KEY + AFTER_VALUE + CONDITION, r"‸\|(?!\|)", ("did you mean OR?", "OR"),
        ("leave it out", "", "", ""), says="| is not an operator",
        of=("a == 1 | b == 2", "a == 1 ||| b == 2")),
    row(CONDITION, r"‸«(?P<w>\$\{\w+\}|\{\w+\}(?= {:sign}))»", IN_PYTHON,
        says="a filter text has no placeholders such as {w}", of="${key} == 1"),
    row(CHOICES, r"‸\{(?P<inner>[^{}]*,[^{}]*)\}", ("write brackets", "[{inner}]"),
        of="a IN {1, 2}"),
    row(VALUES + DATED, r"‸«(?P<w>\?|:\w+|%\(\w+\)s|%s|@\w+|\$\w+|\{\w*\}|\$\{\w+\})»", IN_PYTHON,
        says="a filter text has no placeholders such as {w}", of="a == ?"),
    row(OPERATOR, r"‸«(?P<w>\$(?:EQ|NE|GTE?|LTE?|IN|NIN|NOT)\b)»",
        ("write {w:operator}", "{w:operator}"), says="{w} is an operator of another language",
        of="a $gte 1"),
    row(CONDITION, r"‸\{(?! ['\"](?:op|key|value)\b)",
        ("write key, operator and value", "{k:key} == {v}{end:more}",
         r"‸\{ " + TESTED + "(?P<v>{:value}) " + ENDED),
        ("write key, operator and value", "{k:key} {w:operator} {v}{end:more}",
         r"‸\{ " + TESTED + MONGO + r" \} " + ENDED),
        ("write key, operator and value", "{k:key} {w:operator} {v} AND {{{k}: {{",
         r"‸\{ " + TESTED + MONGO + " , "),
        ("write parentheses", "({inner})", r"‸\{(?P<inner>[^{}:]+)\}"), IN_DICT_FORM,
        says="a filter text does not start with {{",
        of=('{"a": 1, "b": 2}', "{a: {$gte: 1}}", '{"a": {"$gte": 1, "$lt": 5}}',
            "a == 1 AND {b == 2}", '{"$and": []}')),
    row(CONDITION, r"‸\{", IN_DICT_FORM, says="a filter text does not start with {{",
        of='{"op": "eq", "key": "a", "value": 1}'),
    row(CONDITION, r"‸«\$\.»(?=\w)", ("leave $. out", ""), says="a key begins with a name",
        of="$.tenant == 't2'"),
    row(CONDITION + SEGMENT, r"‸«(?P<w>\$\w+)»", ("quote the key", "{w:segment}"),
        says="$ cannot stand in a key that is not quoted", of="$and == 1"),
    row(CONDITION, r"‸(?P<c>[:@#%])(?P<w>[^\W\d]\w*)(?= {:sign})", ("write the key alone", "{w}"),
        says="{c} cannot stand in a key that is not quoted", of="@a == 1"),
    row(ANYWHERE, r"‸«/\*»", ("leave it out", "", r"‸/\*.*?\*/\s*+"),
        ("leave it out", "", r"‸/\*.*\Z", ""), says="/* starts no comment: a filter has none",
        of=("a == 1 /* c */ AND b == 2", "a == 1 /* c")),
    row(ANYWHERE, r"‸«(?P<w>--(?![0-9.])|//|#)»", ("leave it out", "", r"‸(?:--|//|#)[^\n]*+", ""),
        says="{w} starts no comment: a filter has none", of="a == 1 -- c"),
    row(ANYWHERE, r"‸;", ("leave it out", "", r"‸;\s*+\Z", ""),
        ("did you mean AND?", " AND", "", ""),
        says="; ends nothing here: a filter is one condition", of=("a == 1;", "a == 1; b == 2")),
    row(VALUES, r"‸[+-](?!\S)", ("write", "{s}", r"‸(?P<s>[+-])\s++(?=[0-9.])"),
        says="a sign and its number stand together", of="a == - 5"),
    row(VALUES, r"‸[+-]«(?P<c>[^0-9])»", ("write one sign", "{c}", r"‸[+-](?P<c>[+-])"),
        says="a number needs digits after its sign, not {c}", of="a == --5"),
    row(ANYWHERE, r"‸(?P<w>!?~\*?)", MATCH_LATER, says=NO_PATTERNS, of="a ~ 'x'"),
    row(ANYWHERE, r"‸\\",
        ("quotes need no backslash here", "{rest:bare}", r"‸(?P<rest>\\['\"].*)\Z", ""),
        says="a backslash outside a string", of=r"a == \'x\'"),
    # After a key: a colon, brackets, parentheses.
    row(OPERATOR, r"_exists_ ‸«(?P<w>:)» {key}", ("write IS NOT NULL", "{key} IS NOT NULL"),
        says="{w} is not an operator", of="_exists_:x"),
    row(OPERATOR, r"{key} ‸«(?P<w>:[:=]?)»",
        (TWO, "{key} >= {low} AND {key} <= {high}",
         r"{key} : [\[{] {low:thing} TO {high:thing} [\]}]"),
        ("write the sign alone", "{key} {s} ", "{key} : (?P<s>[<>]=?) "),
        ("write {w:operator}", "{key} {w:operator} {v}", "{key} : " + MONGO + r" \}"),
        ("did you mean ==?", "{key} == {v}", "{key} :=? {v:value}", ""),
        ("did you mean ==?", "{key} == {phrase:string}", "{key} :=? {phrase}(?<![*?])", ""),
        "did you mean ==?", says="{w} is not an operator",
        of=("year:[2000 TO 2010]", "year:>=2000", "a: {$gt: 5}", "a: 1", "title: foo",
            "title:(foo bar)")),
    row(OPERATOR, r"(?:\w+ \. )?{w:document} ‸\[ {q:mark}{text}(?P=q) \]",
        ("leave {w} out", "{text:plain}"), says="keys are looked up in the metadata itself",
        of="metadata['year'] >= 2020"),
    row(OPERATOR, r"‸\[ {q:mark}{text}(?P=q) \]", ("write a dot", ".{text:segment}"),
        ("did you mean IN?", "IN [", r"‸\[ ", ""),
        says="a key inside another one is reached by a dot, not by brackets",
        of=('meta["page no"] == 1', "a ['x']")),
    row(OPERATOR, r"‸«\[ [0-9*]*+ \]»", ("any element is compared by the key of the list", ""),
        says=NO_POSITIONS, of="a[0] == 1"),
    row(OPERATOR, r"‸\[", ("did you mean IN?", "IN [", "", ""), ("leave it out", "", "", ""),
        says=NO_POSITIONS, of=("a ['x', 'y']", "a [ == 1")),
    row(OPERATOR, r"(?P<w>EXISTS|DEFINED|HAS|(?:IS_?)?NOT_?NULL) ‸\( {key} \)",
        ("write IS NOT NULL", "{key:key} IS NOT NULL"), says=FOREIGN_AS_WRITTEN, of="exists(a)"),
    row(OPERATOR, r"(?P<w>IS_?(?:NULL|NONE|EMPTY)|MISSING) ‸\( {key} \)",
        ("write IS NULL", "{key:key} IS NULL"), says=FOREIGN_AS_WRITTEN, of="isnull(a)"),
    row(OPERATOR, r"(?P<w>EQ|NEQ?|GTE?|GE|LTE?|LE|NIN) ‸\( {key} , (?P<v>{:list}|{:thing}) \)",
        ("write {w:operator}", "{key:key} {w:operator} {v:literal}"), says=NO_FUNCTIONS,
        of='gte("year", 2020)'),
    row(OPERATOR, r"(?P<w>(?:\w+_)?(?:CONTAINS?|HAS|INCLUDES)|ANY|ALL) ‸\( {key} , {thing} \)",
        (HOLDS, "{key:key} == {thing:literal}"), says=NO_FUNCTIONS, of="contains(tags, 'x')"),
    row(OPERATOR, r"{path} \. (?P<w>CONTAINS?|HAS|INCLUDES) ‸\( {thing} \)",
        (HOLDS, "{path} == {thing:literal}"), says=NO_FUNCTIONS, of="tags.contains('x')"),
    row(OPERATOR,
        r"{path} \. (?P<w>EQ(?:UALS)?|NE|GTE?|GE|LTE?|LE|ISIN) ‸\( (?P<v>{:list}|{:thing}) \)",
        ("write {w:operator}", "{path} {w:operator} {v:literal}"), says=NO_FUNCTIONS,
        of="a.equals('x')"),
    row(OPERATOR, r"{path} \. (?P<w>STARTS_?WITH) ‸\( {q:mark}{p:prefix}(?P=q) \)",
        (PREFIX, "{path} >= {p:string} AND {path} < {p:after}"), says=NO_FUNCTIONS,
        of="name.startsWith('Ab')"),
    row(OPERATOR, r"(?:{:document} \. )?(?P<w>GET) ‸\( {q:mark}{text}(?P=q) \)",
        ("write the key alone", "{text:plain}"), says=NO_FUNCTIONS,
        of="metadata.get('year') > 2020"),
    row(OPERATOR, r"(?P<w>{:name}|{:string}) ‸\(", AN_EXAMPLE, says=NO_FUNCTIONS,
        of="lower(a) == 'x'"),
    row(CONDITION, r"‸(?P<w>AND|OR) \( {one:argument} , {two:argument} \)",
        ("write {w} between the conditions", "({one} {w} {two})"),
        of='and(eq("a", 1), gt("b", 2))'),
    row(OPERATOR, r"‸(?P<w>! in\b)", ("write NOT IN", "NOT IN"), says="{w} is not an operator",
        of="a !in [1]"),
    row(OPERATOR, r"‸(?P<w>! =)", ("write !=", "!="), says="{w} is not an operator", of="a ! = 1"),
    row(OPERATOR, r"‸!", ("did you mean !=?", "!="), of="a ! 1"),
    # After a key: words.
    row(OPERATOR, r"(?P<joint>{:joint}) «(?P<w>ALSO|ELSE|THEN|WHERE|EITHER|BOTH)» ‸(?=\w)",
        ("leave {w} out", "{joint} "), says="{joint} {w} is one word too many",
        of="a == 1 and also b == 2"),
    row(OPERATOR, r"«(?P<w>EXISTS)» ‸(?P<key>{:name}(?: \. {:name})*+)",
        ("write IS NOT NULL", "{key} IS NOT NULL"), says=FOREIGN, of="exists a"),
    row(AFTER_KEY, rf"{{key}} (?:NOT )?‸(?P<w>{PATTERNS})",
        ("write ==", "{key} == {s}", rf"{{key}} (?:LIKE|GLOB) {EXACT}"),
        ("write !=", "{key} != {s}", rf"{{key}} NOT (?:LIKE|GLOB) {EXACT}"),
        (PREFIX, IN_PREFIX, rf"{{key}} {STARTING}"),
        (PREFIX, f"NOT ({IN_PREFIX})", rf"{{key}} NOT {STARTING}"), MATCH_LATER, says=NO_PATTERNS,
        of=("a LIKE 'abc'", "a NOT LIKE 'abc'", "a LIKE 'abc%'", "a NOT LIKE 'abc%'",
            "a ILIKE 'abc%'")),
    row(OPERATOR, rf"{{key}} ‸(?P<w>{ELEMENTS})",
        (IF_LIST, "{key} IN {list}", rf"{{key}} (?:{ELEMENTS} )?(?:ANY|OVERLAPS) (?:OF )?{{list}}"),
        (IF_LIST, "{key} == {thing:literal}", rf"{{key}} {ELEMENTS}(?! ANY| ALL) {{thing}}"),
        "write key == 'element'", says=NO_PART,
        of=("tags OVERLAPS ['a', 'b']", "tags CONTAINS 'x'", "tags CONTAINS ALL ['a']")),
    row(IN_WORD, rf"{{key}} NOT ‸(?P<w>{ELEMENTS})",
        (IF_LIST, "{key} != {thing:literal}", rf"{{key}} NOT {ELEMENTS} {{thing}}"), says=NO_PART,
        of="tags NOT CONTAINS 'x'"),
    row(OPERATOR, r"{key} ‸(?P<w>BETWEEN)\b",
        (TWO, "{key} >= {low:literal} AND {key} <= {high:literal}", rf"{{key}} {BOUNDS}"),
        Way(TWO, piece="key >= 1 AND key <= 5"), says=FOREIGN,
        of=("a BETWEEN 1 AND 5", "a BETWEEN 1")),
    row(IN_WORD, r"{key} NOT ‸(?P<w>BETWEEN)\b",
        (TWO, "{key} < {low:literal} OR {key} > {high:literal}", rf"{{key}} NOT {BOUNDS}"),
        Way(TWO, piece="key < 1 OR key > 5"), says=FOREIGN,
        of=("a NOT BETWEEN 1 AND 5", "a NOT BETWEEN 1")),
    row(AFTER_KEY + JOINTS, rf"‸(?P<w>{CLAUSES})", "limits and orders are arguments of the search",
        says=f"{FOREIGN}: a filter only selects", of="a == 1 LIMIT 5"),
    row(OPERATOR, r"‸(?P<w>\$?EXISTS)(?= (?:TRUE|1)\b)",
        ("write IS NOT NULL", "IS NOT NULL", r"‸\$?EXISTS (?:TRUE|1)"), says=FOREIGN_AS_WRITTEN,
        of="a exists true"),
    row(IN_WORD, r"NOT ‸(?P<w>EXISTS)\b", ("write IS NULL", "IS NULL"), says=FOREIGN_AS_WRITTEN,
        of="a NOT EXISTS"),
    row(AFTER_KEY, "‸«{w:operator}»", ("write {w:operator}", "{w:operator}"),
        says=FOREIGN_AS_WRITTEN, of="year ge 2020"),
    row(OPERATOR, rf"‸{NOT_SLIP}", ("did you mean NOT?", "NOT", "", ""), of="a nto in [1]"),
    # After a key: what should stand after its operator, or after the condition.
    row(OPERATOR, r"‸(?![+-]){v:value}", ("did you mean", "== {v}", "", ""), of="a 'x'"),
    row(OPERATOR, r"‸NULL\b", ("did you mean", "IS NULL", "", ""), of="a NULL"),
    row(OPERATOR, EITHER + STRING_AGAIN, LIST_BOTH, of="a == 'x' OR 'y'"),
    row(OPERATOR, NEITHER + STRING_AGAIN, LIST_BOTH, of="a != 'x' AND 'y'"),
    row(OPERATOR, LISTED + STRING_AGAIN, LIST_MORE, of="a IN ['x'] OR 'y'"),
    row(OPERATOR, ORDERED + STRING_AGAIN, COMPARE_BOTH, of="a > 'x' OR 'y'"),
    row(CONDITION, EITHER + VALUE_AGAIN, LIST_BOTH, of="a == 1 OR 2"),
    row(CONDITION, NEITHER + VALUE_AGAIN, LIST_BOTH, of="a != 1 AND 2"),
    row(CONDITION, LISTED + VALUE_AGAIN, LIST_MORE, of="a IN [1] OR 2"),
    row(CONDITION, ORDERED + VALUE_AGAIN, COMPARE_BOTH, of="a > 1 OR 2"),
    row(OPERATOR, r"\( {key} ‸\)(?= (?:{:sign}|(?:NOT )?IN\b|IS\b))",
        ("write the key alone", "{key}"), of="(a) == 1"),
    row(OPERATOR, r"{key}(?P<gap>\s*+)‸(?={:joint}|\))",
        ("to test a bool, write", "{key} == true{gap}", "", "{key} == true"), of="a AND b == 1"),
    row(OPERATOR,
        r"(?P<w>{:word} ‸{:word}(?:\s++{:word})*?)(?=\s*+(?:[=!<>]|(?:NOT )?IN\b|NIN\b|IS\b))",
        ("quote a key of several words", "{w:segment}"), of="first name == 'x'"),
    row(OPERATOR,
        r"‸(?![+-])(?P<w>(?!{:reserved})[\w.-]++(?:\x20(?!{:reserved})[\w.-]++)*+){:closed}",
        ("did you mean", "== {w:string}"), of="country BG"),
    row(OPERATOR, r"{string} ‸\Z",
        Way("a condition is a key, an operator and a value", piece="key == 'value'"), of="'x'"),
    row(OPERATOR, r"{key} ‸\Z", Way("compare it with something", piece="{key} == 'value'"), of="a"),
    # After NOT or IS.
    row(IN_WORD, "NOT ‸(?P<w>==?)", ("write !=", "!="), says="NOT {w} is not an operator",
        of="a NOT == 1"),
    row(IN_WORD, r"NOT ‸NULL\b", ("write IS NOT NULL", "IS NOT NULL"), of="a NOT NULL"),
    row(IN_WORD, "NOT ‸{value}", ("did you mean !=?", "!= {value}"), of="a NOT 1"),
    row(IN_WORD, r"NOT ‸(?=\[)", ("write NOT IN", "NOT IN "), of="a NOT [1]"),
    row(NULL_OR_NOT, "IS ‸{value}", ("write ==", "== {value}"),
        says=f"{EXPECTED}: IS compares with nothing else", of="a IS TRUE"),
    row(NULL_WORD, "IS NOT ‸{value}", ("write !=", "!= {value}"),
        says=f"{EXPECTED}: IS compares with nothing else", of="a IS NOT 5"),
    row(NULLS, r"IS (?P<n>NOT )?‸(?P<w>IN\b|NIN\b|(?=\[)|{:sign})",
        ("write NOT IN", "NOT IN ", r"IS (?:NOT (?:IN\b)?|NIN\b) (?=[\[(])"),
        ("write IN", "IN ", r"IS (?:IN\b)? (?=[\[(])"), ("leave IS out", "{s} ", "IS {s:sign} "),
        of=("a IS NOT IN [1]", "a IS [1]", "a IS == 5")),
    row(NULLS, rf"‸(?:{NOTHING}|(?:EMPTY|MISSING|ABSENT)\b)", ("write NULL", "NULL"),
        of="a IS None"),
    row(NULL_OR_NOT, "IS ‸{word}", ("write == and quote the string", "== {word:string}"),
        of="a IS abc"),
    row(NULL_WORD, "IS NOT ‸{word}", ("write != and quote the string", "!= {word:string}"),
        of="a IS NOT abc"),
    row(NULLS, r"IS (?P<n>NOT)? ‸\Z", ("write", "IS NOT NULL", r"IS NOT \Z"),
        ("write", "IS NULL", r"IS \Z"), of=("a IS NOT", "a IS")),
    # In the place of a value.
    row(ITEMS, f"‸{NOTHING}", "add OR ... IS NULL to the filter instead",
        says="a list on the right of IN cannot hold {w}", of="a IN [1, NULL]"),
    row(VALUE, f"(?:!=|<>) ‸{NOTHING}", ("write IS NOT NULL", "IS NOT NULL"), says=ABSENCE,
        of="a != NULL"),
    row(VALUE + CHOICES, f"(?:==?|IN) ‸{NOTHING}", ("write IS NULL", "IS NULL"), says=ABSENCE,
        of="a == null"),
    row(VALUE + CHOICES, f"‸{NOTHING}", "write IS NULL or IS NOT NULL", says=ABSENCE,
        of="a > NULL"),
    row(VALUE, r"(?P<first>{:sign}) ‸(?:{:sign}|!)",
        ("write ==", "==", "==?+ ==?+>?|(?:<=|==) >(?!=)"), ("write >=", ">=", ">= [=>]|= >=?|> ="),
        ("write <=", "<=", "<= [=<]|= <(?![>=])|< ="), ("write !=", "!=", "= !=?|(?:!=|<>) =|< >"),
        ("write {first}", "{first}", "{first:sign} (?P=first)"),
        says="expected a value, not {found} after {first}",
        of=("a === 1", "a => 1", "a =< 1", "a =! 1", "a != != 1")),
    row(VALUES, r"‸(?P<w>DATETIME)(?= {:string})", ("write TIMESTAMP", "TIMESTAMP"), says=FOREIGN,
        of="d == DATETIME '2024-01-01'"),
    row(VALUES, r"‸(?P<w>u|b|r|f|N){string}", ("write the string alone", "{string}"),
        says="a string has no letter before it", of="a == u'x'"),
    row(VALUE, r"{v:string} ==? ‸(?P<w>ANY|ALL)\( {key} \)", (HOLDS, "{key} == {v}"),
        says=NO_FUNCTIONS, of="'x' = ANY(tags)"),
    row(VALUES, r"‸(?P<w>{:name})\(",
        "write the value itself, such as 'text', 5 or TIMESTAMP '2024-01-31T09:30:00Z'",
        says=NO_FUNCTIONS, of="d > now()"),
    row(CHOICES, "{v:string} (?:NOT )?IN ‸(?P<w>{:name})",
        (HOLDS, "{key:key} == {v}", "{v:string} IN {key}"),
        ("!= is true of a list that does not hold it", "{key:key} != {v}",
         "{v:string} NOT IN {key}"), says=UNQUOTED, of=("'x' in tags", "'x' NOT IN tags")),
    row(VALUE, r"(?P<v>'[^'\\]*') {sign} ‸(?P<w>{:word})",
        (ON_THE_LEFT, "{key:key} {sign:turned} {v}", "{v:string} {sign} {key}"), says=UNQUOTED,
        of="'BG' == country"),
    row(ITEMS, r"‸(?P<w>SELECT)\b", "read the values first, and write them into the list",
        says=f"{FOREIGN}: a list holds values alone", of="a IN (SELECT b FROM c)"),
    row(CHOICES, "‸{w:word}", ("quote the string", "[{phrase:string}]", "‸{phrase}"),
        says=UNQUOTED, of="a IN b"),
    row(VALUES, "‸{w:word}",
        ("quote the string", "{q}{text}{q}", r"‸(?P<text>[^'\"=<>!&|,()\[\]]+)(?<!\s){q:mark}", ""),
        ("quote the string", "{phrase:string}", "‸{phrase}"),
        ("quote the string", "{rest:string}", r"‸(?P<rest>[^=<>!&|,()\[\]]+?){:closed}", ""),
        ("quote the string", "{piece:string}", "‸{piece}"), says=UNQUOTED,
        of=("a == x'", "city == New York", "a == it's", "a == b=c")),
    row(VALUES, "‸{w:reserved}", ("quote the string", "{w:string}", "", ""), of="a == OR"),
    row(VALUE, r"(?P<s>{:sign}) ‸\(",
        ("write the value alone", "{s} {v}", r"{s:sign} \( {v:value} \)"),
        ("write {s:listed}", "{s:listed} ({inner})", r"{s:sign} \( (?P<inner>[^()]*?) \)"),
        says=f"{EXPECTED}: a value stands in no parentheses", of=("a == (1)", "a == ('x', 'y')")),
    row(ITEMS, r"‸\(", ("write the value alone", "{value}", r"‸\( {value} \)"),
        says=f"{EXPECTED}: a value stands in no parentheses", of="a IN [(1), 2]"),
    row(ITEMS, r"‸\[", ("write one list", "{inner}", r"‸\[(?P<inner>[^\[\]]*+)\]", ""),
        says=f"{EXPECTED}: a list holds no lists", of="a IN [[1, 2]]"),
    row(ITEM, r", ‸(?=[\])])", ("leave the last comma out", ""), of="a IN [1, 2,]"),
    row(VALUES, "‸, ", ("leave this comma out", ""), of="a IN [1,,2]"),
    row(FIRST_ITEM, r"‸[\])]", ("close it", "{closing}"), of="a IN [)"),
    row(DATED, r"(?P<w>DATE|TIMESTAMP)(?P<gap>\s*+)‸(?={:joint}|[\]),]|\Z)",
        ("quote the string", "{w:string}{gap}", "", ""), Way("write", piece="{w} '2024-01-31'"),
        of=("d == DATE", "d == DATE AND")),
    row(DATED, r"‸(?!{:reserved}|(?:DATE|TIMESTAMP)\b)(?=\w){chunk}",
        ("quote it", "{chunk:string}"), of="d > DATE 2024-01-01"),
    # In a list, or after one.
    row(AFTER_ITEM, r"‸[\])]", ("write", "{closing}"), of="a IN (1, 2]"),
    row(AFTER_ITEM, r"{v:value}(?P<gap>\s*+)‸(?={:joint})",
        ("close the list", "{v}{closing}{gap}", "", "{closing}"), of="a IN [1, 2 AND b == 1"),
    row(AFTER_ITEM, r"{v:value}(?P<gap>\s*+)‸(?={:value}|(?:DATE|TIMESTAMP)\b)",
        ("add a comma", "{v},{gap}", "", ","), of="a IN ['a' 'b']"),
    # After a condition.
    row(JOINTS, r"‸\)", ("leave it out", "", "", ""),
        says=f'{EXPECTED}: there is no "(" for it', of="a == 1)"),
    row(JOINTS, r"‸\]", ("leave it out", "", "", ""),
        says=f'{EXPECTED}: there is no "[" for it', of="a == 1]"),
    row(JOINTS, "{key} {s:relation} {v:value} ‸,",
        (SEVERAL, "{key} {s:listed} [{v}, {rest}]", r"{key} {s:relation} {v:value} , "
         r"(?P<rest>[^()\[\]=<>!&|]*?)(?=\s*+(?:{:joint}|[)\]]|\Z))", "{s:listed} [...]"),
        ("did you mean AND?", "AND ", "‸, "), of=("a == 1, 2", "a == 1, b == 2")),
    row(JOINTS, "‸, ", ("did you mean AND?", "AND "), of="(a == 1), b == 2"),
    row(JOINTS, r"{key} {s:sign} {v:value} ‸(?:{:sign}|(?:NOT )?(?:IN|NIN|IS)\b)",
        (AGAIN, "{key} {s} {v} AND {key} {t} {w:literal}",
         "{key} {s:sign} {v:value} {t:sign} {w:thing}"), Way(AGAIN, piece="AND {key}"),
        of=("a > 1 < 5", "a > 1 IS NULL")),
    row(JOINTS, r"‸(?P<w>XOR)\b",
        Way("write both cases", piece="(x == 1 AND y != 2) OR (x != 1 AND y == 2)"), says=FOREIGN,
        of="a == 1 XOR b == 2"),
    row(JOINTS, f"‸{AND_SLIP}", ("did you mean AND?", "AND"), of="a == 1 adn b == 2"),
    row(JOINTS, f"‸{OR_SLIP}", ("did you mean OR?", "OR"), of="a == 1 orr b == 2"),
    row(JOINTS, "{key} {s:relation} {v:string} ‸{w:string}", DID_YOU_MEAN_AND,
        (SEVERAL, "{key} {s:listed} [{v}, {w}]", "", "{s:listed} [...]"),
        says=f"{EXPECTED}: strings are not joined", of=("a == 'x' 'b' == 1", "a == 'x' 'y'")),
    row(JOINTS, r"{n:digits} ‸(?={:word})", DID_YOU_MEAN_AND,
        ("quote the string", "{phrase:string}", "{phrase}"), of=("a == 1 b == 2", "a == 5 apples")),
    row(OPERATOR + JOINTS, r"‸[+*/%^-]", COMPUTE, says=NO_ARITHMETIC, of="a == 1 + 2"),
    row(CONDITION, r"‸[+*/%^-](?![0-9.])", COMPUTE, says=NO_ARITHMETIC, of="-a == 1"),
    row(JOINTS, r"‸(?:\(|!|(?:NOT|DATE|TIMESTAMP)\b|{:word}|{:string})", DID_YOU_MEAN_AND,
        of="a == 'x' (b == 1)"),
    # In the place of a condition.
    row(CONDITION, r"(?P<w>NOT|WHERE)\s*+‸{:sign}",
        ("quote the key", "{w:segment}", "(?P<w>NOT|WHERE)"), says=RESERVED, of="not == 1"),
    row(CONDITION, "{key} {s:order} {v:value} {joint} ‸{t:order} {w:value}",
        (AGAIN, "{key} {s} {v} {joint} {key} {t} {w}"), of="a > 1 AND < 5"),
    row(CONDITION, r"‸(?P<v>{:value}) ==? (?P=v)(?!\w)",
        ("leave it out", "", r"‸(?P<v>{:value}) ==? (?P=v) (?:AND\b|&&) "), SELECTS_ALL,
        says=f"{EXPECTED}: a value is compared with no other value", of=("1=1 AND a == 2", "1=1")),
    row(CONDITION, "‸{v:value}",
        (TWO, "{key:key} {s:turned} {v} AND {key:key} {t} {w:literal}",
         "‸{v:value} {s:order} {key} {t:order} {w:thing}"),
        (ON_THE_LEFT, "{key:key} {sign:turned} {v}",
         rf"‸{{v:value}} {{sign}} {NO_CONSTANT}{{key}}"),
        (HOLDS, "{key:key} == {v}", rf"‸{{v:value}} IN {NO_CONSTANT}{{key}}"),
        ("quote the key", "{w:segment}", r"‸(?P<w>\w+)(?= (?:{:sign}|\. \w|(?:NOT )?IN\b|IS\b))"),
        Way(SELECTS_ALL, pattern="‸(?:TRUE|FALSE)"),
        of=("1 <= a <= 5", "5 > a", "5 in tags", "true == 1", "true")),
    row(CONDITION, r"‸[0-9]", ("quote the key", "{w:segment}", r"‸(?P<w>\w+)", ""), of="1a == 1"),
    row(CONDITION, r"‸{w:reserved}(?= (?:==?|!=|<[=>]?|>=?|\. \w|(?:NOT )?IN\b|NIN\b|IS\b))",
        ("quote the key", "{w:segment}"), says=RESERVED, of="in == 1"),
    row(CONDITION, "‸(?P<w>{:joint}) ", ("leave {w} out", "", "", ""), of="a == 1 AND OR b == 2"),
    row(CONDITION, r"‸\.", ("leave the dot out", "", "", ""),
        says="a key does not start with a dot", of=".a == 1"),
    row(CONDITION, r"\( ‸\)", says=f"{EXPECTED}: the parentheses are empty", of="()"),
    row(SEGMENT, r"{path} \. ‸«IN» \( {list} \)", ("write IN", "{path} IN {list}"),
        says="there are no functions in a filter: {found}( cannot be called", of="a.in([1, 2])"),
    row(SEGMENT, r"\.(?P<gap>\s*+)‸(?=IS (?:NOT )?NULL\b|(?:NOT )?IN [\[(])",
        ("leave the dot out", "{gap}", r"\.(?P<gap>\s*+)", ""), of="a. IS NULL"),
    row(SEGMENT, "‸{w:reserved}", ("quote it", "{w:segment}"),
        says="{w} is a reserved word: as part of a key it is quoted", of="a.in == 1"),
    row(SEGMENT, r"\.(?P<gap>\s*+)‸\S", ("leave the dot out", "{gap}", r"\.(?P<gap>\s*+)", ""),
        of="a..b == 1"),
    # Where the text ends too early.
    row(FIRST_ITEM + AFTER_ITEM, r"‸\Z", ("close it", "{closing}"), of="a IN [1, 2"),
    row(ITEM, r", ‸\Z", ("close the list", "{closing}"), of="a IN [1,"),
    row(JOINT_INSIDE, r"‸\Z", ("close it", "{closings}"), of="((a == 1)"),
    row(CONDITION, r"{joint} ‸\Z", ("add a condition, or leave {joint} out", "", "", ""),
        of="a == 1 AND"),
    row(VALUE, r"{key} {sign} ‸\Z", Way("add a value", piece="{key} {sign} 'value'"), of="a =="),
    row(CHOICES + IN_WORD, r"{key} (?P<n>NOT\s*+)?(?:IN )?‸\Z",
        Way("add a list", piece="{key} NOT IN ['value']", pattern="{key} NOT"),
        Way("add a list", piece="{key} IN ['value']"), of=("a NOT", "a IN")),
)
# fmt: on
