"""A file is the old one or the new one, whatever happens while it is written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shuffledp._support.files import replacing, write_text_atomically


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
