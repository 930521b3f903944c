"""Annal for the sparse track: inner products over inverted lists, which are searched exactly, so a query has no parameter.

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
from neurips23.sparse.base import BaseSparseANN

SPARSE = "sparse"
ROWS_PER_REQUEST = 1_000
SEARCHES_PER_REQUEST = 100
TIMEOUT_SECONDS = 600.0


class Annal(BaseSparseANN):
    def __init__(self, metric, index_params):
        if metric != "ip":
            raise ValueError(f"Annal compares sparse vectors by ip, not by {metric}")
        self._threads = index_params.get("threads", os.cpu_count())
        self._server = None
        self._collection = None
        self.I = None
        self._client = AnnalClient(
            base_url=os.environ.get("ANNAL_URL") or self._start(), timeout=TIMEOUT_SECONDS, pool_size=self._threads + 1
        )
        self.name = f"Annal(threads={self._threads})"

    def _start(self):
        environment = {**os.environ, "NDD_SERVER_PORT": "0", "NDD_ARCHIVE_HOURS": "0"}
        environment.setdefault("NDD_DATA_DIR", os.path.join("data", "annal-sparse"))
        command = [os.environ.get("ANNAL_COMMAND", "annal"), "serve"]
        self._server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for line in self._server.stdout:
            address = re.search(r"http://\S+", line)
            if address is not None:
                return address.group()
        raise RuntimeError(f"the server exited with {self._server.wait()} before it was ready")

    def fit(self, dataset):
        ds = DATASETS[dataset]()
        if ds.data_type() != "sparse":
            raise ValueError(f"{dataset} is not sparse")
        try:
            self._client.delete_collection(dataset)
        except NotFoundError:
            pass
        self._client.create_collection(dataset, [{"name": SPARSE, "type": "sparse"}])
        self._collection = self._client.get_collection(dataset)
        self._collection.load(self._objects(ds), batch_size=ROWS_PER_REQUEST, concurrency=2)

    @staticmethod
    def _objects(ds):
        row = 0
        for part in ds.get_dataset_iterator(bs=ROWS_PER_REQUEST):
            for i in range(part.shape[0]):
                yield {"id": str(row), "fields": {SPARSE: _terms(part, i)}}
                row += 1

    def load_index(self, dataset):
        """Whether the server has the whole collection of an earlier run."""
        try:
            collection = self._client.get_collection(dataset)
        except NotFoundError:
            return False
        if collection.count() != DATASETS[dataset]().nb:
            return False
        self._collection = collection
        return True

    def index_files_to_store(self, dataset):
        raise NotImplementedError("the index is in the data directory of the server")

    def set_query_arguments(self, query_args):
        if query_args:
            raise ValueError(f"unknown query arguments: {', '.join(sorted(query_args))}")

    def query(self, X, k):
        self.I = np.full((X.shape[0], k), -1, dtype="int32")

        def run_part(start):
            stop = min(start + SEARCHES_PER_REQUEST, X.shape[0])
            searches = [{"fields": {SPARSE: _terms(X, i)}, "limit": k} for i in range(start, stop)]
            for i, result in enumerate(self._collection.search_batch(searches), start):
                ids = [int(hit["id"]) for hit in result["results"][SPARSE]]
                self.I[i, : len(ids)] = ids

        with ThreadPool(self._threads) as pool:
            pool.map(run_part, range(0, X.shape[0], SEARCHES_PER_REQUEST), chunksize=1)

    def get_results(self):
        return self.I

    def done(self):
        self._client.close()
        if self._server is not None:
            self._server.terminate()
            self._server.wait()


def _terms(matrix, row):
    """A row of a matrix in CSR form."""
    own = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return {"indices": matrix.indices[own], "values": matrix.data[own]}
