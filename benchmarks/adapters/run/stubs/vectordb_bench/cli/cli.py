"""Stands in for the command line: options come from annotations, and ``run`` keeps what it is called with."""

from typing import Annotated, TypedDict, get_type_hints

import click


class CommonTypedDict(TypedDict):
    db_label: Annotated[str, click.option("--db-label", type=str, default="")]


class HNSWFlavor1(TypedDict):
    m: Annotated[int, click.option("--m", type=int)]
    ef_construction: Annotated[int, click.option("--ef-construction", type=int)]
    ef_search: Annotated[int, click.option("--ef-search", type=int)]


runs = []


@click.group()
def cli():
    ...


def click_parameter_decorators_from_typed_dict(parameters):
    options = [hint.__metadata__[0] for hint in get_type_hints(parameters, include_extras=True).values()]

    def decorate(function):
        for option in options:
            function = option(function)
        return function

    return decorate


def run(db, db_config, db_case_config, **parameters):
    runs.append((db, db_config, db_case_config))
