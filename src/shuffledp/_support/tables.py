"""Tables as text, HTML, Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .text import line_width, rounded_down, rounded_up, several, wrapped

#: Before what has no room in the first line of a row.
_INDENT = "    "
MOST_ROWS = 100  # of a table in a notebook

TableRow = Sequence[str]
#: The names of the columns, and the rows.
Table = tuple[TableRow, Sequence[TableRow]]


class CaptionedTable(NamedTuple):
    """A table for people; `named_by` is the column that names the rows, if there is one."""

    caption: str
    head: TableRow
    rows: Sequence[TableRow]
    named_by: int | None = 0


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
    caption: str,
    head: TableRow,
    rows: Sequence[TableRow],
    named_by: int | None = None,
    *,
    most: int | None = None,
) -> str:
    """A plain table, since notebooks bring their own style; screen readers are told which cell is
    the name of a column and, if there is one, of a row. Of more than `most` rows the first are
    shown, and the caption says so.

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
        for row in rows[:most]
    )
    if most is not None and len(rows) > most:
        caption += f" (the first {most} of {several(len(rows), 'row')})"
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    top = f"<thead><tr>{names}</tr></thead>" if head else ""
    said = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{said}{top}<tbody>{body}</tbody></table>"


def html_facts(caption: str, facts: Sequence[tuple[str, str]]) -> str:
    """What is to be said of one thing, line by line, each with its name."""
    return html_table(caption, (), facts, named_by=0)


def html_bounds(lower: Sequence[float], upper: Sequence[float]) -> str:
    """Return brackets as an HTML table, each side rounded outwards to seven digits.

    >>> html_bounds([0.25], [0.5]).partition("<tbody>")[2]
    '<tr><td>0.25</td><td>0.5</td></tr></tbody></table>'
    """
    pairs = zip(lower, upper, strict=True)
    rows = [(rounded_down(low, 7), rounded_up(high, 7)) for low, high in pairs]
    caption = "lower <= exact value of the analyzed pair <= upper"
    return html_table(caption, ("lower", "upper"), rows, most=MOST_ROWS)


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Lines of CSV, numbers in full precision.

    >>> csv_text([["name", "value"], ["a, b", 0.1], [None, 2]])
    'name,value\\n"a, b",0.1\\n,2\\n'
    """
    import csv  # slow to load, as io
    import io

    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(rows)
    return lines.getvalue()


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is.

    >>> print(escape_markdown("delta_upper | 2*k"))
    delta\\_upper \\| 2\\*k
    """
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)


def markdown_table(head: TableRow, rows: Sequence[TableRow]) -> str:
    """A table of Markdown.

    >>> print(markdown_table(["a", "b"], [["1", "x|y"]]))
    | a | b |
    | --- | --- |
    | 1 | x\\|y |
    """
    names, *cells = (map(escape_markdown, row) for row in (head, *rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in (names, ["---"] * len(head), *cells))


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
        **{sign: f"\\{sign}" for sign in "{}$&#_%"},
    }
)  # fmt: skip
_SCIENTIFIC = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)(?!\w)")
_NUMBER = re.compile(r"|-|infinity|-?[\d,.]+(e[+-]?\d+)?")


def escape_latex(text: str) -> str:
    """Text that LaTeX shows as it is, with powers of ten as people write them.

    >>> print(escape_latex("5 % of eps_0 at delta = 1e-06"))
    5 \\% of eps\\_0 at delta = $10^{-6}$
    """

    def power(found: re.Match[str]) -> str:
        times = "" if found[1] == "1" else rf"{found[1]} \cdot "
        return f"${times}10^{{{int(found[2])}}}$"

    if text == "infinity":
        return r"$\infty$"
    return _SCIENTIFIC.sub(power, text.translate(_LATEX))


#: Parameters that papers write as symbols, and columns of which only the name is a symbol.
_SYMBOLS = {"epsilon": r"\varepsilon", "eps0": r"\varepsilon_0", "delta0": r"\delta_0"}
_SYMBOLS |= {name: f"\\{name}" for name in ("delta", "sigma", "gamma", "theta", "beta")}
_VARIABLES = {"users": "n"}
_SYMBOL = re.compile(rf"(?<![\w\\])({'|'.join(_SYMBOLS)})(?:\\_(lower|upper))?(?![\w\\])")


def latex_words(text: str) -> str:
    """Text for LaTeX in which names of parameters are symbols.

    >>> print(latex_words("epsilon_upper at delta = 1e-06"))
    $\\varepsilon_{\\mathrm{upper}}$ at $\\delta$ = $10^{-6}$
    """

    def symbol(found: re.Match[str]) -> str:
        side = rf"_{{\mathrm{{{found[2]}}}}}" if found[2] else ""
        return f"${_SYMBOLS[found[1]]}{side}$"

    return _SYMBOL.sub(symbol, escape_latex(text))


def _latex_head(name: str) -> str:
    """The name of a column, as papers print it."""
    variable = _VARIABLES.get(name, name)
    return f"${variable}$" if len(variable) == 1 else latex_words(name)


def latex_table(table: CaptionedTable, cited: Mapping[str, str] | None = None) -> str:
    """A table of LaTeX, for the package booktabs; `cited` has keys of BibTeX by names of rows.

    >>> print(latex_table(CaptionedTable("One row", ["name", "delta"], [["a_b", "1e-09"]])))
    % \\usepackage{booktabs}
    \\begin{table}
      \\centering
      \\caption{One row}
      \\begin{tabular}{lr}
        \\toprule
        name & $\\delta$ \\\\
        \\midrule
        a\\_b & $10^{-9}$ \\\\
        \\bottomrule
      \\end{tabular}
    \\end{table}
    """
    kinds = "".join(
        "r" if all(_NUMBER.fullmatch(row[i]) for row in table.rows) else "l"
        for i in range(len(table.head))
    )

    def line(cells: Iterable[str]) -> str:
        return rf"    {' & '.join(cells)} \\"

    def cell(text: str) -> str:
        return escape_latex(text) + (rf"~\cite{{{cited[text]}}}" if cited and text in cited else "")

    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex_words(table.caption)}}}",
        rf"  \begin{{tabular}}{{{kinds}}}",
        r"    \toprule",
        line(map(_latex_head, table.head)),
        r"    \midrule",
        *(line(map(cell, row)) for row in table.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)
