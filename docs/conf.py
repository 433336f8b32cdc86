"""Settings of the documentation site. `make docs` builds it, without the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_gallery.sorting import FileNameSortKey

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
sys.path[:0] = [str(ROOT / "src")]

import lapwing  # noqa: E402

project = "Lapwing"
author = "The Lapwing developers"
copyright = "The Lapwing developers. Apache License 2.0"
version = release = lapwing.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx-mathjax-offline",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["README.md"]
templates_path = ["_templates"]
nitpicky = False
suppress_warnings = ["myst.xref_missing"] if os.environ.get("LAPWING_DRAFT") else []

# Markdown.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3

# The Python reference: a page for each public name, made from its docstring.
autosummary_generate = True
autosummary_imported_members = False
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # numpydoc's Parameters say the types in words
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# Inventories of other projects are committed, so that a build needs no network.
intersphinx_mapping = {
    name: (address, str(FOLDER / "inventories" / f"{name}.inv"))
    for name, address in {
        "python": "https://docs.python.org/3",
        "numpy": "https://numpy.org/doc/stable",
        "scipy": "https://docs.scipy.org/doc/scipy",
    }.items()
    if (FOLDER / "inventories" / f"{name}.inv").exists()
}

bibtex_bibfiles = ["papers/references.bib"]
bibtex_reference_style = "author_year"

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": FileNameSortKey,
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
}

# The look.
html_theme = "pydata_sphinx_theme"
html_title = "Lapwing"
html_static_path = ["_static"]
html_css_files = ["lapwing.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def source_role(
    name: str, raw: str, text: str, line: int, inliner: Any, *_: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Show a file of the repository, as a link where the repository has an address."""
    if not (ROOT / text.partition("#")[0]).exists():
        warning = inliner.reporter.warning(f"no such file in the repository: {text}", line=line)
        return [nodes.literal(raw, text)], [warning]
    code = nodes.literal(raw, text, classes=["file"])
    address = os.environ.get("LAPWING_REPOSITORY")  # such as https://host/owner/lapwing/blob/v0.1.0
    if not address:
        return [code], []
    return [nodes.reference(raw, "", code, refuri=f"{address.rstrip('/')}/{text}")], []


def skip_defaults(app: Sphinx, what: str, name: str, member: object, *_: Any) -> bool | None:
    """Leave out a field whose default is a built-in function: its Parameters describe it."""
    return True if isinstance(member, BuiltinFunctionType) else None


def setup(app: Sphinx) -> None:
    """Register the role of files, and leave out what is no method."""
    app.add_role("source", source_role)
    app.connect("autodoc-skip-member", skip_defaults)
