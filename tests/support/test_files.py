"""A file is the old one or the new one, whatever happens while it is written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shuffledp._support.files import read_numbers, replacing, write_text_atomically
from shuffledp.errors import InvalidParameter


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for text in ("first", "second, with \u03b5"):
        write_text_atomically(path, text)
        assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]
    plain = tmp_path / "plain"
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("ne")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write_text_atomically(tmp_path / "missing" / "table.csv", "text")


@pytest.mark.skipif(os.name == "nt", reason="signals are sent differently there")
def test_control_c_leaves_no_half_written_file(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    code = (
        "import signal, sys, time\nfrom shuffledp._support.files import replacing\n"
        # what runs in the background of a shell ignores Ctrl-C, and so do its children
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write_text('half'); print('writing', flush=True)\n"
        "    while True:  # a signal between two statements must not be slept through\n"
        "        time.sleep(0.1)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert writer.stdout is not None
    with writer, writer.stdout:
        assert writer.stdout.readline() == "writing\n"
        assert len(list(tmp_path.iterdir())) == 2
        writer.send_signal(signal.SIGINT)
        assert writer.wait(timeout=60) != 0
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "0.5,0.5\n0.25,0.75\n",
        "yes,no\n0.5,0.5\n0.25,0.75\n",
        "value,yes,no\na,0.5,0.5\nb,0.25,0.75\n",
        "a,0.5,0.5\nb,0.25,0.75\n",
        ",yes,no\n0,0.5,0.5\n1,0.25,0.75\n",
        "0,5;0,5\n0,25;0,75\n",
        "yes;no\n0.5;0.5\n0.25;0.75\n",
        '# a comment\n\n"0.5","0.5"  # another\n"0.25",0.75\n',
        "\ufeff0.5,0.5\r\n0.25,0.75\r\n",
    ],
)
def test_tables_of_numbers_as_people_save_them(text: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8")
    assert read_numbers(path, "table").tolist() == [[0.5, 0.5], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# comment\n\nyes,no\n0.5,0.5\n0.5,x\n", "'x' in line 5 is not a number"),
        ("0.5,0.5\n\n0.5\n", "line 3 has 1 columns, and line 1 has 2"),
        ("a,0.5,0.5\n0.25,0.75,0\n", "'a' in line 1 is not a number"),
        ("value\napple\n", "'apple' in line 2 is not a number"),
    ],
)
def test_lines_that_are_wrong_are_counted_as_an_editor_does(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match=said):
        read_numbers(path, "table")
