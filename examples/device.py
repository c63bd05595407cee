"""A client of randomized response without shuffledp, as one would write it in any language.

It answers the lines of `shuffledp audit`; examples/client.json is what it carries out:

shuffledp audit --spec examples/client.json --command "python3 examples/device.py"
"""

import io
import json
import random
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

PROGRAM = json.loads((Path(__file__).parent / "client.json").read_text())["program"]
THRESHOLD, OTHERS = int(PROGRAM[1][2]), int(PROGRAM[3][1][2])
if "--wrong" in sys.argv:
    THRESHOLD += 2**40  # too honest by 6e-8: no statistics would ever see it


def message(value: int, take: Callable[[int], bytes]) -> int:
    """The own value if the coin shows heads, else one of the others."""
    first = int.from_bytes(take(2), "little")
    heads = first < THRESHOLD >> 48
    if first == THRESHOLD >> 48:  # 16 bits do not decide
        heads = int.from_bytes(take(8), "little") >> 16 < THRESHOLD % 2**48
    if heads:
        return value
    bits = (OTHERS - 1).bit_length()
    other = OTHERS
    while other >= OTHERS:
        other = int.from_bytes(take(4), "little") >> (32 - bits)
    return other + (other >= value)


def main() -> None:
    fresh: Callable[[int], bytes] = secrets.token_bytes
    if "--seed" in sys.argv:  # for a page that shows the same whenever it is run
        fresh = random.Random(7).randbytes
    for line in sys.stdin:
        value, colon, recorded = line.partition(":")
        take = io.BytesIO(bytes.fromhex(recorded)).read if colon else fresh
        print(message(int(value), take), flush=True)


if __name__ == "__main__":
    main()
