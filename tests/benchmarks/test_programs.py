"""Programs that benchmarks run beside Python."""

import importlib.util
import shutil

import pytest

from benchmarks import programs


@pytest.mark.service
def test_node_is_found_where_the_tests_have_it() -> None:
    try:
        assert "node" in programs.node()
    except programs.MissingProgramError as error:
        pytest.skip(str(error))


def test_without_node_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(programs.MissingProgramError, match="apt-get install nodejs"):
        programs.node()
