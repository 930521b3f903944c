"""Stands in for what a search returns for each hit."""

from enum import Enum


class PayloadProfile(str, Enum):
    IDS_ONLY = "ids_only"
    VECTOR = "vector"
    SCALAR_LABEL = "scalar_label"
    TEXT = "text"
