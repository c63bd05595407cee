"""Tables as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

Row = Sequence[str]


def text_table(head: Row, rows: Sequence[Row], left: Sequence[int] = ()) -> str:
    """Columns flush right, but those listed in `left`.

    >>> print(text_table(("count", "name"), [("1", "one"), ("10", "ten")], left=[1]))
    count  name
        1  one
       10  ten
    """
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def html_table(caption: str, head: Row, rows: Sequence[Row]) -> str:
    """A plain table; notebooks bring their own style."""

    def line(cells: Row, tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return (
        f"<table><caption>{html.escape(caption)}</caption>"
        f"<thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"
    )
