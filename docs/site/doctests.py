"""Examples of docstrings are code on the site: Markdown would take their >>> for quotes."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import griffe


def fenced(text: str) -> str:
    """The same text with every run of prompts and what they print in a block of code.

    >>> print(fenced("Adds.\\n\\n>>> 1 + 1\\n2"))
    Adds.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    blocks = []
    for empty, lines in groupby(text.splitlines(), key=lambda line: not line.strip()):
        block = "\n".join(lines)
        code = block.lstrip().startswith(">>> ")
        blocks.append(f"```pycon\n{block}\n```" if code and not empty else block)
    return "\n".join(blocks).replace("<BLANKLINE>", "")


class Doctests(griffe.Extension):
    """Applied to every docstring."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
