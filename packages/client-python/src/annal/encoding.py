"""Vectors, meta and batches as they travel. Numbers go out as 32-bit floats in MessagePack, a quarter of the JSON."""

from __future__ import annotations

import base64
import json
import math
import zlib
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import msgpack

from .errors import InvalidArgumentError

_NORM_MIN = 1e-10
"""Keeps an all-zero vector from being divided by zero, as the published clients do."""


_STORED_BYTES_MAX = 65_536
_PLAIN_BYTES_MAX = 1_048_576
_RATIO_MAX = 100
_REPLY_PLAIN_BYTES_MAX = 64 * _PLAIN_BYTES_MAX
"""What meta may inflate to: of one object, beyond what is stored plain also so many times its bytes; of one reply."""


def numbers(vector: Any, field: str) -> List[float]:
    """A list of finite numbers out of a list, a tuple, a NumPy array or the like."""
    values = vector.tolist() if hasattr(vector, "tolist") else vector
    if not isinstance(values, (list, tuple)):
        raise InvalidArgumentError(f"{field} is not a list of numbers", field=field, value=repr(vector)[:80])
    for i, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            at = f"{field}[{i}]"
            raise InvalidArgumentError(f"{at} is not a finite number: {value!r}"[:200], field=at, value=repr(value)[:80])
    return list(values)


def positions(indices: Any, field: str) -> List[int]:
    values = indices.tolist() if hasattr(indices, "tolist") else list(indices)
    for i, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
            at = f"{field}[{i}]"
            raise InvalidArgumentError(f"{at} is not a position: {value!r}"[:200], field=at, value=repr(value)[:80])
    return list(values)


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
    """Several vectors rather than one."""
    if getattr(value, "ndim", None) is not None:
        return bool(value.ndim == 2)
    return isinstance(value, (list, tuple)) and len(value) > 0 and not isinstance(value[0], (int, float))


def many(value: Any, field: str) -> List[List[float]]:
    return [numbers(vector, f"{field}[{i}]") for i, vector in enumerate(value)]


def pack_meta(meta: Any, field: str) -> bytes:
    if meta is None:
        return b""
    if isinstance(meta, (bytes, bytearray)):
        return bytes(meta)
    if not isinstance(meta, Mapping):
        raise InvalidArgumentError(f"{field} is neither a dict nor bytes", field=field, value=repr(meta)[:80])
    return zlib.compress(_json(meta, field)) if meta else b""


def _json(value: Any, field: str) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise InvalidArgumentError(f"{field} is not JSON: {error}", field=field) from error


class MetaReader:
    """Reads the meta of one reply: what would inflate beyond a limit comes back as the bytes that are stored."""

    def __init__(self) -> None:
        self._left = _REPLY_PLAIN_BYTES_MAX

    def take(self, reply: Dict[str, Any]) -> Any:
        """The dict that was stored, or the bytes where it was none; its other names are removed from the reply."""
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
        if not inflater.eof or len(plain) > limit:
            return stored
        try:
            meta = json.loads(plain.decode("utf-8"))
        except ValueError:
            return stored
        return meta if isinstance(meta, dict) else stored


def _common(record: Mapping[str, Any], at: str) -> Tuple[str, bytes, str]:
    identifier = record.get("id")
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        identifier = str(identifier)
    if not isinstance(identifier, str):
        raise InvalidArgumentError(f"{at}.id is not a text", field=f"{at}.id", value=repr(identifier)[:80])
    meta = pack_meta(record.get("meta"), f"{at}.meta")
    conditions = record.get("filter")
    text = "" if conditions is None else _json(conditions, f"{at}.filter").decode("utf-8")
    return identifier, meta, text


def object_batch(objects: Sequence[Mapping[str, Any]]) -> bytes:
    """``[[[id, meta, filter, {field: vector}, {field: [indices, values]}, {field: [vector, ...]}], ...]]``"""
    return _packed([[_object(item, f"objects[{i}]") for i, item in enumerate(objects)]])


def _object(item: Mapping[str, Any], at: str) -> List[Any]:
    identifier, meta, text = _common(item, at)
    vectors: Dict[str, Any] = {}
    sparses: Dict[str, Any] = {}
    multis: Dict[str, Any] = {}
    fields = item.get("fields")
    if not isinstance(fields, Mapping):
        raise InvalidArgumentError(f"{at}.fields is not a dict", field=f"{at}.fields", value=repr(fields)[:80])
    for name, value in fields.items():
        field = f"{at}.fields.{name}"
        if isinstance(value, Mapping):
            sparses[name] = list(sparse(value, field))
        elif is_many(value):
            multis[name] = many(value, field)
        else:
            vectors[name] = numbers(value, field)
    return [identifier, meta, text, vectors, sparses, multis]


def record_batch(records: Sequence[Mapping[str, Any]], space_type: str) -> bytes:
    """``[[id, meta, filter, norm, vector, sparse_indices?, sparse_values?], ...]``, cosine vectors of unit length."""
    return _packed([_record(record, f"records[{i}]", space_type) for i, record in enumerate(records)])


def _record(record: Mapping[str, Any], at: str, space_type: str) -> List[Any]:
    identifier, meta, text = _common(record, at)
    vector = numbers(record.get("vector"), f"{at}.vector")
    norm = 1.0
    if space_type == "cosine":
        norm = max(math.sqrt(sum(value * value for value in vector)), _NORM_MIN)
        vector = [value / norm for value in vector]
    row: List[Any] = [identifier, meta, text or "{}", norm, vector]
    if record.get("sparse_indices") is not None or record.get("sparse_values") is not None:
        terms = {"indices": record.get("sparse_indices", []), "values": record.get("sparse_values", [])}
        row.extend(sparse(terms, at))
    return row


def _packed(value: Any) -> bytes:
    try:
        packed: bytes = msgpack.packb(value, use_single_float=True)
    except OverflowError as error:
        raise InvalidArgumentError(f"a number does not fit 32 bits: {error}", field="fields") from error
    return packed
