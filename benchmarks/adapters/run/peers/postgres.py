"""pgvector behind each interface. The server speaks the protocol of PostgreSQL at ``ANNAL_PEER_POSTGRES``, a connection string."""

import os
import time
from contextlib import contextmanager

import numpy as np
import psycopg

from dataset_reader.base_reader import Query
from engine.base_client.configure import BaseConfigurator
from engine.base_client.distances import Distance
from engine.base_client.search import BaseSearcher
from engine.base_client.upload import BaseUploader
from vectordb_bench.backend.clients.api import VectorDB
from vectordb_bench.backend.filter import FilterOp

NAME = "pgvector"
OPERATORS = {"l2": "<->", "cosine": "<=>", "ip": "<#>"}
CLASSES = {"l2": "vector_l2_ops", "cosine": "vector_cosine_ops", "ip": "vector_ip_ops"}
METRICS_OF_ANN = {"euclidean": "l2", "angular": "cosine", "ip": "ip"}
ROWS_PER_STATEMENT = 1_000


def address():
    return os.environ["ANNAL_PEER_POSTGRES"]


def connect():
    """PGlite has one connection at a time, and refuses the next one until it has seen the end of the last."""
    for _ in range(50):
        try:
            return psycopg.connect(address(), autocommit=True)
        except psycopg.OperationalError:
            time.sleep(0.1)
    return psycopg.connect(address(), autocommit=True)


def text(vector):
    return "[" + ",".join(map(repr, np.asarray(vector, dtype=float).tolist())) + "]"


class Table:
    """One table with an HNSW index. A filtered search walks on until it has enough rows (``hnsw.iterative_scan``)."""

    def __init__(self, name="items"):
        self.name = name
        self.connection = connect()
        # PGlite has one session, which keeps what earlier connections have prepared.
        self.connection.execute("DEALLOCATE ALL", prepare=False)

    def create(self, dimension):
        self.connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self.connection.execute(f"DROP TABLE IF EXISTS {self.name}")
        self.connection.execute(
            f"CREATE TABLE {self.name} (id int PRIMARY KEY, label text, tags int[], embedding vector({dimension}))"
        )

    def insert(self, ids, vectors, labels=None, tags=None):
        for start in range(0, len(ids), ROWS_PER_STATEMENT):
            own = slice(start, start + ROWS_PER_STATEMENT)
            rows = len(ids[own])
            arrays = (
                list(map(int, ids[own])),
                [None] * rows if labels is None else list(map(str, labels[own])),
                [None] * rows if tags is None else ["{" + ",".join(map(str, one)) + "}" for one in tags[own]],
                [text(vector) for vector in vectors[own]],
            )
            self.connection.execute(
                f"INSERT INTO {self.name} (id, label, tags, embedding) SELECT i, l, t::int[], v::vector"
                " FROM unnest(%s::int[], %s::text[], %s::text[], %s::text[]) AS given (i, l, t, v)"
                " ON CONFLICT (id) DO UPDATE SET label = excluded.label, tags = excluded.tags, embedding = excluded.embedding",
                arrays,
            )

    def index(self, metric, m, ef_construction, with_filters=True):
        self.connection.execute("SET maintenance_work_mem = '512MB'")
        self.connection.execute(
            f"CREATE INDEX ON {self.name} USING hnsw (embedding {CLASSES[metric]})"
            f" WITH (m = {m}, ef_construction = {ef_construction})"
        )
        if with_filters:
            self.connection.execute(f"CREATE INDEX ON {self.name} (label)")
            self.connection.execute(f"CREATE INDEX ON {self.name} USING gin (tags)")
        self.connection.execute(f"ANALYZE {self.name}")

    def set_ef(self, ef):
        self.connection.execute(f"SET hnsw.ef_search = {ef}")
        self.connection.execute("SET hnsw.iterative_scan = strict_order")

    def search(self, metric, vector, limit, where="", values=()):
        query = f"SELECT id FROM {self.name} {where} ORDER BY embedding {OPERATORS[metric]} %s::vector LIMIT {limit}"
        rows = self.connection.execute(query, (*values, text(vector)), prepare=True).fetchall()
        return [number for (number,) in rows]

    def count(self):
        return self.connection.execute(f"SELECT count(*) FROM {self.name}").fetchone()[0]

    def close(self):
        self.connection.close()


class VectorDBBenchPeer(VectorDB):
    name = NAME
    thread_safe = False
    supported_filter_types = [FilterOp.NonFilter, FilterOp.NumGE, FilterOp.StrEqual]

    def __init__(self, dim, db_config, db_case_config, collection_name="vdbbench", drop_old=False, **kwargs):
        self.metric, self.where, self.values, self.table = db_case_config["metric"], "", (), None
        table = Table()
        table.create(dim)
        table.close()

    @contextmanager
    def init(self):
        self.table = Table()
        self.table.set_ef(128)
        try:
            yield
        finally:
            self.table.close()
            self.table = None

    def insert_embeddings(self, embeddings, metadata, labels_data=None, tenant_labels_data=None, **kwargs):
        self.table.insert(metadata, embeddings, labels_data)
        return len(metadata), None

    def optimize(self, data_size=None):
        self.table.index(self.metric, 16, 128)

    def prepare_filter(self, filters):
        if filters.type == FilterOp.NumGE:
            self.where, self.values = "WHERE id >= %s", (filters.int_value,)
        elif filters.type == FilterOp.StrEqual:
            self.where, self.values = "WHERE label = %s", (filters.label_value,)
        else:
            self.where, self.values = "", ()

    def search_embedding(self, query, k=100, payload_profile=None, tenant=None):
        return self.table.search(self.metric, query, k, self.where, self.values)


class AnnBenchmarksPeer:
    def __init__(self, metric, method_param):
        self._metric, self._params, self._table = METRICS_OF_ANN[metric], method_param, Table()
        self._results = []

    def fit(self, X):
        self._table.create(X.shape[1])
        self._table.insert(range(len(X)), X)
        self._table.index(self._metric, self._params["M"], self._params["efConstruction"], with_filters=False)

    def set_query_arguments(self, ef):
        self._table.set_ef(ef)

    def query(self, v, n):
        return self._table.search(self._metric, v, n)

    def batch_query(self, X, n):
        self._results = [self.query(v, n) for v in X]

    def get_batch_results(self):
        return self._results

    def get_memory_usage(self):
        return 0

    def done(self):
        self._table.close()

    def __str__(self):
        return NAME


class Configurator(BaseConfigurator):
    def clean(self):
        ...

    def recreate(self, dataset, collection_params):
        table = Table()
        table.create(dataset.config.vector_size)
        table.close()


class Uploader(BaseUploader):
    table = None

    @classmethod
    def init_client(cls, host, distance, connection_params, upload_params):
        cls.table = Table()

    @classmethod
    def upload_batch(cls, batch):
        labels = [(record.metadata or {}).get("label", "") for record in batch]
        cls.table.insert([record.id for record in batch], [record.vector for record in batch], labels)

    @classmethod
    def post_upload(cls, distance):
        cls.table.index(_metric(distance), 16, 128)
        return {}

    @classmethod
    def delete_client(cls):
        cls.table.close()


class Searcher(BaseSearcher):
    table = None
    metric = None

    @classmethod
    def init_client(cls, host, distance, connection_params, search_params):
        cls.table, cls.metric = Table(), _metric(distance)
        cls.table.set_ef(search_params["config"]["ef_search"])

    @classmethod
    def search_one(cls, query: Query, top):
        where, values = "", ()
        if query.meta_conditions:
            ((key, tests),) = query.meta_conditions["and"][0].items()
            is_range = "range" in tests
            where = "WHERE id >= %s" if is_range else "WHERE label = %s"
            values = (tests["range"]["gte"] if is_range else tests["match"]["value"],)
        return [(number, 0.0) for number in cls.table.search(cls.metric, query.vector, top, where, values)]

    @classmethod
    def delete_client(cls):
        cls.table.close()


def _metric(distance):
    return {Distance.L2: "l2", Distance.COSINE: "cosine", Distance.DOT: "ip"}[distance]


def vector_db_benchmark_peer():
    engine = {
        "name": NAME,
        "host": "",
        "filters": True,
        "configurator": Configurator,
        "uploader": Uploader,
        "searcher": Searcher,
    }
    experiment = {
        "connection_params": {},
        "collection_params": {},
        "upload_params": {"parallel": 1, "batch_size": 1_000},
        "search_params": [{"parallel": 1, "config": {"ef_search": 128}}],
    }
    return engine, experiment


class BigAnnFilterPeer:
    """The tags of a row are an array with a GIN index; the planner chooses between it and a walk of the graph."""

    def __init__(self, metric, index_params):
        self._metric, self._table, self.I = METRICS_OF_ANN[metric], Table(), None

    def load_index(self, dataset):
        return False

    def fit(self, dataset):
        from benchmark.datasets import DATASETS

        ds = DATASETS[dataset]()
        tags = ds.get_dataset_metadata()
        self._table.create(ds.d)
        row = 0
        for part in ds.get_dataset_iterator(bs=ROWS_PER_STATEMENT):
            numbers = range(row, row + len(part))
            words = [tags.indices[tags.indptr[i] : tags.indptr[i + 1]] for i in numbers]
            self._table.insert(numbers, part, tags=words)
            row += len(part)
        self._table.index(self._metric, 16, 128)

    def set_query_arguments(self, query_args):
        self._table.set_ef(query_args["ef"])

    def filtered_query(self, X, filter, k):
        self.I = np.full((len(X), k), -1, dtype="int32")
        for i, vector in enumerate(X):
            words = filter.indices[filter.indptr[i] : filter.indptr[i + 1]].tolist()
            found = self._table.search(self._metric, vector, k, "WHERE tags @> %s::int[]", (words,))
            self.I[i, : len(found)] = found

    def get_results(self):
        return self.I

    def done(self):
        self._table.close()
