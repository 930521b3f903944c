"""Precisions of stored vectors, from smallest and fastest to most exact."""

from __future__ import annotations

from enum import Enum


class Precision(str, Enum):
    BINARY = "binary"
    INT2 = "int2"
    INT4 = "int4"
    INT8 = "int8"
    INT16 = "int16"
    FLOAT16 = "float16"
    FLOAT32 = "float32"
