"""Settings of the documentation site. `make docs` builds it, without the network."""

from __future__ import annotations

import html
import os
import re
import sys
import textwrap
import tomllib
import zlib
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

from docutils import nodes
from numpydoc.xref import DEFAULT_LINKS
from sphinx.application import Sphinx

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
smartquotes = False  # options such as --by are written as typed
# The lexer of Containerfiles does not read a string in JSON that holds quotes.
suppress_warnings = ["misc.highlighting_failure"]

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
numpydoc_xref_param_type = True
numpydoc_xref_ignore = {"optional", "default", "of", "or", "callable", "array_like", "positional"}
numpydoc_xref_aliases = {
    # Labels and terms of other projects, which the table of their pages does not have.
    **{name: name for name, link in DEFAULT_LINKS.items() if link.startswith(":")},
    "Decimal": "decimal.Decimal",
    "Fraction": "fractions.Fraction",
    "Path": "pathlib.Path",
    **{name: f"lapwing.{name}" for name in lapwing.__all__ if name[0].isupper()},
    **{
        name: f"lapwing.{module}.{name}"
        for module in ("results", "protocol", "planning", "privacy", "tallies", "client")
        for name in dir(import_module(f"lapwing.{module}"))
        if name[0].isupper() and name not in lapwing.__all__
    },
}


def inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project of `other_projects.toml`, and return where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for name, pages in tomllib.loads((FOLDER / "other_projects.toml").read_text("utf-8")).items():
        address = pages.pop("address")
        head = f"# Sphinx inventory version 2\n# Project: {name}\n# Version:\n"
        head += "# The remainder of this file is compressed using zlib.\n"
        rows = "".join(f"{page} py:class 1 {where} -\n" for page, where in pages.items())
        path = folder / f"{name}.inv"
        path.write_bytes(head.encode() + zlib.compress(rows.encode()))
        mapping[name] = (address, str(path))
    return mapping


intersphinx_mapping = inventories(ROOT / "build" / "inventories")

bibtex_bibfiles = ["papers/references.bib"]
bibtex_reference_style = "author_year"

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,  # its page asks other machines for scripts
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
}

# The look.
html_theme = "pydata_sphinx_theme"
html_title = "Lapwing"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_context = {"default_mode": "auto"}
html_css_files = ["lapwing.css"]
html_js_files = ["copy.js"]
html_baseurl = os.environ.get("LAPWING_SITE", "")  # such as https://lapwing.example/
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
    """Show a file of the repository, as a link where the repository has an address.

    `title <path>` shows the title in place of the path.
    """
    found = re.fullmatch(r"(?s)(.+?)\s*<(.+)>", text)
    title, path = (found[1], found[2]) if found else (None, text)
    if not (ROOT / path.partition("#")[0]).exists():
        warning = inliner.reporter.warning(f"no such file in the repository: {path}", line=line)
        return [nodes.literal(raw, path)], [warning]
    shown = nodes.inline(raw, title) if title else nodes.literal(raw, path, classes=["file"])
    address = os.environ.get("LAPWING_REPOSITORY")  # such as https://host/owner/lapwing/blob/v0.1.0
    if not address:
        place = [nodes.Text(" ("), nodes.literal(raw, path, classes=["file"]), nodes.Text(")")]
        return [shown, *(place if title else [])], []
    return [nodes.reference(raw, "", shown, refuri=f"{address.rstrip('/')}/{path}")], []


def skip_defaults(app: Sphinx, what: str, name: str, member: object, *_: Any) -> bool | None:
    """Leave out a field whose default is a built-in function: its Parameters describe it."""
    return True if isinstance(member, BuiltinFunctionType) else None


LONGEST_DESCRIPTION = 160
"""Characters that search engines show."""


def describe(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give a page its description, from its first paragraph, and the home page a title."""
    if pagename == "index":
        context.update(title="Lapwing: distributions under differential privacy", docstitle="")
    first = next(iter(doctree.findall(nodes.paragraph)), None) if doctree else None
    text = " ".join(first.astext().split()) if first else "A page of Lapwing."
    words = textwrap.shorten(text, LONGEST_DESCRIPTION, placeholder=" ...")
    tags = f'<meta name="description" content="{html.escape(words)}" />'
    if pagename == "404":  # a host shows it at any address
        tags = f'<base href="{html.escape(html_baseurl or "/")}" />' + tags
    context["metatags"] = tags + context.get("metatags", "")


def setup(app: Sphinx) -> None:
    """Register the role of files, describe pages, and leave out what is no method."""
    # It copies a folder of scripts and reads no page, so pages may be read side by side.
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
    app.add_role("source", source_role)
    app.connect("autodoc-skip-member", skip_defaults)
    app.connect("html-page-context", describe)
