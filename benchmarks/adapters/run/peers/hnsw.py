"""hnswlib behind each interface, with the same M and efConstruction. It is a library without filters, a log, or a server."""

import os
import tempfile
from contextlib import contextmanager

import hnswlib
import numpy as np

from engine.base_client.configure import BaseConfigurator
from engine.base_client.distances import Distance
from engine.base_client.search import BaseSearcher
from engine.base_client.upload import BaseUploader
from vectordb_bench.backend.clients.api import VectorDB

NAME = "hnswlib"
METRICS_OF_ANN = {"euclidean": "l2", "angular": "cosine", "ip": "ip"}
# In a folder of this process and those that it starts.
os.environ.setdefault("ANNAL_PEER_HNSWLIB", tempfile.mkdtemp(prefix="annal-hnswlib-"))


class File:
    """An index that processes hand over as a file: written when it is closed after an insert, loaded when it is opened."""

    def __init__(self, metric, dimension, ef_construction=128):
        self.path = os.path.join(os.environ["ANNAL_PEER_HNSWLIB"], "index")
        self.metric, self.dimension = metric, dimension
        self.index, self.is_changed, self.ef_construction = None, False, ef_construction

    def clear(self):
        if os.path.exists(self.path):
            os.remove(self.path)

    def open(self):
        self.index = hnswlib.Index(space=self.metric, dim=self.dimension)
        if os.path.exists(self.path):
            self.index.load_index(self.path)
        else:
            self.index.init_index(1_000, ef_construction=self.ef_construction, M=16)
        self.index.set_ef(128)

    def add(self, ids, vectors):
        wanted = self.index.get_current_count() + len(ids)
        if wanted > self.index.get_max_elements():
            self.index.resize_index(2 * wanted)
        self.index.add_items(np.asarray(vectors, dtype=np.float32), np.asarray(ids))
        self.is_changed = True

    def close(self):
        if self.is_changed:
            self.index.save_index(self.path)
        self.index, self.is_changed = None, False

    def search(self, vector, k):
        return self.index.knn_query(np.asarray([vector], dtype=np.float32), k=k, num_threads=1)[0][0].tolist()


class VectorDBBenchPeer(VectorDB):
    name = NAME
    thread_safe = False

    def __init__(self, dim, db_config, db_case_config, collection_name="vdbbench", drop_old=False, **kwargs):
        self.file = File(db_case_config["metric"], dim)
        self.file.clear()

    @contextmanager
    def init(self):
        self.file.open()
        try:
            yield
        finally:
            self.file.close()

    def insert_embeddings(self, embeddings, metadata, labels_data=None, tenant_labels_data=None, **kwargs):
        self.file.add(metadata, embeddings)
        return len(metadata), None

    def optimize(self, data_size=None):
        ...

    def search_embedding(self, query, k=100, payload_profile=None, tenant=None):
        return self.file.search(query, k)


class AnnBenchmarksPeer:
    def __init__(self, metric, method_param):
        self._metric, self._params, self._index, self._results = METRICS_OF_ANN[metric], method_param, None, None

    def fit(self, X):
        self._index = hnswlib.Index(space=self._metric, dim=X.shape[1])
        self._index.init_index(len(X), ef_construction=self._params["efConstruction"], M=self._params["M"])
        self._index.add_items(X)

    def set_query_arguments(self, ef):
        self._index.set_ef(ef)

    def query(self, v, n):
        return self._index.knn_query(v[np.newaxis], k=n, num_threads=1)[0][0]

    def batch_query(self, X, n):
        self._results = self._index.knn_query(X, k=n)[0]

    def get_batch_results(self):
        return self._results

    def get_memory_usage(self):
        with open("/proc/self/status") as status:
            return next(float(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def done(self):
        self._index = None

    def __str__(self):
        return NAME


class Configurator(BaseConfigurator):
    def clean(self):
        ...

    def recreate(self, dataset, collection_params):
        Uploader.file = File(_metric(dataset.config.distance), dataset.config.vector_size)
        Uploader.file.clear()
        Searcher.file = Uploader.file


class Uploader(BaseUploader):
    file = None

    @classmethod
    def init_client(cls, host, distance, connection_params, upload_params):
        cls.file.open()

    @classmethod
    def upload_batch(cls, batch):
        cls.file.add([record.id for record in batch], [record.vector for record in batch])

    @classmethod
    def delete_client(cls):
        cls.file.close()


class Searcher(BaseSearcher):
    file = None

    @classmethod
    def init_client(cls, host, distance, connection_params, search_params):
        cls.file.open()

    @classmethod
    def search_one(cls, query, top):
        return [(number, 0.0) for number in cls.file.search(query.vector, top)]


def _metric(distance):
    return {Distance.L2: "l2", Distance.COSINE: "cosine", Distance.DOT: "ip"}[distance]


def vector_db_benchmark_peer(parallel):
    engine = {"name": NAME, "host": "", "configurator": Configurator, "uploader": Uploader, "searcher": Searcher}
    experiment = {
        "connection_params": {},
        "collection_params": {},
        "upload_params": {"parallel": 1, "batch_size": 1_000},
        "search_params": [{"parallel": one, "config": {"ef_search": 128}} for one in parallel],
    }
    return engine, experiment
