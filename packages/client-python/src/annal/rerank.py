"""Combines the lists of several fields in the client; ``search(fusion=...)`` does it on the server."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from .errors import InvalidArgumentError


def rerank(
    search_results: Mapping[str, Any],
    name: str = "rrf",
    limit: int = 10,
    field_weights: Optional[Mapping[str, float]] = None,
    rrf_k: float = 60,
) -> Dict[str, List[Dict[str, Any]]]:
    """Weighted reciprocal ranks: the sum of weight / (k + rank) over the fields, ranks from 1."""
    if name != "rrf":
        raise InvalidArgumentError(f"unknown method {name!r}; the only one is 'rrf'", field="name", value=name)
    lists: Mapping[str, List[Dict[str, Any]]] = search_results.get("results", search_results)
    even = 1.0 / max(len(lists), 1)
    scores: Dict[str, float] = {}
    hits: Dict[str, Dict[str, Any]] = {}
    for field, found in lists.items():
        weight = even if field_weights is None else field_weights.get(field, 0.0)
        for rank, hit in enumerate(found, start=1):
            scores[hit["id"]] = scores.get(hit["id"], 0.0) + weight / (rrf_k + rank)
            hits.setdefault(hit["id"], hit)
    best = sorted(scores, key=lambda identifier: (-scores[identifier], identifier))[:limit]
    return {"results": [{**hits[identifier], "similarity": scores[identifier]} for identifier in best]}
