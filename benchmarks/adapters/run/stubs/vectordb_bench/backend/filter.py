"""Stands in for the filters of cases."""

from dataclasses import dataclass
from enum import Enum


class FilterOp(str, Enum):
    NumGE = "NumGE"
    StrEqual = "Label"
    NonFilter = "NonFilter"


@dataclass(frozen=True)
class Filter:
    type: FilterOp = FilterOp.NonFilter
    filter_rate: float = 0.0


@dataclass(frozen=True)
class IntFilter(Filter):
    type: FilterOp = FilterOp.NumGE
    int_field: str = "id"
    int_value: int = 0


@dataclass(frozen=True)
class LabelFilter(Filter):
    type: FilterOp = FilterOp.StrEqual
    label_field: str = "labels"
    label_value: str = ""
