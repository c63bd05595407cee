"""Every public name says what it returns, what it takes, what it raises, and has an example.

Public is what the reference shows (`docs/site/hooks.py`), with its methods and properties. Doctests
run with all others of the package.
"""

import ast
import importlib
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shuffledp import errors
from shuffledp._support import validate

HOOKS = Path(__file__).resolve().parents[2] / "docs" / "site" / "hooks.py"
SECTION = re.compile(r"^([A-Z]\w+)\n-{3,}$\n?", re.MULTILINE)
#: `name : type`, or several names with commas; indented below it, what is said of them.
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (\S.*)\n((?:    .*\n|\n)*)", re.MULTILINE)
TYPED = {name for name, value in vars(errors).items() if inspect.isclass(value)}
MADE_OF_A_SENTENCE = (Exception.__init__, ValueError.__init__)


def power(number: float) -> str:
    """Return a limit as docstrings write it."""
    text = f"{number:.0e}" if number >= 1e4 or number < 0.1 else f"{number:g}"
    return re.sub(r"e([+-])0?(?=\d)", lambda sign: f"e{sign[1]}".replace("+", ""), text)


#: How the description of a parameter that many functions share begins, by `name : type`; limits are
#: those of the code.
SHARED = {
    "rtol : float": (
        "Relative width in epsilon to aim for, 1e-7 to 0.5.",
        "Largest relative width in epsilon, 1e-7 to 0.5",
    ),
    "eps0 : float": (
        f"Local epsilon of a message, {power(validate.MIN_EPS0)} to {power(validate.MAX_EPS0)}.",
    ),
    "delta : float": (
        f"Privacy parameter, 0 for pure DP or {power(validate.MIN_DELTA)} to 1.",
        f"Privacy parameter, {power(validate.MIN_DELTA)} or larger and below 1.",
        "Privacy parameter, 0 to 1.",  # of a mechanism that is given
    ),
    "rounds : int": (f"Number of rounds, 1 to {power(validate.MAX_ROUNDS)}",),
    "colluding : float": ("Largest number of users who share all they know with the adversary,",),
    "dropouts : float": ("Largest number of users who do not send,",),
}


class Parts(NamedTuple):
    """A docstring in NumPy style."""

    summary: str
    sections: dict[str, str]

    def entries(self, *titles: str) -> Iterator[tuple[str, str, str]]:
        """Yield name, type and description of all that these sections list."""
        for title in titles:
            for names, kind, said in ENTRY.findall(self.sections.get(title, "")):
                for name in names.split(", "):
                    yield name.lstrip("*"), kind, " ".join(said.split())


def parts_of(docstring: str) -> Parts:
    head, *rest = SECTION.split(f"{inspect.cleandoc(docstring)}\n")
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    return Parts(head.strip().partition("\n\n")[0], sections)


def raised_by(function: Any) -> set[str]:
    """Return the errors of this package that a function raises by itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = (node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise))
    made = (call.func for call in calls if isinstance(call, ast.Call))
    return {name.id for name in made if isinstance(name, ast.Name)} & TYPED


def functions_of(value: Any) -> list[Any]:
    """Return the function itself, or those that make an object of a class."""
    if not inspect.isclass(value):
        return [value]
    makers = (vars(value).get(name) for name in ("__init__", "__post_init__"))
    return [
        each
        for each in makers
        if inspect.isfunction(each) and each.__code__.co_filename.endswith(".py")
    ]


def signature_of(value: Any) -> tuple[list[str], bool]:
    """Return the names of all public parameters, and whether something is returned."""
    if inspect.isclass(value) and value.__init__ in MADE_OF_A_SENTENCE:
        return [], False
    found = inspect.signature(value)
    names = [name for name in found.parameters if name not in ("self", "cls") and name[0] != "_"]
    return names, found.return_annotation not in (None, "None", "NoReturn", "Never")


def complaints(docstring: str | None, value: Any, *, is_top: bool) -> Iterator[str]:
    """Yield what the docstring of a function, method, property or class does not say."""
    is_class = inspect.isclass(value)
    if not docstring or (is_class and docstring.startswith(f"{value.__name__}(")):
        yield "has no docstring"
        return
    parts = parts_of(docstring)
    if not parts.summary.endswith("."):
        yield "does not begin with a sentence"
    if isinstance(value, (property, cached_property)):
        return
    names, returns = signature_of(value)
    titles = ("Parameters", "Attributes") if is_class else ("Parameters",)
    said = {name for name, _, text in parts.entries(*titles) if text}
    if unsaid := [name for name in names if name not in said]:
        yield f"says nothing of {', '.join(unsaid)}"
    if stale := sorted({name for name, *_ in parts.entries("Parameters")} - {*names}):
        yield f"describes {', '.join(stale)}, which it does not take"
    # the summary of a method without parameters is what it returns
    is_small = is_class or not (names or is_top)
    if returns and not is_small and not parts.sections.keys() & {"Returns", "Yields"}:
        yield "does not say what it returns"
    for error in sorted(set().union(*map(raised_by, functions_of(value)))):
        told = parts.sections.get("Raises", "")
        if not re.search(rf"^(?:\w+, )*{error}(?:, \w+)*$", told, re.MULTILINE):
            yield f"does not say that it raises {error}"
    if is_top and ">>> " not in parts.sections.get("Examples", ""):
        yield "has no example"


@cache
def reference() -> dict[str, Any]:
    """Return every class and function of the reference by its path."""
    pytest.importorskip("mkdocs", reason="the site needs pip install 'shuffledp[docs]'")
    spec = importlib.util.spec_from_file_location("hooks", HOOKS)
    assert spec is not None and spec.loader is not None
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    found = {}
    for _, places in hooks.REFERENCE.values():
        for place in places:
            for name, path in hooks.public(place):
                value = getattr(importlib.import_module(place.partition(":")[0]), name)
                if inspect.isclass(value) or inspect.isfunction(value):
                    found[path] = value
    return found


def members_of(kind: type) -> Iterator[tuple[str, Any, str | None]]:
    """Yield path, value and docstring of the public methods and properties of a class.

    A member that overrides another one and has no docstring means what the other one says.
    """
    for name in sorted({name for base in kind.__mro__ for name in vars(base) if name[0] != "_"}):
        owners = [base for base in kind.__mro__ if name in vars(base)]
        each = [getattr(vars(owner)[name], "__func__", vars(owner)[name]) for owner in owners]
        is_member = inspect.isfunction(each[0]) or isinstance(each[0], (property, cached_property))
        if is_member and owners[0].__module__.startswith("shuffledp"):
            docstring = next((member.__doc__ for member in each if member.__doc__), None)
            yield f"{owners[0].__module__}.{owners[0].__qualname__}.{name}", each[0], docstring


@cache
def documented() -> dict[str, tuple[Any, str | None, bool]]:
    """Return value, docstring and whether it is at the top, of each public name by its path."""
    found: dict[str, tuple[Any, str | None, bool]] = {}
    for path, value in reference().items():
        found[path] = value, value.__doc__, True
        for place, member, docstring in members_of(value) if inspect.isclass(value) else ():
            found.setdefault(place, (member, docstring, False))
    return found


def test_every_public_name_is_documented() -> None:
    found = documented()
    assert len(found) > 500
    missing = {
        path: said
        for path, (value, docstring, is_top) in found.items()
        if (said := list(complaints(docstring, value, is_top=is_top)))
    }
    assert missing == {}


def test_shared_parameters_are_described_alike() -> None:
    wrong, seen = {}, set()
    for path, (_, docstring, _) in documented().items():
        listed = ENTRY.findall(parts_of(docstring or "").sections.get("Parameters", ""))
        for names, kind, text in listed:
            entry, said = f"{names} : {kind}", " ".join(text.split())
            seen.add(entry)
            if not said.startswith(SHARED.get(entry, "")):
                wrong[path, names] = said
    assert wrong == {}
    assert SHARED.keys() <= seen


def told(number: float, word: str = "") -> float:
    """Return the number.

    Parameters
    ----------
    number : float
        The number.
    word : str
        A word.

    Returns
    -------
    float
        The number.

    Raises
    ------
    OutOfRange, InvalidParameter
        If it is wrong.

    Examples
    --------
    >>> 1
    1
    """
    if number > 1:
        raise errors.OutOfRange(word)
    raise InvalidParameter(word)


InvalidParameter = errors.InvalidParameter


@pytest.mark.parametrize(
    ("cut", "complaint"),
    [
        (r"Return the number\.\n", "does not begin with a sentence"),
        (r"word : str\n.*\n", "says nothing of word"),
        (r"    A word\.\n", "says nothing of word"),
        (r"Returns\n-+\nfloat\n.*\n", "does not say what it returns"),
        (r", InvalidParameter$", "does not say that it raises InvalidParameter"),
        (r">>> 1\n1", "has no example"),
        (r"(?s).*", "has no docstring"),
    ],
)
def test_what_is_missing_is_seen(cut: str, complaint: str) -> None:
    whole = inspect.cleandoc(told.__doc__ or "")
    assert list(complaints(whole, told, is_top=True)) == []
    less = re.sub(cut, "", whole, count=1, flags=re.MULTILINE)
    assert less != whole
    assert complaint in list(complaints(less, told, is_top=True))
    more = whole.replace("word : str", "word, other : str")
    assert list(complaints(more, told, is_top=True)) == ["describes other, which it does not take"]
