"""Tables as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from .text import line_width, rounded_down, rounded_up, wrapped

#: Before what has no room in the first line of a row.
_INDENT = "    "
_MOST_ROWS = 100  # of the brackets in a notebook

TableRow = Sequence[str]
#: The names of the columns, and the rows.
Table = tuple[TableRow, Sequence[TableRow]]


def text_table(
    head: TableRow, rows: Sequence[TableRow], left: Sequence[int] = (), *, room: int | None = None
) -> str:
    """Columns flush right, but those listed in `left`. Columns for which a terminal has no room go
    to further lines, a little to the right; nothing is cut.

    >>> print(text_table(("count", "name"), [("1", "one"), ("10", "ten")], left=[1]))
    count  name
        1  one
       10  ten
    >>> print(text_table(("count", "name"), [("1", "one"), ("10", "ten")], left=[1], room=10))
    count
        name
        1
        one
       10
        ten
    """
    room = line_width() if room is None else room
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    groups = _groups(widths, room)
    lines = []
    for row in [head, *rows]:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for start, end in groups:
            line = "  ".join(cells[start:end]).rstrip()
            further = _INDENT if start else ""
            fits = len(further) + len(line) <= room
            lines.append(further + line if fits else wrapped(line.strip(), further, len(_INDENT)))
    return "\n".join(lines)


def _groups(widths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Which columns, from one to another, share a line."""
    groups, start, used = [], 0, 0
    for i, width in enumerate(widths):
        if i > start and used + 2 + width > room:
            groups.append((start, i))
            start, used = i, len(_INDENT) - 2
        used += width if i == 0 else width + 2
    return [*groups, (start, len(widths))]


def html_table(
    caption: str, head: TableRow, rows: Sequence[TableRow], named_by: int | None = None
) -> str:
    """A plain table, since notebooks bring their own style; screen readers are told which cell is
    the name of a column and, if there is one, of a row.

    >>> html_table("a < b", ["name", "value"], [["x", "1"]], named_by=0)
    '<table><caption>a &lt; b</caption><thead><tr><th scope="col">name</th><th scope="col">value</th></tr></thead><tbody><tr><th scope="row">x</th><td>1</td></tr></tbody></table>'
    """  # noqa: E501

    import html  # slow to load

    def cell(text: str, scope: str = "") -> str:
        tag = f'th scope="{scope}"' if scope else "td"
        return f"<{tag}>{html.escape(text)}</{tag[:2]}>"

    names = "".join(cell(name, "col") for name in head)
    lines = (
        "".join(cell(text, "row" if i == named_by else "") for i, text in enumerate(row))
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    top = f"<thead><tr>{names}</tr></thead>" if head else ""
    said = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{said}{top}<tbody>{body}</tbody></table>"


def html_facts(caption: str, facts: Sequence[tuple[str, str]]) -> str:
    """What is to be said of one thing, line by line, each with its name."""
    return html_table(caption, (), facts, named_by=0)


def html_bounds(lower: Sequence[float], upper: Sequence[float]) -> str:
    """Return the first brackets as an HTML table, each side rounded outwards to seven digits.

    >>> html_bounds([0.25], [0.5]).partition("<tbody>")[2]
    '<tr><td>0.25</td><td>0.5</td></tr></tbody></table>'
    """
    shown = zip(lower[:_MOST_ROWS], upper[:_MOST_ROWS], strict=True)
    rows = [(rounded_down(low, 7), rounded_up(high, 7)) for low, high in shown]
    count = len(lower)
    part = f", the first {_MOST_ROWS} of {count:,}" if count > _MOST_ROWS else ""
    caption = f"lower <= exact value of the analyzed pair <= upper{part}"
    return html_table(caption, ("lower", "upper"), rows)
