"""Runs a module of ann-benchmarks as the harness does: memory, ``fit``, memory, and for each group of query arguments every query, or all
queries at once, several times; the best time counts. A neighbor counts if its distance is at most that of the true k-th, as there."""

import time

import numpy as np
import yaml

from contender import CpuTime, latencies, pid_of, report

HARNESS = "ann-benchmarks"
METRICS = {"l2": "euclidean", "cosine": "angular", "ip": "ip"}
EPSILON = 1e-3
PIDS = {"Annal": "ANNAL_PID", "pgvector": "ANNAL_PEER_POSTGRES_PID"}


def run_module(algorithm, data, options):
    """``algorithm`` is made with the first argument group; ``options.efs`` are its query arguments."""
    k = options.k
    try:
        before = algorithm.get_memory_usage()
        start = time.time()
        algorithm.fit(data.base)
        build = time.time() - start
        memory = algorithm.get_memory_usage() - before
        contender = str(algorithm).split("(")[0]
        report(HARNESS, contender, data.name, "build", rows=len(data.base), build_s=build, memory_mib=memory / 1024)
        limits = _limits(data, k)
        for ef in options.efs:
            algorithm.set_query_arguments(ef)
            for is_batch in (False, True):
                best, recall, times, cpu = _best(algorithm, data, is_batch, options, limits)
                figures = {} if is_batch else latencies(times)
                case = f"{'batch' if is_batch else 'single'}, ef = {ef}, k = {k}"
                report(HARNESS, contender, data.name, case, recall=recall, qps=1 / best, **figures, **cpu)
    finally:
        algorithm.done()


def _best(algorithm, data, is_batch, options, limits):
    best, recall, kept, spent = float("inf"), 0.0, [], {}
    for _ in range(options.runs):
        results, times = [], []
        cpu = CpuTime(_server_of(algorithm))
        if is_batch:
            start = time.time()
            algorithm.batch_query(data.queries, options.k)
            times = [(time.time() - start) / len(data.queries)] * len(data.queries)
            results = algorithm.get_batch_results()
        else:
            for query in data.queries:
                start = time.time()
                found = algorithm.query(query, options.k)
                times.append(time.time() - start)
                results.append(found)
        used = cpu.per(len(data.queries))
        mean = sum(times) / len(times)
        if mean < best:
            best, recall, kept, spent = mean, _recall(data, results, limits, options.k), times, used
    return best, recall, kept, spent


def _server_of(algorithm):
    """The library runs in a process that the module has started."""
    child = getattr(algorithm, "_process", None)
    return pid_of(PIDS.get(str(algorithm).split("(")[0], "")) if child is None else child.pid


def _limits(data, k):
    return np.array([_distances(data, query, truth[k - 1 : k])[0] for query, truth in zip(data.queries, data.truth)])


def _recall(data, results, limits, k):
    hits = sum(
        int((_distances(data, query, found[:k]) <= limit + EPSILON).sum())
        for query, found, limit in zip(data.queries, results, limits)
    )
    return hits / (len(limits) * k)


def _distances(data, query, numbers):
    rows = data.base[np.asarray(numbers, dtype=np.int64)].astype(np.float64)
    if data.metric == "l2":
        return np.linalg.norm(rows - query, axis=1)
    products = rows @ query.astype(np.float64)
    if data.metric == "ip":
        return -products
    return 1 - products / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))


def arguments_of(config_file, group):
    """The argument group of a run group in ``config.yml``."""
    with open(config_file) as text:
        (definition,) = yaml.safe_load(text)["float"]["any"]
    return definition["constructor"], definition["run_groups"][group]["arg_groups"][0]


def run(data, options, peers):
    from importlib import import_module

    for name in ("annal", "annal_embedded"):
        constructor, arguments = arguments_of(options.adapters / "ann-benchmarks" / name / "config.yml", options.group)
        module = import_module(f"ann_benchmarks.algorithms.{name}.module")
        run_module(getattr(module, constructor)(METRICS[data.metric], arguments), data, options)
    for make in peers:
        run_module(make(METRICS[data.metric], {"M": 16, "efConstruction": 200}), data, options)
