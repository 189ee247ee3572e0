"""Names that files tend to change."""

import numpy as np

ODD = [
    "target", "regime", "target_", "x", "is_intervened", "side", "variable_names", "ucad",
    "index", ";", "a;b", ";a", "a;", '"', '""', '"a"', 'a"b', "'", "a,b", ",", "\t", "a\tb",
    " a", "a ", "  ", "\ufeffa", "a\ufeff", "\ufeff", "\r", "a\rb", "\n", "a\nb", "\r\n",
    "a\r\nb", "\\", "\\n", "/", "a/b", "..", ".", "-", "_", "#a", "=1+1", "@a", "0", "1.5",
    "nan", "NaN", "None", "null", "True", "inf", "-0", "1e5", "Unnamed: 0", "__index_level_0__",
    "observational", "regime 1", "Z1", "F1", "é", "é", "ß", "SS", "ss", "İ", "i̇", "🧬", "中文",
    "א", "\u200b", "\u2028", "\u0085", "\x0b", "\x0c", "\x1c", "\x7f", "\x01", "\u00a0",
    "a" * 300, "<b>", "</script>", "&amp;", "%s", "{x}", "$", "$(ls)", "a=b", "a -> b", "*",
    "[0]", "?",
]  # fmt: skip
"""Of a table's own columns, with separators, quotes, marks, breaks, numbers and markup in them."""

UNWRITABLE = ["a\0", "\0", "a\0b", "\ud800", "a\udfffb"]
"""No format holds a null or half a character faithfully in all of its places."""


def odd_names(seed: int, n_names: int) -> tuple[str, ...]:
    """Different names, most of them odd, some of them two odd ones joined."""
    rng = np.random.default_rng(seed)
    joined = [a + b for a, b in zip(rng.permutation(ODD), rng.permutation(ODD), strict=True)]
    pool = list(dict.fromkeys([*rng.permutation(ODD)[:40].tolist(), *joined[:20], "a", "b"]))
    return tuple(rng.permutation(pool)[:n_names].tolist())
