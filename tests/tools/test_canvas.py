"""Pictures for print and screen: fonts, labels that never collide, sizes, panels, notebooks."""

import io
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from shell import ok, run
from shuffledp import Plan, PureLDP, Shuffle, ShuffleDPError, plotting
from shuffledp.errors import InvalidParameter
from shuffledp.reproduce.result import LOOKS
from shuffledp.tools import style
from shuffledp.tools.canvas import EndLabel, spread
from shuffledp.tools.curves import finish
from shuffledp.tools.plan import PlannedRound

SURVEY = Shuffle(PureLDP(2.0), 1_000)


def crowded(figsize: tuple[float, float] = (7.0, 4.2)) -> Any:
    """Curves that end at about the same place, at the upper edge, and a target beside it."""
    axes = style.axes_for(None, figsize, (1.0, 1.0))
    for i, end in enumerate((5.9, 5.95, 6.0, 6.0, 0.01)):
        axes.plot([1.0, 6.0], [end / 100, end])
        style.label_end(axes, 6.0, end, f"{i} of a million users", style.OURS[i])
    style.target_line(axes, 5.8)
    return finish(axes, "eps0", "epsilon", "A title that is as long as others", None)


def saved(axes: Any, kind: str, **how: Any) -> bytes:
    buffer = io.BytesIO()
    axes.figure.savefig(buffer, format=kind, **how)
    return buffer.getvalue()


@pytest.mark.parametrize("figsize", [(7.0, 4.2), (3.3, 2.4), (2.6, 6.0), (12.0, 2.6)], ids=str)
def test_labels_never_collide_and_are_inside(figsize: tuple[float, float]) -> None:
    axes = crowded(figsize)
    labels = [text for text in axes.texts if isinstance(text, EndLabel)]
    assert len(labels) == 6
    axes.figure.set_dpi(72 if figsize[0] < 3 else 200)  # as for .pdf, and for a fine .png
    axes.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(label) for label in labels]
    for one, other in itertools.combinations(boxes, 2):
        assert max(one.y0 - other.y1, other.y0 - one.y1) >= 0
    title = axes.title.get_window_extent()
    for box in boxes:
        assert box.x0 >= 0 and box.x1 <= axes.figure.bbox.x1 + 1
        assert box.y0 >= 0 and box.y1 <= title.y0 + 1


def test_labels_are_as_near_as_they_can_be() -> None:
    """Against a search over all places: no other ones that are apart are nearer in squares."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        wanted, heights = rng.uniform(0, 6, 3), rng.uniform(0.5, 2, 3)
        places = np.array(spread(wanted.tolist(), heights.tolist(), -50.0, 50.0))
        order = np.argsort(wanted)
        gaps = (heights[order][1:] + heights[order][:-1]) / 2
        assert (np.diff(places[order]) >= gaps - 1e-9).all()
        tried = rng.normal(places, 0.5, (2000, 3))[:, order]
        valid = tried[(np.diff(tried, axis=1) >= gaps).all(axis=1)]
        found = ((places - wanted) ** 2).sum()
        assert (((valid - wanted[order]) ** 2).sum(axis=1) >= found - 1e-9).all()


def test_labels_stay_within_their_limits_if_they_fit() -> None:
    places = spread([9.9, 9.95, 10.0], [1.0, 1.0, 1.0], 0.0, 10.0)
    assert places == pytest.approx([7.5, 8.5, 9.5])
    assert spread([1.0, 1.0], [4.0, 4.0], 0.0, 2.0) == pytest.approx([2.0, 6.0])  # no room


def test_text_of_an_svg_is_text_and_equal_pictures_are_equal_files() -> None:
    first, second = (saved(crowded((2.5, 2.5)), "svg") for _ in range(2))
    assert first == second
    assert re.search(rb"<text[^>]*>1 of a million users</text>", first)


def test_fonts_of_a_pdf_are_embedded_as_truetype(tmp_path: Path) -> None:
    profile = ["plot", "profile", "--eps0", "1", "--users", "100", "--out"]
    assert ok(*profile, str(tmp_path / "a.pdf")) == f"Wrote {tmp_path / 'a.pdf'}.\n"
    pdf = (tmp_path / "a.pdf").read_bytes()
    assert b"/Type3" not in pdf and b"/FontFile2" in pdf and b"/CreationDate" not in pdf


def test_colours_of_ours_and_of_the_literature_differ() -> None:
    assert not set(style.OURS) & set(style.NEUTRAL)
    own = {look.colour for name, look in LOOKS.items() if "ours" in name}
    assert not own & {look.colour for name, look in LOOKS.items() if "ours" not in name}


def test_a_notebook_shows_axes_and_figures() -> None:
    axes = plotting.plot_profile(SURVEY, [0.1, 0.2], title="Two\nlines", figsize=(3, 2))
    png, about = axes._repr_png_()  # type: ignore[attr-defined]
    assert png.startswith(b"\x89PNG") and about == {"width": 330, "height": 220, "alt": "Two lines"}
    assert int.from_bytes(png[16:20]) == 2 * 330  # for screens of many dots
    assert axes.figure._repr_png_()[1] == about  # type: ignore[union-attr]


def test_two_panels_in_one_figure(tmp_path: Path) -> None:
    left, right = plotting.panels(2, figsize=(9, 3))
    plotting.plot_profile(SURVEY, [0.1, 0.2], ax=left)
    plotting.plot_epsilon_vs_rounds(SURVEY, [1, 2], delta=1e-6, ax=right)
    assert left.figure is right.figure and tuple(left.figure.get_size_inches()) == (9, 3)  # type: ignore[union-attr]
    picture = tmp_path / "both.png"
    one = ["profile", "--eps0", "1", "--users", "100", "--title", "left", "--target", "1e-6"]
    other = [
        "epsilon-vs-rounds",
        "--eps0",
        "1",
        "--users",
        "100",
        "--rounds",
        "1,2",
        "--delta",
        "1e-6",
    ]
    whole = ["--figsize", "5x2", "--dpi", "50", "--out", str(picture)]
    ok("plot", *one, *other, *whole)
    png = picture.read_bytes()
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (250, 100)
    missing = run("plot", *one, *other)
    assert missing.returncode == 2 and "--out is missing; give it once" in missing.stderr
    twice = run("plot", *one, *whole, *other, *whole)
    assert twice.returncode == 2 and "--out is given more than once" in twice.stderr


def test_title_size_and_target() -> None:
    axes: Any = plotting.plot_amplification(
        PureLDP, [1, 2], [100], delta=1e-6, target=5.9, title="Mine, $5", figsize=(4, 3)
    )
    assert axes.get_title() == "Mine, $5" and tuple(axes.figure.get_size_inches()) == (4, 3)
    (line,) = [line for line in axes.lines if line.get_label() == "_target"]
    assert list(line.get_ydata()) == [5.9, 5.9]
    assert "target 5.9" in [text.get_text() for text in axes.texts]
    ledger = Plan(0.5, 1e-6, (PlannedRound("a", SURVEY, 1),)).ledger()
    assert plotting.plot_ledger(ledger, title="").get_title() == ""
    assert saved(axes, "png", dpi=30)[16:24] == (120).to_bytes(4) + (90).to_bytes(4)


def test_what_cannot_be_drawn_that_way_is_one_sentence() -> None:
    axes = crowded()
    for figsize, words in [
        (3, "is not a width and a height"),
        ([3], "is not a width and a height"),
        ((0.1, 3), "width=0.1 is outside"),
        ((3, "a"), "height='a' is not a number"),
    ]:
        with pytest.raises(ShuffleDPError, match=words):
            plotting.panels(2, figsize=figsize)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="leave out figsize or ax"):
        plotting.plot_profile(SURVEY, [0.1, 0.2], figsize=(3, 3), ax=axes)
    with pytest.raises(InvalidParameter, match="target=0 is not positive"):
        plotting.plot_profile(SURVEY, [0.1, 0.2], target=0.0)
    with pytest.raises(InvalidParameter, match="more than 1e"):
        saved(axes, "png", dpi=20_000)
    with pytest.raises(InvalidParameter, match=r"figsize=1\.5x1\.5 leaves no room"):
        saved(plotting.panels(12, figsize=(1.5, 1.5))[0], "png")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("profile --figsize 7 --out a.png", "'7' is not a size; write inches like 7x4.2"),
        ("profile --figsize 0x4 --out a.png", "width=0.0 is outside the supported"),
        ("profile --dpi 1 --out a.png", "dpi=1 is outside the supported [20, 2400]"),
        ("profile --target -1 --out a.png", "target=-1 is not positive"),
        ("profile", "--out is missing"),
    ],
)
def test_bad_options_of_a_picture(
    options: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("plot", *options.split(), "--eps0", "1", "--users", "100")
    assert result.returncode == 2 and words in result.stderr
    assert result.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


def test_options_of_a_picture_that_nobody_asked_for() -> None:
    result = run("compare", *["--eps0", "1", "--users", "100", "--delta", "1e-6", "--title", "x"])
    assert result.returncode == 2
    assert result.stderr == "shuffledp: --title is for a picture; add --plot or leave it out.\n"


def test_other_alphabets_and_other_axes() -> None:
    """Letters that the font lacks are boxes, without a warning; foreign axes are drawn into."""
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_axes((0.1, 0.1, 0.5, 0.8))
    plotting.plot_amplification(PureLDP, [1.0, 2.0], [100], delta=1e-6, title="x", ax=axes)
    figure.draw_without_rendering()
    assert style.room(axes) == pytest.approx((3.2, 3.84))
    saved(plotting.plot_profile(SURVEY, [0.1, 0.2], title="統計"), "png")
