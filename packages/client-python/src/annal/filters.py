"""Functions that build conditions: ``[eq("color", "red"), between("price", 10, 20)]``."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence, Union

Condition = Dict[str, Any]
Ordered = Union[float, str]
"""A number, or a time as an RFC 3339 string."""


def eq(field: str, value: Any) -> Condition:
    return {field: {"$eq": value}}


def ne(field: str, value: Any) -> Condition:
    """Also matches objects without the key."""
    return {field: {"$ne": value}}


def one_of(field: str, values: Sequence[Any]) -> Condition:
    return {field: {"$in": list(values)}}


def none_of(field: str, values: Sequence[Any]) -> Condition:
    """Also matches objects without the key."""
    return {field: {"$nin": list(values)}}


def between(field: str, start: Ordered, end: Ordered) -> Condition:
    """Includes both ends."""
    return {field: {"$range": [start, end]}}


def gt(field: str, value: Ordered) -> Condition:
    return {field: {"$gt": value}}


def gte(field: str, value: Ordered) -> Condition:
    return {field: {"$gte": value}}


def lt(field: str, value: Ordered) -> Condition:
    return {field: {"$lt": value}}


def lte(field: str, value: Ordered) -> Condition:
    return {field: {"$lte": value}}


def exists(field: str, wanted: bool = True) -> Condition:
    return {field: {"$exists": wanted}}


def all_of(*conditions: Mapping[str, Any]) -> Condition:
    return {"$and": [dict(condition) for condition in conditions]}


def any_of(*conditions: Mapping[str, Any]) -> Condition:
    return {"$or": [dict(condition) for condition in conditions]}


def not_(condition: Mapping[str, Any]) -> Condition:
    return {"$not": dict(condition)}
