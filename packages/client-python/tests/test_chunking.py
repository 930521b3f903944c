"""Chunks of texts, by the vectors that the client for TypeScript runs too. Offsets of the vectors are UTF-16 units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import pytest

import annal
from annal import InvalidArgumentError, chunk_text

VECTORS = json.loads((Path(__file__).parent / "chunking_vectors.json").read_text(encoding="utf-8"))


def units(text: str) -> int:
    """Length in UTF-16 units."""
    return sum(2 if ord(one) > 0xFFFF else 1 for one in text)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vectors(vector: Dict[str, Any]) -> None:
    text = vector["text"]
    chunks = chunk_text(text, **vector["options"])
    for chunk in chunks:
        assert text[chunk["start"] : chunk["end"]] == chunk["text"]
    in_units = [{**chunk, "start": units(text[: chunk["start"]]), "end": units(text[: chunk["end"]])} for chunk in chunks]
    assert in_units == vector["chunks"]


@pytest.mark.parametrize(
    ("options", "field", "message"),
    [
        ({"by": "pages"}, "by", "by must be sentences, tokens, markdown, or code, not pages"),
        ({"size": 0}, "size", "size must be a whole number from 1 to 10000, not 0"),
        ({"size": 10_001}, "size", "size must be a whole number from 1 to 10000, not 10001"),
        ({"size": 2.5}, "size", "size must be a whole number from 1 to 10000, not 2.5"),
        ({"size": True}, "size", "size must be a whole number from 1 to 10000, not True"),
        ({"size": 10, "overlap": 10}, "overlap", "overlap must be a whole number from 0 to 9, not 10"),
        ({"overlap": -1}, "overlap", "overlap must be a whole number from 0 to 199, not -1"),
        ({"parent": ""}, "parent", "parent must be a non-empty str"),
        ({"parent": 7}, "parent", "parent must be a non-empty str"),
    ],
)
def test_wrong_options(options: Dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        chunk_text("text", **options)
    assert raised.value.code == "invalid_argument"
    assert raised.value.field == field
    assert str(raised.value) == message


def test_wrong_text() -> None:
    with pytest.raises(InvalidArgumentError, match="text must be a str"):
        chunk_text(b"bytes")  # type: ignore[arg-type]
    assert annal.chunk_text is chunk_text
