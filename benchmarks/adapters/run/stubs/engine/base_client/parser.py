"""Stands in for the parser of conditions: calls the methods of an engine for each condition of a data set."""

from typing import Any, Union

FieldValue = Union[str, int, float]


class BaseConditionParser:
    def parse(self, meta_conditions):
        if not meta_conditions:
            return None
        return self.build_condition(
            *([self._condition(entry) for entry in meta_conditions.get(name) or []] or None for name in ("and", "or"))
        )

    def _condition(self, entry) -> Any:
        ((name, tests),) = entry.items()
        ((kind, criteria),) = tests.items()
        if kind == "range":
            return self.build_range_filter(name, *(criteria.get(bound) for bound in ("lt", "gt", "lte", "gte")))
        if kind == "geo":
            return self.build_geo_filter(name, **criteria)
        if "any" in criteria:
            return self.build_match_any_filter(name, criteria["any"])
        if "text" in criteria:
            return self.build_match_text_filter(name, criteria["text"])
        return self.build_exact_match_filter(name, criteria["value"])
