"""Pages that are made from what stands elsewhere: README, changelog, notebooks, names, schemas.

Links go from page to page as they do in the repository: what lies outside of docs/ is taken along.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File, Files

from shuffledp.cli.app import cli

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "src" / "shuffledp" / "schemas"
#: Pages, and files that pages link to, from outside of docs/.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
}
FOLDERS = ("examples",)
#: What functions return, by the module of `shuffledp.tools` that defines it.
RESULTS = {
    "risk": ("Risk",),
    "choices": ("Choices", "Choice", "Unmet"),
    "compare": ("Comparison", "ComparisonRow"),
    "adversaries": ("Ladder", "AnalysisRow"),
    "ledger": ("Ledger", "Entry", "Population"),
    "plan": ("PlannedRound",),
    "dates": ("Schedule", "Duration"),
    "periods": ("PeriodBudget", "PeriodAccount", "Standing"),
    "timeline": ("Line",),
    "sweep": ("SweepTable",),
    "verify": ("Verification", "VerifiedRow"),
    "audit": ("Audit", "AuditedRow"),
    "simulate": ("Simulation",),
}
COUNTING = {
    "counting": ("count_parquet", "write_parquet", "partial_counts", "counts_from_rows"),
    "count_sql": ("count_query",),
}
#: Pages of the reference: what is said first, and what is on it: all public names of a module, or
#: one name, as "module:name".
REFERENCE: dict[str, tuple[str, Sequence[str]]] = {
    "names": ("What most users need: `from shuffledp import ...`.", ["shuffledp"]),
    "randomizers": ("`from shuffledp.randomizers import ...`.", ["shuffledp.randomizers"]),
    "mechanisms": (
        "Central mechanisms and given guarantees, to compose with rounds.",
        ["shuffledp.mechanisms", "shuffledp.central"],
    ),
    "results": (
        "What the functions return.",
        [
            "shuffledp.bounds",
            *(f"shuffledp.tools.{module}:{name}" for module in RESULTS for name in RESULTS[module]),
            "shuffledp.calibration:Calibration",
        ],
    ),
    "counting": (
        "Counts of messages, and what is estimated from them: [Counting at scale](../counting.md).",
        [
            "shuffledp.clients",
            *(f"shuffledp.tools.{place}:{name}" for place in COUNTING for name in COUNTING[place]),
        ],
    ),
    "plotting": (
        "Every function draws into `ax`, or into a new figure of `figsize` inches, and returns the "
        "axes: `axes.figure.savefig(...)` writes a file. `title` replaces what stands above, "
        "`target` is a dashed line. Needs `pip install 'shuffledp[plot]'`.",
        ["shuffledp.plotting"],
    ),
    "interop": ("Needs `pip install 'shuffledp[interop]'`.", ["shuffledp.interop"]),
    "published": ("Bounds of the literature, as stated there.", ["shuffledp.published"]),
    "errors": ("Bad input is one sentence, with the limit and a remedy.", ["shuffledp.errors"]),
}


def public(place: str) -> list[tuple[str, str]]:
    """The public names of a module, or the one name after a colon, and where each is defined."""
    module, _, single = place.partition(":")
    found = importlib.import_module(module)
    names = (
        [single]
        if single
        else getattr(found, "__all__", None)
        or [
            name
            for name, value in vars(found).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module
        ]
    )
    each = []
    for name in names:
        value = getattr(found, name)
        defined = getattr(value, "__name__", "") == name  # else it is a constant or an alias
        each.append((name, f"{value.__module__ if defined else module}.{name}"))
    return each


def reference(title: str, text: str, modules: Sequence[str], known: set[str]) -> str:
    """A page with all public names of some modules that are on no page before."""
    lines = [f"# {title.capitalize()}", "", text, ""]
    for module in modules:
        for name, path in public(module):
            if path not in known:
                known.add(path)
                lines += [f"::: {path}", ""]
            elif module != "shuffledp":
                lines += [f"[`{name}`][{path}] is on the page of the most used names.", ""]
    return "\n".join(lines)


def schemas() -> str:
    """Every schema file, as it is in the package."""
    lines = ["# JSON schemas", "", "What `--json` prints: [JSON for programs](../json.md).", ""]
    for file in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(file.read_text(encoding="utf-8"))
        lines += [f"## {file.stem}", "", f"`{schema['title']}`" if "title" in schema else "", ""]
        lines += ["```json", file.read_text(encoding="utf-8").rstrip(), "```", ""]
    return "\n".join(lines)


def commands() -> str:
    """Every command of the shell, as its own help describes it."""
    lines = [
        "# Commands",
        "",
        "Look up every command of the shell and its options, as `--help` prints them.",
        "",
    ]
    for name, command in shell_commands(cli, "shuffledp"):
        context = click.Context(command, info_name=name, terminal_width=80, max_content_width=80)
        level = "##" if name.count(" ") < 2 else "###"
        lines += [f"{level} {name}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def shell_commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a group and all commands in it, with what is typed for each."""
    yield path, group
    for name in group.list_commands(click.Context(group)):
        command = group.commands[name]
        if isinstance(command, click.Group):
            yield from shell_commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def notebook(path: Path) -> str:
    """The cells of a notebook and what they printed, as a page."""
    lines = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [source, ""]
            continue
        lines += ["```python", source, "```", ""]
        for output in cell["outputs"]:
            lines += [*_shown(output), ""]
    lines += [f"The notebook: [{path.name}](../examples/{path.name}).", ""]
    return "\n".join(lines)


def _shown(output: dict[str, Any]) -> Iterator[str]:
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    if "image/png" in data:
        yield f'<img alt="picture" src="data:image/png;base64,{data["image/png"].strip()}">'
    elif "text/html" in data:
        yield data["text/html"]
    else:
        yield from (
            "```text",
            "".join(output.get("text", data.get("text/plain", ""))).rstrip(),
            "```",
        )


def on_files(files: Files, config: Any) -> Files:
    """All generated pages, and all files that pages link to."""
    made = {target: (ROOT / source).read_text("utf-8") for source, target in PAGES.items()}
    known: set[str] = set()
    for name, (text, modules) in REFERENCE.items():
        made[f"reference/{name}.md"] = reference(name, text, modules, known)
    made["reference/schemas.md"] = schemas()
    made["reference/commands.md"] = commands()
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).iterdir()):
            if file.suffix == ".ipynb":
                made[f"notebooks/{file.stem}.md"] = notebook(file)
            if file.is_file():
                made[f"{folder}/{file.name}"] = file.read_text("utf-8")
    made["LICENSE"] = (ROOT / "LICENSE").read_text("utf-8")
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


#: A picture of a view, on a line of its own.
VIEW = re.compile(r"^!\[([^]]+)\]\(((?:\.\./)*views/[\w-]+\.svg)\)$", re.MULTILINE)


def inlined(match: re.Match[str]) -> str:
    """Return a view as a part of the page, in whose colours it is drawn."""
    drawn = (ROOT / "docs" / match.group(2)).read_text("utf-8")
    named = f'<svg role="img" aria-label="{escape(match.group(1))}"'
    drawn = re.sub(r"<style>.*?</style>", "", drawn).replace("<svg", named, 1)
    return f'<figure class="view">\n{drawn}</figure>'


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as they are on the site, and views as parts of the pages."""
    markdown = VIEW.sub(inlined, markdown)
    if page.file.src_uri in PAGES.values():
        return re.sub(r"\]\(docs/", "](", markdown)
    if "/" not in page.file.src_uri:
        markdown = re.sub(r"\]\(\.\./README\.md", "](index.md", markdown)
        return re.sub(rf"\]\(\.\./({'|'.join([*PAGES, *FOLDERS])})", r"](\1", markdown)
    return markdown
