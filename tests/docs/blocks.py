"""The code blocks of a page of documentation, and how each kind is run."""

import ast
import doctest
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Block", "blocks", "run_python"]

ROOT = Path(__file__).parents[2]

FENCE = re.compile(
    r"(?P<before><!-- not run: (?P<reason>[^>]+?) -->\n)?"
    r"^(?P<ticks>```+)(?P<language>[^\n]*)\n(?P<code>.*?)^(?P=ticks)[ ]*$",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: what it holds, where it stands, and why it is not run if it is not."""

    page: Path
    line: int
    language: str
    code: str
    reason: str | None = None

    def __str__(self):
        return f"{self.page.name}:{self.line}"


def blocks(page):
    """All fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text[: found.start("code")].count("\n") + 1,
            found["language"].strip(),
            found["code"],
            found["reason"],
        )
        for found in FENCE.finditer(text)
    ]


def run_python(block, names):
    """Runs a block in the names of its page; with prompts, outputs are compared."""
    if ">>>" in block.code:
        _run_doctest(block, names)
        return
    tree = ast.parse(block.code, filename=str(block.page))
    ast.increment_lineno(tree, block.line - 1)
    exec(compile(tree, str(block.page), "exec"), names)


def _run_doctest(block, names):
    test = doctest.DocTestParser().get_doctest(
        block.code, names, str(block), str(block.page), block.line - 1
    )
    test.globs = names  # not a copy: the next block goes on from here
    told = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(optionflags=flags).run(test, out=told.append, clear_globs=False)
    assert not told, "".join(told)
