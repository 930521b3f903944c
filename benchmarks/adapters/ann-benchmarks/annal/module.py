"""Annal as a server of its own, which this module starts in a temporary directory and stops at the end.

``ANN_BENCHMARKS_ANNAL_URL`` is the URL of a running server to use instead.
"""

import os
import re
import shutil
import subprocess
import tempfile
from multiprocessing.pool import ThreadPool

from annal import Annal as AnnalClient
from annal import NotFoundError

from ..base.module import BaseANN

SPACE_TYPES = {"angular": "cosine", "euclidean": "l2", "ip": "ip"}
COLLECTION = "ann_benchmarks"
FIELD = "vector"
# A batch of searches has at most 100.
SEARCHES_MAX = 100
OBJECTS_PER_REQUEST = 1_000
TIMEOUT_SECONDS = 600.0


class Annal(BaseANN):
    def __init__(self, metric, method_param):
        if metric not in SPACE_TYPES:
            raise ValueError(f"Annal has no metric {metric}; it has {', '.join(sorted(SPACE_TYPES))}")
        self._params = {
            "space_type": SPACE_TYPES[metric],
            "precision": method_param.get("precision", "int8"),
            "M": method_param["M"],
            "ef_con": method_param["efConstruction"],
        }
        self._ef = 128
        self._rescore = None
        self._process = None
        self._folder = None
        self._res = []
        url = os.environ.get("ANN_BENCHMARKS_ANNAL_URL") or self._start()
        self._client = AnnalClient(base_url=url, timeout=TIMEOUT_SECONDS, pool_size=os.cpu_count() + 1)
        self._collection = None
        self._label()

    def _start(self):
        self._folder = tempfile.mkdtemp(prefix="annal-")
        environment = {**os.environ, "NDD_SERVER_PORT": "0", "NDD_DATA_DIR": self._folder, "NDD_ARCHIVE_HOURS": "0"}
        command = [os.environ.get("ANN_BENCHMARKS_ANNAL_COMMAND", "annal"), "serve"]
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for line in self._process.stdout:
            address = re.search(r"http://\S+", line)
            if address is not None:
                return address.group()
        raise RuntimeError(f"the server exited with {self._process.wait()} before it was ready")

    def fit(self, X):
        try:
            self._client.delete_collection(COLLECTION)
        except NotFoundError:
            pass
        params = {"dimension": int(X.shape[1]), **self._params}
        self._client.create_collection(COLLECTION, [{"name": FIELD, "type": "vector", "params": params}])
        self._collection = self._client.get_collection(COLLECTION)
        objects = ({"id": str(i), "fields": {FIELD: row}} for i, row in enumerate(X))
        self._collection.load(objects, batch_size=OBJECTS_PER_REQUEST, concurrency=2)

    def set_query_arguments(self, ef, rescore=None):
        self._ef = ef
        self._rescore = rescore
        self._label()

    def query(self, v, n):
        # Annal keeps at least as many candidates as it returns.
        found = self._collection.search({FIELD: v}, limit=n, ef_search=self._ef, rescore=self._rescore)
        return [int(hit["id"]) for hit in found["results"][FIELD]]

    def batch_query(self, X, n):
        starts = range(0, len(X), SEARCHES_MAX)
        with ThreadPool(min(os.cpu_count(), max(len(starts), 1))) as pool:
            parts = pool.map(lambda start: self._query_part(X[start : start + SEARCHES_MAX], n), starts)
        self._res = [ids for part in parts for ids in part]

    def _query_part(self, X, n):
        options = {"limit": n, "ef_search": self._ef}
        if self._rescore is not None:
            options["rescore"] = self._rescore
        results = self._collection.search_batch([{"fields": {FIELD: row}, **options} for row in X])
        return [[int(hit["id"]) for hit in result["results"][FIELD]] for result in results]

    def get_batch_results(self):
        return self._res

    def get_memory_usage(self):
        """Of the server, in kilobytes; 0 for a server that this module has not started."""
        if self._process is None:
            return 0.0
        with open(f"/proc/{self._process.pid}/status") as status:
            return float(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

    def done(self):
        self._client.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _label(self):
        params = self._params
        rescored = "" if self._rescore is None else f", rescore={self._rescore}"
        self.name = f"Annal(precision={params['precision']}, M={params['M']}, efConstruction={params['ef_con']}, ef={self._ef}{rescored})"
