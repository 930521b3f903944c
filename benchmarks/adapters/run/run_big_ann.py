"""Runs a module of the filtered or the sparse track of big-ann-benchmarks as the harness does: ``load_index`` or ``fit``, then for each group of
query arguments all queries in one call, several times; the best time counts. The data are files in the formats of the tracks."""

import time

import numpy as np
import yaml

from benchmark.datasets import DATASETS
from contender import CpuTime, pid_of, report
from data import read_bin, read_spmat, read_truth

HARNESS = "big-ann-benchmarks"
PIDS = {"Annal": "ANNAL_PID", "pgvector": "ANNAL_PEER_POSTGRES_PID"}


class FilteredFiles:
    """A data set of the filtered track in local files: ``base.u8bin`` or ``base.fbin``, ``query``, ``.metadata.spmat`` of both, ``GT.ibin``."""

    def __init__(self, folder):
        self._folder = folder
        self._base, self._queries = self._vectors("base"), self._vectors("query")
        self.nb, self.d = self._base.shape

    def _vectors(self, name):
        for ending, dtype in (("u8bin", "u1"), ("fbin", "<f4")):
            if (self._folder / f"{name}.{ending}").exists():
                return read_bin(self._folder / f"{name}.{ending}", dtype)
        raise FileNotFoundError(f"{self._folder} has neither {name}.u8bin nor {name}.fbin")

    def get_dataset_iterator(self, bs=512, split=(1, 0)):
        for start in range(0, self.nb, bs):
            yield np.asarray(self._base[start : start + bs], dtype=np.float32)

    def get_dataset(self):
        return np.asarray(self._base, dtype=np.float32)

    def get_queries(self):
        return np.asarray(self._queries, dtype=np.float32)

    def get_dataset_metadata(self):
        return read_spmat(self._folder / "base.metadata.spmat")

    def get_queries_metadata(self):
        return read_spmat(self._folder / "query.metadata.spmat")

    def get_groundtruth(self, k):
        ids, distances = read_truth(self._folder / "GT.ibin")
        return ids[:, :k], distances[:, :k]

    def distance(self):
        return "euclidean"

    def search_type(self):
        return "knn_filtered"

    def data_type(self):
        return "dense"


class SparseFiles:
    """A data set of the sparse track in local files: ``base.csr``, ``queries.csr``, ``base.gt``."""

    def __init__(self, folder):
        self._folder = folder
        self._base = read_spmat(folder / "base.csr")
        self.nb = self._base.shape[0]

    def get_dataset_iterator(self, bs=512, split=(1, 0)):
        for start in range(0, self.nb, bs):
            yield self._base[slice(start, min(start + bs, self.nb))]

    def get_queries(self):
        return read_spmat(self._folder / "queries.csr")

    def get_groundtruth(self, k):
        ids, distances = read_truth(self._folder / "base.gt")
        return ids[:, :k], distances[:, :k]

    def distance(self):
        return "ip"

    def search_type(self):
        return "knn"

    def data_type(self):
        return "sparse"


def run_module(algorithm, contender, dataset, groups, options):
    ds = DATASETS[dataset]()
    try:
        clock = time.time()
        built = not algorithm.load_index(dataset)
        if built:
            algorithm.fit(dataset)
        report(HARNESS, contender, dataset, "build" if built else "load", rows=ds.nb, build_s=time.time() - clock)
        queries, k = ds.get_queries(), options.k
        truth, scores = ds.get_groundtruth(k)
        for group in groups or [None]:
            if group is not None:
                algorithm.set_query_arguments(group)
            best, found, spent = float("inf"), None, {}
            for _ in range(options.runs):
                cpu = CpuTime(pid_of(PIDS.get(contender, "")))
                start = time.time()
                if ds.search_type() == "knn_filtered":
                    algorithm.filtered_query(queries, ds.get_queries_metadata(), k)
                else:
                    algorithm.query(queries, k)
                seconds = time.time() - start
                if seconds < best:
                    best, spent = seconds, cpu.per(queries.shape[0])
                found = algorithm.get_results()
                assert found.shape == (queries.shape[0], k)
            recall = _recall(found, truth, scores)
            arguments = ", ".join(f"{name} = {value}" for name, value in (group or {}).items())
            report(
                HARNESS,
                contender,
                dataset,
                arguments or "all queries",
                recall=recall,
                qps=queries.shape[0] / best,
                **spent,
            )
    finally:
        algorithm.done()


def _recall(found, truth, scores):
    """The harness counts ids; the truth of a query with fewer matches than k ends with -1."""
    hits = total = 0
    for own, wanted in zip(found, truth):
        known = set(wanted[wanted >= 0].tolist())
        hits += len(known.intersection(own[own >= 0].tolist()))
        total += len(known)
    return hits / total


def arguments_of(config_file):
    """The first definition of a ``config.yaml``: constructor arguments and groups of query arguments."""
    with open(config_file) as text:
        (definition,) = next(iter(yaml.safe_load(text).values())).values()
    group = definition["run-groups"]["base"]
    return definition, yaml.safe_load(group["args"])[0], yaml.safe_load(group["query-args"])


def run(track, folder, options, peers):
    from importlib import import_module

    name = folder.name
    DATASETS[name] = lambda: (FilteredFiles if track == "filter" else SparseFiles)(folder)
    definition, arguments, groups = arguments_of(
        options.adapters / "big-ann" / "neurips23" / track / "annal" / "config.yaml"
    )
    module = import_module(definition["module"])
    metric = DATASETS[name]().distance()
    run_module(getattr(module, definition["constructor"])(metric, arguments), "Annal", name, groups, options)
    for contender, make, own in peers:
        run_module(make(metric, {}), contender, name, own, options)
