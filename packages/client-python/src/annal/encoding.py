"""Vectors, meta and batches on the wire. Numbers are sent as 32-bit floats in MessagePack, a quarter of the size of JSON."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from datetime import datetime, timezone
from numbers import Integral, Real
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import msgpack

from .errors import InvalidArgumentError

"""Keeps an all-zero vector from being divided by zero, as the published clients do."""

_FLOAT32_MAX = 3.4028234663852886e38


def plain(value: Any) -> Any:
    """For ``json.dumps``: converts NumPy arrays and scalars to lists, numbers, booleans or strings."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__} cannot be converted to JSON")


_STORED_BYTES_MAX = 65_536
_PLAIN_BYTES_MAX = 1_048_576
_RATIO_MAX = 100
_DEPTH_MAX = 256
# A bracket, or a string, in which brackets do not count.
_BRACKETS = re.compile(rb'[{}\[\]]|"(?:[^"\\]|\\.)*"')
_REPLY_PLAIN_BYTES_MAX = 64 * _PLAIN_BYTES_MAX
"""Limits for inflating meta: per object, above the largest uncompressed size also a multiple of its bytes; and per reply."""


def numbers(vector: Any, field: str) -> List[float]:
    """Converts a list or tuple of Python or NumPy numbers, or an array with ``tolist``, to a list of finite numbers."""
    values = vector.tolist() if hasattr(vector, "tolist") else vector
    if not isinstance(values, (list, tuple)):
        raise InvalidArgumentError(f"{field} must be a list of numbers", field=field, value=repr(vector)[:80])
    if _is_array_of_floats(vector):
        return list(values)
    if {float, int}.issuperset(map(type, values)) and all(-_FLOAT32_MAX <= value <= _FLOAT32_MAX for value in values):
        return list(values)
    return [_number(value, field, i) for i, value in enumerate(values)]


def _is_array_of_floats(vector: Any) -> bool:
    """Whether NumPy can say at once that every number is finite as a 32-bit float. A comparison with NaN is false."""
    if getattr(vector, "ndim", 0) != 1 or vector.dtype.kind not in "fiu" or len(vector) == 0:
        return False
    return bool(vector.min() >= -_FLOAT32_MAX and vector.max() <= _FLOAT32_MAX)


def _number(value: Any, field: str, i: int) -> float:
    if isinstance(value, float):
        number = float(value)
    elif isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    elif isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
    else:
        number = math.nan
    if math.isfinite(number):
        return number
    where = f"{field}[{i}]"
    message = f"{where} is not a finite number: {value!r}"[:200]
    raise InvalidArgumentError(message, field=where, value=repr(value)[:80])


def positions(indices: Any, field: str) -> List[int]:
    """Validates a list of sparse positions, integers from 0 to 2^32 - 1."""
    values = indices.tolist() if hasattr(indices, "tolist") else list(indices)
    for i, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**32:
            where = f"{field}[{i}]"
            message = f"{where} is not a valid position: {value!r}"[:200]
            raise InvalidArgumentError(message, field=where, value=repr(value)[:80])
    return [int(value) for value in values]


def identifier(value: Any, field: str) -> str:
    """Returns an id as a string; Python and NumPy integers become decimal digits."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    raise InvalidArgumentError(f"{field} must be a string or an integer", field=field, value=repr(value)[:80])


def sparse(value: Mapping[str, Any], field: str) -> Tuple[List[int], List[float]]:
    if "indices" not in value or "values" not in value:
        raise InvalidArgumentError(f"{field} must have indices and values", field=field, value=sorted(value))
    indices = positions(value["indices"], f"{field}.indices")
    values = numbers(value["values"], f"{field}.values")
    if len(indices) != len(values):
        message = f"{field} has {len(indices)} indices and {len(values)} values"
        raise InvalidArgumentError(message, field=field, value=len(indices), limit=len(values))
    return indices, values


def is_many(value: Any) -> bool:
    """True for several vectors rather than one."""
    if getattr(value, "ndim", None) is not None:
        return bool(value.ndim == 2)
    if not isinstance(value, (list, tuple)) or len(value) == 0:
        return False
    first = value[0]
    return isinstance(first, (list, tuple)) or getattr(first, "ndim", 0) > 0


def many(value: Any, field: str) -> List[List[float]]:
    return [numbers(vector, f"{field}[{i}]") for i, vector in enumerate(value)]


def pack_meta(meta: Any, field: str) -> bytes:
    if meta is None:
        return b""
    if isinstance(meta, (bytes, bytearray)):
        return bytes(meta)
    if not isinstance(meta, Mapping):
        raise InvalidArgumentError(f"{field} must be a dict or bytes", field=field, value=repr(meta)[:80])
    return zlib.compress(_json(meta, field)) if meta else b""


def _json(value: Any, field: str) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=plain).encode(
            "utf-8"
        )
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise InvalidArgumentError(f"{field} cannot be written as JSON: {error}", field=field) from error


class MetaReader:
    """Reads the meta of one reply. Meta that would inflate beyond a limit is returned as the stored bytes."""

    def __init__(self) -> None:
        self._left = _REPLY_PLAIN_BYTES_MAX

    def take(self, reply: Dict[str, Any]) -> Any:
        """Returns the stored dict, or the bytes if it was not a dict, and removes the other meta keys from the reply."""
        base64_text = reply.pop("meta_base64", None)
        limit = reply.pop("meta_limit", None)
        if base64_text is None:
            return reply.get("meta", {})
        stored = base64.b64decode(base64_text)
        return self._unpacked(stored) if limit == "reply" else stored

    def _unpacked(self, stored: bytes) -> Any:
        own = min(_PLAIN_BYTES_MAX, max(_STORED_BYTES_MAX, _RATIO_MAX * len(stored)))
        limit = min(own, self._left)
        if limit <= 0:
            return stored
        inflater = zlib.decompressobj()
        try:
            plain = inflater.decompress(stored, limit + 1)
        except zlib.error:
            self._left -= limit
            return stored
        self._left -= len(plain)
        if not inflater.eof or inflater.unused_data or len(plain) > limit:
            return stored
        try:
            meta = json.loads(plain.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return stored
        return meta if isinstance(meta, dict) and not _is_deep(plain) else stored


def _refuse_constant(name: str) -> Any:
    """JSON does not have NaN and Infinity, which Python accepts."""
    raise ValueError(name)


def _is_deep(text: bytes) -> bool:
    """Whether valid JSON is nested deeper than the server returns it."""
    depth = 0
    for bracket in _BRACKETS.findall(text):
        if bracket in b"{[":
            depth += 1
            if depth > _DEPTH_MAX:
                return True
        elif bracket in b"}]":
            depth -= 1
    return False


def _common(record: Mapping[str, Any], where: str) -> Tuple[str, bytes, str]:
    identity = identifier(record.get("id"), f"{where}.id")
    meta = pack_meta(record.get("meta"), f"{where}.meta")
    conditions = record.get("filter")
    text = "" if conditions is None else _json(conditions, f"{where}.filter").decode("utf-8")
    return identity, meta, text


def conditions(item: Mapping[str, Any]) -> Dict[str, Any]:
    """The conditions and the expiry of a write of an object."""
    names = ("if_absent", "if_lsn", "if_match")
    given = {name: item[name] for name in names if item.get(name) is not None}
    # None means never.
    given.update({name: item[name] for name in ("ttl_seconds", "expires_at") if name in item})
    if isinstance(given.get("expires_at"), datetime):
        given["expires_at"] = given["expires_at"].astimezone(timezone.utc).isoformat()
    return given


def object_batch(objects: Sequence[Mapping[str, Any]]) -> bytes:
    """``[[[id, meta, filter, {field: vector}, {field: [indices, values]}, {field: [vector, ...]}], ...]]``, with the text of conditions and
    ``{field: text}`` at the end."""
    return _packed([[_object(item, f"objects[{i}]") for i, item in enumerate(objects)]])


def _object(item: Mapping[str, Any], where: str) -> List[Any]:
    identity, meta, text = _common(item, where)
    vectors: Dict[str, Any] = {}
    sparses: Dict[str, Any] = {}
    multis: Dict[str, Any] = {}
    texts: Dict[str, str] = {}
    fields = item.get("fields")
    if not isinstance(fields, Mapping):
        raise InvalidArgumentError(f"{where}.fields must be a dict", field=f"{where}.fields", value=repr(fields)[:80])
    for name, value in fields.items():
        field = f"{where}.fields.{name}"
        if isinstance(value, str):
            texts[name] = value
        elif isinstance(value, Mapping):
            sparses[name] = list(sparse(value, field))
        elif is_many(value):
            multis[name] = many(value, field)
        else:
            vectors[name] = numbers(value, field)
    parts = [identity, meta, text, vectors, sparses, multis]
    given = conditions(item)
    if given or texts:
        parts.append(_json(given, where).decode("utf-8") if given else "")
    if texts:
        parts.append(texts)
    return parts


def record_batch(records: Sequence[Mapping[str, Any]]) -> bytes:
    """``[[id, meta, filter, norm, vector, sparse_indices?, sparse_values?], ...]``; without a norm, vectors travel as they are."""
    return _packed([_record(record, f"records[{i}]") for i, record in enumerate(records)])


def _record(record: Mapping[str, Any], where: str) -> List[Any]:
    identity, meta, text = _common(record, where)
    vector = numbers(record.get("vector"), f"{where}.vector")
    row: List[Any] = [identity, meta, text or "{}", None, vector]
    if record.get("sparse_indices") is not None or record.get("sparse_values") is not None:
        terms = {"indices": record.get("sparse_indices", []), "values": record.get("sparse_values", [])}
        row.extend(sparse(terms, where))
    return row


def _packed(value: Any) -> bytes:
    try:
        packed: bytes = msgpack.packb(value, use_single_float=True)
    except OverflowError as error:
        raise InvalidArgumentError(f"a number does not fit into 32 bits: {error}", field="fields") from error
    return packed
