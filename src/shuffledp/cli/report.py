"""The JSON object that commands print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._support.text import json_text
from ..errors import InvalidParameter


def json_report(
    query: str,
    answer: Mapping[str, Any],
    protocol: Mapping[str, Any],
    relation: str = "replace-one",
) -> str:
    """The answer, then the protocol with the options that were given."""
    from .. import __version__

    report = {
        "schema_version": 2,
        "query": query,
        **answer,
        "relation": relation,
        **{name: value for name, value in protocol.items() if value is not None},
        "version": __version__,
    }
    return json_text(report)


def check_format(as_json: bool, as_csv: bool) -> None:
    """Before the work."""
    if as_json and as_csv:
        raise InvalidParameter("--json and --csv are two ways to print one table; give one.")
