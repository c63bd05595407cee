"""The papers behind bounds and analyses, as entries of BibTeX.

Bounds and analyses name their papers in words, such as "Feldman, McMillan, Talwar 2021" or
"Balle et al. 2019": that is how an entry is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

#: The key of this package.
PACKAGE = "shuffledp"
_VENUES = {"inproceedings": "booktitle", "article": "journal", "misc": "howpublished"}


@dataclass(frozen=True)
class CitedPaper:
    """One entry; names of persons as in BibTeX, "Family, Given and Family, Given"."""

    key: str
    authors: str
    title: str
    kind: str
    venue: str
    year: int

    @property
    def names(self) -> tuple[str, ...]:
        """How texts name it: all families, or the first of three or more, and the year."""
        families = [author.partition(",")[0] for author in _plain(self.authors).split(" and ")]
        short = (f"{families[0]} et al. {self.year}",) if len(families) > 2 else ()
        return f"{', '.join(families)} {self.year}", *short

    @property
    def cited(self) -> str:
        """Names, year, title and venue, in plain text."""
        return f"{self.names[0]}, {_plain(self.title)}, {self.venue}"

    def bibtex(self) -> str:
        """The entry; the title keeps its capitals."""
        fields = {
            "author": self.authors, "title": f"{{{self.title}}}", _VENUES[self.kind]: self.venue,
            "year": str(self.year),
        }  # fmt: skip
        return _entry(self.kind, self.key, fields)


def _plain(text: str) -> str:
    """Without the accents of TeX."""
    return re.sub(r"\{\\.(\w)\}", r"\1", text)


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}}}\n"


_SODA = "ACM-SIAM Symposium on Discrete Algorithms (SODA)"
_NEURIPS = "Advances in Neural Information Processing Systems (NeurIPS)"
_CLONES = "Feldman, Vitaly and McMillan, Audra and Talwar, Kunal"
REFERENCES = (
    CitedPaper(
        "dwork2014algorithmic",
        "Dwork, Cynthia and Roth, Aaron",
        "The Algorithmic Foundations of Differential Privacy",
        "article",
        "Foundations and Trends in Theoretical Computer Science",
        2014,
    ),
    CitedPaper(
        "balle2018privacy",
        "Balle, Borja and Barthe, Gilles and Gaboardi, Marco",
        "Privacy Amplification by Subsampling: Tight Analyses via Couplings and Divergences",
        "inproceedings",
        _NEURIPS,
        2018,
    ),
    CitedPaper(
        "balle2018improving",
        "Balle, Borja and Wang, Yu-Xiang",
        "Improving the Gaussian Mechanism for Differential Privacy: Analytical Calibration and "
        "Optimal Denoising",
        "inproceedings",
        "International Conference on Machine Learning (ICML)",
        2018,
    ),
    CitedPaper(
        "erlingsson2019amplification",
        r"Erlingsson, {\'U}lfar and Feldman, Vitaly and Mironov, Ilya and Raghunathan, Ananth and "
        "Talwar, Kunal and Thakurta, Abhradeep",
        "Amplification by Shuffling: From Local to Central Differential Privacy via Anonymity",
        "inproceedings",
        _SODA,
        2019,
    ),
    CitedPaper(
        "balle2019privacy",
        r"Balle, Borja and Bell, James and Gasc{\'o}n, Adri{\`a} and Nissim, Kobbi",
        "The Privacy Blanket of the Shuffle Model",
        "inproceedings",
        "Advances in Cryptology (CRYPTO)",
        2019,
    ),
    CitedPaper(
        "canonne2020discrete",
        r"Canonne, Cl{\'e}ment L. and Kamath, Gautam and Steinke, Thomas",
        "The Discrete Gaussian for Differential Privacy",
        "inproceedings",
        _NEURIPS,
        2020,
    ),
    CitedPaper(
        "feldman2021hiding",
        _CLONES,
        "Hiding Among the Clones: A Simple and Nearly Optimal Analysis of Privacy Amplification "
        "by Shuffling",
        "inproceedings",
        "IEEE Symposium on Foundations of Computer Science (FOCS)",
        2021,
    ),
    CitedPaper(
        "girgis2021renyi",
        "Girgis, Antonious M. and Data, Deepesh and Diggavi, Suhas",
        "Renyi Differential Privacy of The Subsampled Shuffle Model In Distributed Learning",
        "inproceedings",
        _NEURIPS,
        2021,
    ),
    CitedPaper(
        "zhu2022optimal",
        "Zhu, Yuqing and Dong, Jinshuo and Wang, Yu-Xiang",
        "Optimal Accounting of Differential Privacy via Characteristic Function",
        "inproceedings",
        "International Conference on Artificial Intelligence and Statistics (AISTATS)",
        2022,
    ),
    CitedPaper(
        "feldman2023stronger",
        _CLONES,
        r"Stronger Privacy Amplification by Shuffling for R{\'e}nyi and Approximate Differential "
        "Privacy",
        "inproceedings",
        _SODA,
        2023,
    ),
    CitedPaper(
        "koskela2023numerical",
        r"Koskela, Antti and Heikkil{\"a}, Mikko A. and Honkela, Antti",
        "Numerical Accounting in the Shuffle Model of Differential Privacy",
        "article",
        "Transactions on Machine Learning Research",
        2023,
    ),
    CitedPaper(
        "wang2024privacy",
        "Wang, Shaowei and Peng, Yun and Li, Jin and Wen, Zikai and Li, Zhipeng and Yu, Shiyu and "
        "Wang, Di and Yang, Wei",
        "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened",
        "article",
        "Proceedings of the VLDB Endowment",
        2024,
    ),
    CitedPaper(
        "feldman2025privacy",
        "Feldman, Vitaly and Shenfeld, Moshe",
        "Privacy Amplification by Random Allocation",
        "misc",
        "arXiv:2502.08202",
        2025,
    ),
)


def papers_of(theorem: str, rounds: int) -> str:
    """What names the papers behind a value of this package: of its analysis, and of composition."""
    return f"{theorem}; rounds by Zhu, Dong, Wang 2022" if rounds > 1 else theorem


def references_in(text: str) -> list[CitedPaper]:
    """The papers that a text names, from the oldest to the newest.

    >>> from shuffledp.published.references import references_in
    >>> [paper.key for paper in references_in("Feldman, McMillan, Talwar 2021 (FOCS), Theorem 3.1")]
    ['feldman2021hiding']
    """
    return [paper for paper in REFERENCES if any(name in text for name in paper.names)]


def citation(text: str) -> str:
    r"""The keys of the papers that a text names, as `\cite` takes them."""
    return ",".join(paper.key for paper in references_in(text))


def bibliography(texts: Iterable[str]) -> str:
    """Entries of this package and of all papers that these texts name.

    >>> from shuffledp.published.references import bibliography
    >>> print(bibliography(["Zhu, Dong, Wang 2022"]).partition("@inproceedings")[2])
    {zhu2022optimal,
      author = {Zhu, Yuqing and Dong, Jinshuo and Wang, Yu-Xiang},
      title = {{Optimal Accounting of Differential Privacy via Characteristic Function}},
      booktitle = {International Conference on Artificial Intelligence and Statistics (AISTATS)},
      year = {2022},
    }
    <BLANKLINE>
    """
    from .. import __version__

    title = "shuffledp: certified privacy accounting for the shuffle model"
    fields = {"author": "{The shuffledp contributors}", "title": f"{{{title}}}"}
    ours = _entry("misc", PACKAGE, fields | {"note": f"Version {__version__}"})
    return "\n".join([ours, *(paper.bibtex() for paper in references_in("\n".join(texts)))])
