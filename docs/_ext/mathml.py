"""Show formulas as MathML, which browsers know by themselves.

Sphinx would have each page fetch a script from elsewhere.
"""

from __future__ import annotations

import html

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

__all__ = ["setup"]

# docutils does not know them
OTHERS = {r"\dots": r"\ldots"}


def _mathml(node: nodes.Element, block: bool) -> str:
    """Return the formula, or its source with a warning."""
    formula = node.astext()
    for name, known in OTHERS.items():
        formula = formula.replace(name, known)
    try:
        return str(tex2mathml(formula, as_block=block))
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %r", error, formula, location=node)
        return f"<code>{html.escape(formula)}</code>"


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{_mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect with Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
