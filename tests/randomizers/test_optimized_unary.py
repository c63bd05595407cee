"""Optimized unary encoding against its definition."""

import itertools
import math
from fractions import Fraction

from shuffledp import Shuffle
from shuffledp.randomizers import OptimizedUnaryEncoding


def test_optimized_unary_encoding_against_its_definition() -> None:
    """Bits with p = 1/2 and q = 1/(E + 1), all users of one value but one, enumerated."""
    ratio, k, users = Fraction(4), 3, 3
    bits = list(itertools.product((0, 1), repeat=k))
    rows = [
        [
            math.prod((Fraction(1, 2) if j == x else (1 if bit else ratio) / (ratio + 1))
                      for j, bit in enumerate(output))
            for output in bits
        ]
        for x in range(k)
    ]  # fmt: skip
    survey = Shuffle(OptimizedUnaryEncoding(k, math.log(4)), users)
    for alpha in (Fraction(1), Fraction(3, 2), Fraction(3)):
        truth = Fraction(0)
        for others in itertools.combinations_with_replacement(range(k), users - 1):
            laws = []
            for own in (0, 1):
                law: dict[tuple[int, ...], Fraction] = {}
                for sent in itertools.product(range(len(bits)), repeat=users):
                    seen = tuple(sorted(sent))
                    mass = math.prod(rows[x][y] for x, y in zip((own, *others), sent, strict=True))
                    law[seen] = law.get(seen, Fraction(0)) + mass
                laws.append(law)
            for p, q in (laws, laws[::-1]):
                truth = max(
                    truth, sum((max(p[y] - alpha * q[y], Fraction(0)) for y in p), Fraction(0))
                )
        assert survey.attained_delta(math.log(alpha)) <= truth * (1 + Fraction(1, 10**9))
        assert truth <= survey.get_delta(math.log(alpha))
