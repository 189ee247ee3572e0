"""Files of the project that must agree with each other: versions, settings, workflows, examples."""

import ast
import importlib
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

import ucad

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == ucad.__version__
    released = re.findall(r"^## \[(\d[^\]]*)\]", changelog(), re.MULTILINE)
    assert not released or released[0] == ucad.__version__, "a release has its part in CHANGELOG.md"


def changelog():
    return (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_changelog_has_one_part_of_each_kind_per_version():
    parts = re.split(r"^## ", changelog(), flags=re.MULTILINE)[1:]
    assert parts[0].startswith("[Unreleased]")
    for part in parts:
        kinds = re.findall(r"^### (\w+)", part, re.MULTILINE)
        assert len(kinds) == len(set(kinds)), part.splitlines()[0]
        assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def pins(name):
    lines = (ROOT / name).read_text("utf-8").splitlines()
    found = [re.match(r"([\w.-]+)==([\w.+]+)", line) for line in lines]
    return {one[1].lower().replace("_", "-"): one[2] for one in found if one}


def test_the_lock_file_holds_what_set_up_installs():
    locked = pins("requirements.lock")
    assert len(locked) > 60
    for name, version in pins("constraints.txt").items():
        assert locked.get(name) == version, name


def test_everything_that_is_declared_can_be_pinned_or_is_locked():
    locked = set(pins("requirements.lock"))
    for line in PROJECT["project"]["dependencies"]:
        assert re.match(r"[\w-]+", line)[0].lower() in locked, line


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_workflows_are_read_and_call_what_is_there(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["jobs"]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            for target in re.findall(r"^make ([\w-]+)", step.get("run", ""), re.MULTILINE):
                assert target in targets


def test_hooks_are_local_and_call_what_make_lint_calls():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]
    entries = " ".join(hook["entry"] for hook in hooks[0]["hooks"])
    for tool in ("ruff check", "ruff format", "mypy", "lint-imports"):
        assert tool in entries


def test_python_versions_of_the_classifiers_are_tested():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    for line in PROJECT["project"]["classifiers"]:
        version = re.search(r"Python :: (3\.\d+)", line)
        assert version is None or f'"{version[1]}"' in text


SCRIPTS = sorted(
    path
    for folder in ("experiments", "benchmarks", "examples", "tutorials")
    for path in (ROOT / folder).rglob("*.py")
)


def private_names(source):
    """Names with an underscore that a script takes from ucad."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ucad"):
            # ucad._types holds names of types alone, for annotations
            parts = [p for p in node.module.split(".") if p.startswith("_") and p != "_types"]
            found += parts + [a.name for a in node.names if a.name.startswith("_")]
    return found


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_scripts_use_only_what_a_user_can_import(path):
    assert private_names(path.read_text("utf-8")) == []


def test_private_names_are_noticed():
    assert private_names("from ucad.data.formats import _READERS, read") == ["_READERS"]


PUBLIC = {
    "ucad": ["ucad"],
    "data": ["ucad.data", "ucad.data.formats"],
    "graph": ["ucad.graph"],
    "scm": ["ucad.scm"],
    "families": ["ucad.scm.families"],
    "constraints": ["ucad.constraints"],
    "simulate": ["ucad.simulate", "ucad.simulate.worlds"],
    "metrics": ["ucad.metrics"],
    "claims": ["ucad.claims"],
    "consensus": ["ucad.consensus.comparing"],
    "effects": ["ucad.effects", "ucad.gene_sets"],
    "solvers": [f"ucad.solvers{part}" for part in ("", ".search", ".gradient", ".layered")],
    "networks": ["ucad.networks"],
    "sweep": ["ucad.sweep"],
    "report": ["ucad.report", "ucad.report.figures"],
}
"""The public packages, by the page of the API that describes them."""


@pytest.mark.parametrize("page", PUBLIC)
def test_public_names_have_an_example_that_runs(page):
    text = (ROOT / "docs" / "api" / f"{page}.md").read_text("utf-8")
    code = "\n".join(line for line in text.splitlines() if line.startswith((">>>", "...")))
    for name in PUBLIC[page]:
        package = importlib.import_module(name)
        lacking = [
            one
            for one in package.__all__
            if not re.search(rf"\b{one}\b", code)
            and ">>>" not in (getattr(package, one).__doc__ or "")
        ]
        assert not lacking


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run_in_an_empty_folder(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


TUTORIALS = sorted((ROOT / "tutorials").glob("*.py"))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_tutorials_have_a_picture_for_the_gallery(path):
    """They are run when the site is built: together they take minutes."""
    assert re.search(r"^figure = ", path.read_text("utf-8"), re.MULTILINE)
