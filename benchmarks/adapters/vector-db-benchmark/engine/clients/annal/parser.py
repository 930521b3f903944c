from typing import Any, List, Optional

from annal import filters

from engine.base_client import IncompatibilityError
from engine.base_client.parser import BaseConditionParser, FieldValue


class AnnalConditionParser(BaseConditionParser):
    def build_condition(self, and_subfilters: Optional[List[Any]], or_subfilters: Optional[List[Any]]) -> Optional[Any]:
        conditions = list(and_subfilters or [])
        if or_subfilters:
            conditions.append(filters.any_of(*or_subfilters))
        return conditions

    def build_exact_match_filter(self, field_name: str, value: FieldValue) -> Any:
        return filters.eq(field_name, value)

    def build_match_any_filter(self, field_name: str, values: List[FieldValue]) -> Any:
        return filters.one_of(field_name, values)

    def build_range_filter(
        self,
        field_name: str,
        lt: Optional[FieldValue],
        gt: Optional[FieldValue],
        lte: Optional[FieldValue],
        gte: Optional[FieldValue],
    ) -> Any:
        """Bounds are numbers, or times in the form of RFC 3339."""
        bounds = ((filters.lt, lt), (filters.gt, gt), (filters.lte, lte), (filters.gte, gte))
        conditions = [build(field_name, bound) for build, bound in bounds if bound is not None]
        return conditions[0] if len(conditions) == 1 else filters.all_of(*conditions)

    def build_match_text_filter(self, field_name: str, text: str) -> Any:
        raise IncompatibilityError("a filter of Annal compares whole values, not the words of a text")

    def build_geo_filter(self, field_name: str, lat: float, lon: float, radius: float) -> Any:
        raise IncompatibilityError("Annal has no conditions on geographic positions")
