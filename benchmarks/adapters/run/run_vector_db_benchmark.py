"""Runs an engine of vector-db-benchmark as the harness does: configurator, uploader, then a searcher for each group of search parameters, with
``parallel`` processes that each open a client. Loads in parallel use a pool of processes as well."""

import functools
import json
import multiprocessing
import time

import numpy as np

from benchmark.dataset import Dataset as BenchmarkDataset
from benchmark.dataset import DatasetConfig
from contender import Clock, CpuTime, latencies, pid_of, report
from dataset_reader.base_reader import Query, Record, SparseVector
from engine.base_client.distances import Distance

HARNESS = "vector-db-benchmark"
PIDS = {"Annal": "ANNAL_PID", "pgvector": "ANNAL_PEER_POSTGRES_PID"}
METRICS = {"l2": Distance.L2, "cosine": Distance.COSINE, "ip": Distance.DOT}


def run_engine(engine, experiment, host, data, queries, records, config):
    """``engine`` has the classes ``configurator``, ``uploader``, and ``searcher``."""
    configurator = engine["configurator"](
        host,
        collection_params={**experiment["collection_params"]},
        connection_params={**experiment["connection_params"]},
    )
    configurator.execution_params(distance=config.distance, vector_size=config.vector_size)
    configurator.configure(BenchmarkDataset(config))
    stats = _upload(engine["uploader"], experiment, host, config, records)
    report(HARNESS, engine["name"], data, "upload", rows=len(records), **stats)
    for params in experiment["search_params"]:
        for case, own in queries.items():
            searcher = engine["searcher"](host, {**experiment["connection_params"]}, {**params})
            precision, rps, times, cpu = _search(searcher, config, own, params, pid_of(PIDS.get(engine["name"], "")))
            details = ", ".join(f"{name} = {value}" for name, value in params.get("config", {}).items())
            name = ", ".join(part for part in (case, details, f"parallel = {params['parallel']}") if part)
            report(HARNESS, engine["name"], data, name, precision=precision, rps=rps, **latencies(times), **cpu)
    configurator.delete_client()


def _upload(uploader_class, experiment, host, config, records):
    params = experiment["upload_params"]
    uploader = uploader_class(host, {**experiment["connection_params"]}, {**params})
    size = params.get("batch_size", 64)
    batches = [records[start : start + size] for start in range(0, len(records), size)]
    clock = Clock()
    arguments = (host, config.distance, uploader.connection_params, uploader.upload_params)
    uploader.init_client(*arguments)
    if params.get("parallel", 1) == 1:
        for batch in batches:
            uploader_class.upload_batch(batch)
    else:
        context = multiprocessing.get_context(uploader_class.get_mp_start_method())
        with context.Pool(params["parallel"], uploader_class.init_client, arguments) as pool:
            list(pool.imap(functools.partial(_upload_one, uploader_class), batches))
    seconds = clock.seconds
    after = uploader.post_upload(config.distance)
    figures = {"upload_s": seconds, "total_s": clock.seconds, **after}
    uploader.delete_client()
    return figures


def _upload_one(uploader_class, batch):
    uploader_class.upload_batch(batch)


def _search(searcher, config, queries, params, pid):
    searcher_class = type(searcher)
    arguments = (searcher.host, config.distance, searcher.connection_params, searcher.search_params)
    searcher.init_client(*arguments)
    searcher.setup_search()
    search_one = functools.partial(_search_one, searcher_class, params.get("top"))
    cpu = {}
    if params["parallel"] == 1:
        clock, used = Clock(), CpuTime(pid)
        results = [search_one(query) for query in queries]
        cpu = used.per(len(results))
    else:
        context = multiprocessing.get_context(searcher_class.get_mp_start_method())
        with context.Pool(params["parallel"], searcher_class.init_client, arguments) as pool:
            time.sleep(2)  # The harness waits 15 seconds for all processes to start.
            clock = Clock()
            results = list(pool.imap_unordered(search_one, queries))
    seconds = clock.seconds
    searcher_class.delete_client()
    precisions, times = zip(*results)
    return float(np.mean(precisions)), len(times) / seconds, times, cpu


def _search_one(searcher_class, top, query):
    top = top or len(query.expected_result)
    start = time.perf_counter()
    found = searcher_class.search_one(query, top)
    seconds = time.perf_counter() - start
    ids = {number for number, _ in found}
    return len(ids.intersection(query.expected_result[:top])) / top, seconds


def dense_case(data, k):
    """Records with metadata, and queries by case: without conditions, with a range, and with a match if the rows have labels."""
    labels = data.labels
    records = [
        Record(i, row, None, {"number": i, **({} if labels is None else {"label": str(labels[i])})})
        for i, row in enumerate(data.base.tolist())
    ]
    vectors = data.queries.tolist()
    numbers = np.arange(len(records))
    half = len(records) // 2
    cases = {"": (None, None), "range": ({"and": [{"number": {"range": {"gte": half}}}]}, numbers >= half)}
    if labels is not None:
        values, counts = np.unique(labels, return_counts=True)
        value = str(values[np.argmax(counts)])
        cases["match"] = ({"and": [{"label": {"match": {"value": value}}}]}, labels == value)
    queries = {}
    for case, (conditions, allowed) in cases.items():
        answers = data.answers(allowed, min(k, len(records) if allowed is None else int(allowed.sum())))
        queries[case] = [Query(vector, None, conditions, truth.tolist()) for vector, truth in zip(vectors, answers)]
    schema = {"number": "int", **({} if labels is None else {"label": "keyword"})}
    config = DatasetConfig(data.name, data.dimension, METRICS[data.metric], schema=schema)
    return records, queries, config


def sparse_case(name, base, queries, truth, k):
    records = [Record(i, None, SparseVector(*row), None) for i, row in enumerate(_rows(base))]
    queries = {"": [Query(None, SparseVector(*row), None, ids[:k].tolist()) for row, ids in zip(_rows(queries), truth)]}
    return records, queries, DatasetConfig(name, 0, Distance.DOT, type="sparse")


def _rows(matrix):
    for start, end in zip(matrix.indptr, matrix.indptr[1:]):
        yield matrix.indices[start:end].tolist(), matrix.data[start:end].tolist()


def experiment_of(file, name):
    with open(file) as text:
        (found,) = [one for one in json.load(text) if one["name"] == name]
    return found


def annal_engine():
    from engine.clients.annal import AnnalConfigurator, AnnalSearcher, AnnalUploader

    return {"name": "Annal", "configurator": AnnalConfigurator, "uploader": AnnalUploader, "searcher": AnnalSearcher}


def run(data, options, peers):
    records, queries, config = dense_case(data, options.k)
    configurations = options.adapters / "vector-db-benchmark" / "experiments" / "configurations"
    experiment = experiment_of(configurations / "annal-single-node.json", "annal-default")
    experiment["search_params"] = [
        {**one, "parallel": parallel} for one in experiment["search_params"] for parallel in options.parallel
    ]
    experiment["upload_params"] = {**experiment["upload_params"], "parallel": multiprocessing.cpu_count()}
    run_engine(annal_engine(), experiment, options.url, data.name, queries, records, config)
    for engine, own in peers:
        wanted = {case: one for case, one in queries.items() if case == "" or engine.get("filters")}
        run_engine(engine, own, engine["host"], data.name, wanted, records, config)


def run_sparse(name, base, queries, truth, options, peers):
    records, queries, config = sparse_case(name, base, queries, truth, options.k)
    configurations = options.adapters / "vector-db-benchmark" / "experiments" / "configurations"
    experiment = experiment_of(configurations / "annal-single-node.json", "annal-sparse")
    experiment["search_params"] = [{"parallel": parallel} for parallel in options.parallel]
    experiment["upload_params"] = {**experiment["upload_params"], "parallel": 1}
    run_engine(annal_engine(), experiment, options.url, name, queries, records, config)
    for engine, own in peers:
        own["search_params"] = experiment["search_params"]
        run_engine(engine, own, engine["host"], name, queries, records, config)
