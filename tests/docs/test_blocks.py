"""Every block of code of the README and of the documentation runs, or says why it does not."""

import re
import shlex
import tomllib
import warnings

import pytest
from cyclopts import CycloptsError

from tests.docs.blocks import ROOT, blocks, run_python
from tests.docs.stage import QUICKER, STAGES
from ucad.cli.commands import app
from ucad.errors import UcadError

PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "api").glob("*.md")]
)
ELSEWHERE = {
    "README.md": "a doctest of its own, in pyproject.toml",
    "extending.md": "tests/docs/test_extending.py",
}
"""Pages whose Python is run by another test."""

SHELL = ("", "console", "bash", "sh")
PYTHON_PAGES = [
    page
    for page in PAGES
    if page.name not in ELSEWHERE and any(block.language == "python" for block in blocks(page))
]
TOOLS = re.compile(r"^(cd|git|srun|source|python -m (venv|pip|build|sphinx)|python3 -m venv)\b")
"""What else a line may begin with: no command of ours."""


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=name_of)
def test_the_python_of_a_page_runs_in_order(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = STAGES.get(page.name, dict)() | {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks(page):
            if block.language == "python" and block.reason is None:
                for old, new in QUICKER.get(page.name, ()):
                    block = type(block)(**vars(block) | {"code": block.code.replace(old, new)})
                run_python(block, names)


def commands(block):
    """The lines of a block that are typed, continued ones joined, comments taken off."""
    code = re.sub(r"\\\n\s*", "", block.code)
    lines = [line.strip() for line in code.splitlines()]
    if any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [line for line in lines if line and not line.startswith("#")]


SHELL_LINES = [
    pytest.param(line, id=f"{block}-{line[:40]}")
    for page in PAGES
    for block in blocks(page)
    if block.language in SHELL and block.reason is None
    for line in commands(block)
]


def check(line):
    """What is wrong with a line of a shell, or None; nothing is run."""
    words = [word for word in shlex.split(line, comments=True) if word not in ("…", "&")]
    if not words:
        return None
    if words[0] == "ucad":
        return check_ucad(words[1:])
    if words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        return None if set(words[1:]) <= set(targets) else f"no target among {words[1:]}"
    if words[:2] == ["python", "-m"] and words[2].split(".")[0] in ("experiments", "benchmarks"):
        return check_module(words[2], [word for word in words if word.startswith("--")])
    if words[0] == "pip":
        return check_extras(line)
    return None if TOOLS.match(line) else "it begins with no command that is known here"


def check_ucad(words):
    if words in (["--version"], ["--help"]) or words[-1:] == ["--help"]:
        return None
    try:
        app.parse_args(words, print_error=False, exit_on_error=False)
    except (CycloptsError, UcadError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def check_module(name, options):
    path = ROOT.joinpath(*name.split("."))
    path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    if not path.is_file():
        return f"there is no module {name}"
    sources = [path.read_text("utf-8"), (ROOT / "experiments" / "running.py").read_text("utf-8")]
    if path.name == "__main__.py":
        sources += [other.read_text("utf-8") for other in path.parent.glob("*.py")]
    lacking = [one for one in options if not any(f'"{one}"' in text for text in sources)]
    return f"no such options: {lacking}" if lacking else None


def check_extras(line):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = re.findall(r"ucad\[([\w,]+)\]|\.\[([\w,]+)\]", line)
    names = {name for pair in asked for group in pair if group for name in group.split(",")}
    lacking = names - set(project["optional-dependencies"])
    return f"no such extras: {sorted(lacking)}" if lacking else None


@pytest.mark.parametrize("line", SHELL_LINES)
def test_a_line_that_is_typed_is_one_that_the_command_understands(line):
    assert check(line) is None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_settings_are_toml_and_every_block_is_of_a_kind_that_is_checked(page):
    for block in blocks(page):
        if block.language == "toml":
            assert tomllib.loads(block.code)
        known = block.language in (*SHELL, "python", "toml", "text")
        assert known or block.language.startswith("{"), str(block)


def test_blocks_that_are_not_run_say_why():
    reasons = [block.reason for page in PAGES for block in blocks(page) if block.reason]
    assert all(len(reason) > 10 for reason in reasons)


def test_what_is_wrong_is_noticed(tmp_path):
    assert check("ucad fit data.csv --no-such-option 3 -o run/") is not None
    assert check("ucad fti data.csv") is not None
    assert check("make coffee") is not None
    assert check("python -m experiments.nothing") is not None
    assert check("python -m experiments.screens --no-such-option") is not None
    assert check('pip install "ucad[nothing]"') is not None
    assert check("frobnicate") is not None
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n\n```python\nassert False\n```\n", "utf-8")
    for block in blocks(page):
        with pytest.raises(AssertionError):
            run_python(block, {})
