"""Annal for the filtered track: the tags of a row are one filter value, a list of numbers, and a query has a condition for each of its tags.

``ANNAL_URL`` is the URL of a running server. Without it, this module starts ``annal serve`` in a folder below ``data/``, which keeps the
index for the next run.
"""

import os
import re
import subprocess
from multiprocessing.pool import ThreadPool

import numpy as np

from annal import Annal as AnnalClient
from annal import NotFoundError
from benchmark.datasets import DATASETS
from neurips23.filter.base import BaseFilterANN

SPACE_TYPES = {"euclidean": "l2", "ip": "ip", "angular": "cosine"}
VECTOR, TAGS = "vector", "tags"
ROWS_PER_REQUEST = 1_000
SEARCHES_PER_REQUEST = 100
TIMEOUT_SECONDS = 600.0


class Annal(BaseFilterANN):
    def __init__(self, metric, index_params):
        if metric not in SPACE_TYPES:
            raise ValueError(f"Annal has no metric {metric}; it has {', '.join(sorted(SPACE_TYPES))}")
        self._params = {
            "space_type": SPACE_TYPES[metric],
            "precision": index_params.get("precision", "int8"),
            "M": index_params.get("M", 16),
            "ef_con": index_params.get("ef_construction", 128),
        }
        self._threads = index_params.get("threads", os.cpu_count())
        self._options = {"ef_search": 128}
        self._server = None
        self._collection = None
        self.I = None
        self._client = AnnalClient(
            base_url=os.environ.get("ANNAL_URL") or self._start(), timeout=TIMEOUT_SECONDS, pool_size=self._threads + 1
        )
        self._label()

    def track(self):
        return "filter"

    def _start(self):
        environment = {**os.environ, "NDD_SERVER_PORT": "0", "NDD_ARCHIVE_HOURS": "0"}
        environment.setdefault("NDD_DATA_DIR", os.path.join("data", "annal-filter"))
        command = [os.environ.get("ANNAL_COMMAND", "annal"), "serve"]
        self._server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for line in self._server.stdout:
            address = re.search(r"http://\S+", line)
            if address is not None:
                return address.group()
        raise RuntimeError(f"the server exited with {self._server.wait()} before it was ready")

    def index_name(self, dataset):
        params = self._params
        return f"{dataset}-{params['precision']}-M{params['M']}-ef{params['ef_con']}"

    def fit(self, dataset):
        ds = DATASETS[dataset]()
        name = self.index_name(dataset)
        try:
            self._client.delete_collection(name)
        except NotFoundError:
            pass
        params = {"dimension": int(ds.d), **self._params}
        self._client.create_collection(name, [{"name": VECTOR, "type": "vector", "params": params}])
        self._collection = self._client.get_collection(name)
        tags = ds.get_dataset_metadata() if ds.search_type() == "knn_filtered" else None
        self._collection.load(self._objects(ds, tags), batch_size=ROWS_PER_REQUEST, concurrency=2)

    @staticmethod
    def _objects(ds, tags):
        row = 0
        for part in ds.get_dataset_iterator(bs=ROWS_PER_REQUEST):
            for vector in np.asarray(part, dtype=np.float32):
                record = {"id": str(row), "fields": {VECTOR: vector}}
                if tags is not None:
                    record["filter"] = {TAGS: _words(tags, row)}
                yield record
                row += 1

    def load_index(self, dataset):
        """Whether the server has the whole collection of an earlier run."""
        try:
            collection = self._client.get_collection(self.index_name(dataset))
        except NotFoundError:
            return False
        if collection.count() != DATASETS[dataset]().nb:
            return False
        self._collection = collection
        return True

    def index_files_to_store(self, dataset):
        raise NotImplementedError("the index is in the data directory of the server")

    def set_query_arguments(self, query_args):
        names = {"ef": "ef_search", "prefilter_threshold": "prefilter_cardinality_threshold", "rescore": "rescore"}
        unknown = set(query_args) - set(names)
        if unknown:
            raise ValueError(f"unknown query arguments: {', '.join(sorted(unknown))}")
        self._options = {names[name]: value for name, value in query_args.items()}
        self._label()

    def query(self, X, k):
        self._run(X, None, k)

    def filtered_query(self, X, filter, k):
        self._run(X, filter, k)

    def _run(self, X, tags, k):
        queries = np.asarray(X, dtype=np.float32)
        self.I = np.full((len(queries), k), -1, dtype="int32")

        def run_part(start):
            searches = []
            for i in range(start, min(start + SEARCHES_PER_REQUEST, len(queries))):
                search = {"fields": {VECTOR: queries[i]}, "limit": k, **self._options}
                if tags is not None:
                    search["filter"] = [{TAGS: {"$eq": word}} for word in _words(tags, i)]
                searches.append(search)
            for i, result in enumerate(self._collection.search_batch(searches), start):
                ids = [int(hit["id"]) for hit in result["results"][VECTOR]]
                self.I[i, : len(ids)] = ids

        with ThreadPool(self._threads) as pool:
            pool.map(run_part, range(0, len(queries), SEARCHES_PER_REQUEST), chunksize=1)

    def get_results(self):
        return self.I

    def done(self):
        self._client.close()
        if self._server is not None:
            self._server.terminate()
            self._server.wait()

    def _label(self):
        self.name = f"Annal({self._params}, {self._options})"


def _words(matrix, row):
    """The tags of a row of the metadata, a matrix in CSR form."""
    return matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()
