"""Settings of the documentation site: `make docs` builds it into docs/_build/html."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

import ucad

project = "ucad"
author = "The ucad authors"
copyright = author
release = version = ucad.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "cyclopts.ext.sphinx",
]
exclude_patterns = ["_build", "tutorials/GALLERY_HEADER.rst", "results/*"]
suppress_warnings = [
    "config.cache",  # a function among the gallery's settings cannot be pickled; nothing is lost
    "sphinx_gallery.space_in_filename",  # of the folder that the project lies in, not of the page
]

smartquotes = False  # --options keep both of their dashes
html_theme = "furo"
html_title = f"ucad {release}"
html_static_path = ["_static"]
html_css_files = ["wide-tables.css"]
html_extra_path = ["llms.txt"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": True}

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "tutorials"),
    "gallery_dirs": "tutorials",
    "filename_pattern": r"/[a-z_]+\.py$",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 10_000,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "nested_sections": False,
    "reset_modules": ("matplotlib",),
}


def figure_scraper(block, block_vars, gallery_conf):
    """Shows what a cell calls `figure`: pyplot does not know of our figures."""
    from sphinx_gallery.scrapers import figure_rst

    figure = block_vars["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=130, facecolor="white")
    return figure_rst([path], gallery_conf["src_dir"])


sphinx_gallery_conf["image_scrapers"] = (figure_scraper,)

_LABEL = re.compile(r":(?:ref|term):`([^<`]+?)(?:\s*<[^>]*>)?`")
"""A link into the documentation of scikit-learn, from which some methods are inherited."""
_CODE = re.compile(r"(?<![`:])`([^`\n]+)`(?!`)")


def plain_docstring(app, what, name, obj, options, lines) -> None:
    """Our docstrings are plain text: `code` in single marks, and bars and stars that mean nothing.

    A block of formulas, indented by four spaces, becomes a literal block.
    """
    for at, inherited in enumerate(lines):
        line = _LABEL.sub(r"\1", inherited)
        if line.lstrip().startswith((">>>", "...")):
            continue
        pieces = _CODE.split(line)
        for i in range(0, len(pieces), 2):
            pieces[i] = re.sub(r"(?<!\\)([|*])", r"\\\1", pieces[i])
            pieces[i] = re.sub(r"(\w)_(?=\W|$)", r"\1\\_", pieces[i])
            if i and pieces[i][:1].isalnum():
                pieces[i] = "\\ " + pieces[i]
        lines[at] = "".join(f"``{p}``" if i % 2 else p for i, p in enumerate(pieces))


def skip_fields(app, what, name, obj, skip, options) -> bool | None:
    """Leaves out fields of named tuples, which their class describes already."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app) -> None:
    """Registers what is done to docstrings before napoleon reads them."""
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", plain_docstring, priority=400)
