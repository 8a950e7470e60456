"""Texts as people write them, in several scripts, and some that nobody would."""

from __future__ import annotations

import argparse
import inspect

ENGLISH = (
    "The harbour froze in January, and for six weeks nothing came in or went out. Pi is 3.14159; "
    'see example.com/a.b?c=d for more. "Is it over?" she asked. Nobody knew! Dr. Hall, who had '
    "kept the lighthouse since 1904, wrote: 'Ice to the horizon.' Then the thaw came, all at once."
    "\n\nBy March the boats were out again, e.g. the Maria and the Anne."
)
CHINESE = (
    "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
    "人人有资格享有本宣言所载的一切权利和自由，不分种族、肤色、性别、语言、宗教、政治或其他见解！"
    "“难道不是吗？”他问道。𠮷野家的𨋢在哪里；没有人知道……"
)
JAPANESE = (
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"
    "「本当ですか？」と彼女は聞いた。人間は、理性と良心とを授けられており、"
    "互いに同胞の精神をもって行動しなければならない。ﾊﾝｶｸｶﾀｶﾅ｡が゛ぎぐ"
)
ARABIC = (
    "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميراً وعليهم أن يعامل بعضهم "
    "بعضاً بروح الإخاء. هل هذا صحيح؟ نعم، إنه كذلك!"
)
HINDI = "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है।"
EMOJI = "👩‍👩‍👧‍👦👍🏽🇧🇬❤️‍🔥🧑🏿‍🚀 ok 😀😃😄. " * 6
CODE = inspect.getsource(argparse)[:12_000]
MIXED = f"{ENGLISH}\r\n\r\n{CHINESE}\t{EMOJI}\u3000{ARABIC}\u2028{JAPANESE}"

TEXTS = {
    "English": ENGLISH,
    "Chinese": CHINESE,
    "Japanese": JAPANESE,
    "Arabic": ARABIC,
    "Hindi": HINDI,
    "emoji": EMOJI,
    "code": CODE,
    "mixed": MIXED,
    "dots": "." * 1_500,
    "letters": "abcdefghij" * 400,
    "accents": "e\u0301" * 400,
    "blanks": " \n\t" * 800 + "x" + " " * 900,
}
