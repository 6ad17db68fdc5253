"""Settings of the site that `make docs` builds; nothing is fetched while it is built."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

import qcompile  # noqa: E402

project = "qcompile"
author = "The qcompile developers"
copyright = "the qcompile developers"
version = release = qcompile.__version__

extensions = [
    "every_name",
    "mathml",
    "myst_parser",
    "notebook_pages",
    "plain_docstrings",
    "repository_pages",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
# README.md lists the pages for those who read them in the repository
exclude_patterns = ["README.md", "_build", "_ext"]
highlight_language = "none"
# "auto" in quotes is a value of Python, not speech
smartquotes = False
nitpicky = True
# Only public names have a place here: types of others, and of modules within, have none.
nitpick_ignore_regex = [(r"py:.*", r"(?!qcompile\.\w+$).*")]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

autosummary_generate = False
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_inherit_docstrings = False
autodoc_typehints_format = "short"
add_module_names = False
maximum_signature_line_length = 88
python_use_unqualified_type_names = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "qcompile"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars: dict[str, list[str]] = {"index": []}
html_theme_options = {
    "logo": {"text": f"qcompile {release}"},
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
