"""Stands in for the registry of clients; the adapter is found where it is kept."""

from enum import Enum
from pathlib import Path

__path__.append(str(Path(__file__).resolve().parents[5] / "vectordbbench"))


class DB(Enum):
    Annal = "Annal"
