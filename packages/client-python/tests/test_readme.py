"""Every program of the README runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Server

PAGE = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_first_collection(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    program = PROGRAMS[0].replace("Annal()", f"Annal(base_url={server.address!r})")
    exec(compile(program, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert re.match(r"alien 0\.9\d* \{'title': 'Alien'\}", printed) and "paterson" not in printed
