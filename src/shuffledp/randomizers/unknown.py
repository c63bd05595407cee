"""Randomizers of which only a condition is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..errors import InvalidParameter
from .base import Randomizer
from .exact import ExactMatrix

if TYPE_CHECKING:
    from ..clients import Client


class UnknownRandomizer(Randomizer):
    """Every randomizer that meets a condition, and none of them in particular.

    It has no client and no matrix, and two groups of users may have different ones.
    """

    is_one_randomizer: ClassVar[bool] = False
    #: What to do instead of asking for a client, and what to verify, as ends of sentences in which
    #: names in braces are parameters.
    instead_of_a_client: ClassVar[str] = (
        "choose one of them, for example RandomizedResponse(k=2, eps0={eps0!r})"
    )
    verifiable: ClassVar[str]

    @property
    def client(self) -> Client:
        raise InvalidParameter(
            f"{self!r} stands for many randomizers and has no client; "
            f"{self.instead_of_a_client.format(**self.given)}."
        )

    def exact(self) -> ExactMatrix:
        raise InvalidParameter(
            f"{self!r} stands for many randomizers; verify one of them, for example "
            f"{self.verifiable.format(**self.given)}."
        )
