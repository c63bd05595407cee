"""The JSON object that commands print."""

from __future__ import annotations

import json
import math
from typing import Any


def json_report(query: str, answer: dict[str, Any], protocol: dict[str, Any]) -> str:
    """The answer, then the protocol with the options that were given."""
    from .. import __version__

    report = {
        "schema_version": 2,
        "query": query,
        **answer,
        "relation": "replace-one",
        **{name: value for name, value in protocol.items() if value is not None},
        "version": __version__,
    }
    return json.dumps(_finite(report))


def _finite(value: Any) -> Any:
    """JSON has no infinity: an infinite bound is null."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if value in (math.inf, -math.inf) else value
