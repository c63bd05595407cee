"""`shuffledp client`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

import click

from .._support.json_types import Keywords, Reported
from ..clients.base import Client, CountingClient
from ..clients.dummies import DummiesClient
from ..clients.integer_shares import SharesClient
from ..clients.mean_client import MeanClient
from ..records import name_of
from .options import JSON, command, make_randomizer, options, randomizer_options
from .report import print_answer

_OUT = click.option(
    "--out", type=click.Path(), metavar="FILE", help="Write it there.  [default: stdout]"
)


#: The document that `client_spec` makes, which has a schema of its own.
Specified = Annotated[Mapping[str, Any], Keywords({"$ref": "urn:shuffledp:1:client-specification"})]


class CountMoments(TypedDict):
    """What one user adds to the tally of the own value and of another one: means and variances."""

    own: float
    own_variance: float
    other: float
    other_variance: float


class MeanMoments(TypedDict):
    """The mean messages of 0 and 1, and the largest variance of one user's estimated mean."""

    zero: float
    one: float
    mean_variance: float


class ClientAnswer(TypedDict):
    """What `shuffledp client` answers."""

    randomizer: str
    parameters: Reported
    specification: Specified
    task: str | None
    """what is estimated from the messages"""
    moments: CountMoments | MeanMoments | None
    """what an estimate needs to know of the client; null if that is more than a few numbers"""
    out: str | None
    """the file that was written"""


@command()
@options(*randomizer_options("rr"), _OUT, JSON)
def client(out: str | None, form: str, **given: Any) -> None:
    """Export a client as data, for devices without Python: a program, its form, test vectors.

    The JavaScript module client.mjs runs the document. It reads one value per line from the
    standard input and writes one message per line. The package contains it as
    web/static/client.mjs; the tab Client of `shuffledp serve` offers it for download.

    \b
      shuffledp client --randomizer rr --k 100 --eps0 9.69 --out client.json
      echo 42 | node client.mjs client.json
    """
    randomizer = make_randomizer(given)
    specification = randomizer.client_spec()
    document = specification.document
    said = specification.to_json().rstrip("\n")
    if out is not None:
        specification.save(out)
        said = (
            f"{out}: the client of {randomizer!r}, with {len(specification.vectors)} test vectors; "
            f"its field digest is {document['digest']}."
        )
    answer: ClientAnswer = {
        "randomizer": name_of(randomizer),
        "parameters": randomizer.reported,
        "specification": document,
        "task": randomizer.task,
        "moments": _moments(randomizer.client),
        "out": out,
    }
    print_answer("client", said, form, answer)


def _moments(made: Client) -> CountMoments | MeanMoments | None:
    """What an estimate needs to know of the client; None if it is more than a few numbers.

    Of counts: what one user adds to the tally of the own value and of another one on average, and
    the variances. Of means: the mean messages of 0 and 1, and the variance of the estimated mean
    of one user, at most.
    """
    if isinstance(made, CountingClient):
        own, other = made.support
        return _four(own, own * (1 - own), other, other * (1 - other))
    if isinstance(made, DummiesClient):
        mean, variance = made.dummies.moments(1)
        return _four(1 + mean, variance, mean, variance)
    if isinstance(made, SharesClient):
        mean, variance = made.share.moments
        return _four(1 + mean, variance, mean, variance) if made.k else None
    if isinstance(made, MeanClient):
        zero, one = made.line
        return {"zero": zero, "one": one, "mean_variance": made.mean_variance(1)}
    return None


def _four(own: float, own_variance: float, other: float, other_variance: float) -> CountMoments:
    return {
        "own": own,
        "own_variance": own_variance,
        "other": other,
        "other_variance": other_variance,
    }
