"""Packages whose modules are loaded when they are first used."""

import sys
from pathlib import Path

import pytest

from shuffledp import profiles
from shuffledp._support.later import modules_of


def test_a_module_is_loaded_when_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_house"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from shuffledp._support.later import modules_of\n__getattr__ = modules_of(__name__)\n"
    )
    (package / "room.py").write_text("from . import door\nsize = 3\n")
    (package / "door.py").write_text("")
    (package / "broken.py").write_text("import there_is_no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    import some_house  # type: ignore[import-not-found]

    assert "some_house.room" not in sys.modules
    assert some_house.room.size == 3
    assert {"some_house.room", "some_house.door"} <= set(sys.modules)
    assert not hasattr(some_house, "cellar")
    with pytest.raises(ModuleNotFoundError, match="there_is_no_such_module"):
        some_house.broken  # noqa: B018


def test_what_is_no_module_is_told_like_any_other_name() -> None:
    with pytest.raises(
        AttributeError, match=r"module 'shuffledp.profiles' has no attribute 'part'"
    ):
        profiles.part  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute '__wrapped__'"):
        modules_of("shuffledp.profiles")("__wrapped__")
