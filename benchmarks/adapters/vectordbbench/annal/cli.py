from typing import Annotated, TypedDict, Unpack

import click
from pydantic import SecretStr

from ....cli.cli import (
    CommonTypedDict,
    HNSWFlavor1,
    cli,
    click_parameter_decorators_from_typed_dict,
    run,
)
from .. import DB


class AnnalTypedDict(TypedDict):
    url: Annotated[
        str,
        click.option("--url", type=str, default="http://127.0.0.1:8080", show_default=True, help="URL of the server"),
    ]
    token: Annotated[
        str | None,
        click.option(
            "--token", type=str, default=None, envvar="ANNAL_TOKEN", help="Token of a database, if it has tokens"
        ),
    ]
    precision: Annotated[
        str,
        click.option(
            "--precision",
            type=click.Choice(["binary", "int2", "int4", "int8", "int16", "float16", "float32"]),
            default="int8",
            show_default=True,
            help="Encoding of vectors in memory",
        ),
    ]
    recall: Annotated[
        float | None,
        click.option(
            "--recall", type=float, default=None, help="Recall that the server chooses ef for, instead of --ef-search"
        ),
    ]
    rescore: Annotated[
        bool | None,
        click.option("--rescore/--no-rescore", default=None, help="Order the best candidates by the vectors as given"),
    ]
    prefilter_threshold: Annotated[
        int | None,
        click.option(
            "--prefilter-threshold", type=int, default=None, help="Compare all matches of a filter up to this number"
        ),
    ]


class AnnalHNSWTypedDict(CommonTypedDict, AnnalTypedDict, HNSWFlavor1):
    ...


@cli.command()
@click_parameter_decorators_from_typed_dict(AnnalHNSWTypedDict)
def Annal(**parameters: Unpack[AnnalHNSWTypedDict]):
    from .config import AnnalConfig, AnnalIndexConfig

    index = {
        "precision": parameters["precision"],
        "M": parameters["m"],
        "ef_construction": parameters["ef_construction"],
        "ef_search": parameters["ef_search"],
        "recall": parameters["recall"],
        "rescore": parameters["rescore"],
        "prefilter_threshold": parameters["prefilter_threshold"],
    }
    run(
        db=DB.Annal,
        db_config=AnnalConfig(
            db_label=parameters["db_label"],
            url=parameters["url"],
            token=SecretStr(parameters["token"]) if parameters["token"] else None,
        ),
        db_case_config=AnnalIndexConfig(**{name: value for name, value in index.items() if value is not None}),
        **parameters,
    )
