"""Exact answers by NumPy and SciPy behind the interfaces of harnesses: big-ann-benchmarks has such a baseline for sparse vectors as well."""

import os
import pickle
import re
import tempfile
from contextlib import contextmanager

import numpy as np
from scipy.sparse import csr_matrix

from benchmark.datasets import DATASETS
from engine.base_client.configure import BaseConfigurator
from engine.base_client.search import BaseSearcher
from engine.base_client.upload import BaseUploader
from vectordb_bench.backend.clients.api import VectorDB
from vectordb_bench.backend.filter import FilterOp

K1, B = 1.2, 0.75
# In a folder of this process and those that it starts.
os.environ.setdefault("ANNAL_PEER_EXACT", tempfile.mkdtemp(prefix="annal-exact-"))


def _best(scores, k):
    """The columns of a row of scores, best first; equal scores are in the order of the columns."""
    scores.sort_indices()
    best = np.argsort(-scores.data, kind="stable")[:k]
    return scores.indices[best], scores.data[best]


class File:
    """What processes hand over to each other."""

    def __init__(self, name):
        self.path = os.path.join(os.environ["ANNAL_PEER_EXACT"], name)

    def write(self, value):
        with open(self.path, "wb") as file:
            pickle.dump(value, file)

    def read(self):
        with open(self.path, "rb") as file:
            return pickle.load(file)


def _csr(matrix):
    return csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)


class SparsePeer:
    def __init__(self, metric, index_params):
        self._base, self.I = None, None

    def load_index(self, dataset):
        return False

    def fit(self, dataset):
        parts = list(DATASETS[dataset]().get_dataset_iterator(bs=10**9))
        self._base = _csr(parts[0])

    def query(self, X, k):
        """One query after another, as the baseline of the track."""
        queries = _csr(X)
        transposed = self._base.T.tocsr()
        self.I = np.full((queries.shape[0], k), -1, dtype="int32")
        for i in range(queries.shape[0]):
            best, _ = _best(queries.getrow(i).dot(transposed), k)
            self.I[i, : len(best)] = best

    def get_results(self):
        return self.I

    def done(self):
        ...


class FilterPeer:
    """Compares every row that has the tags of the query."""

    def __init__(self, metric, index_params):
        self._rows, self._tags, self.I = None, None, None

    def load_index(self, dataset):
        return False

    def fit(self, dataset):
        ds = DATASETS[dataset]()
        self._rows = ds.get_dataset()
        self._tags = _csr(ds.get_dataset_metadata()).T.tocsr()

    def filtered_query(self, X, filter, k):
        self.I = np.full((len(X), k), -1, dtype="int32")
        for i, vector in enumerate(X):
            rows = None
            for word in filter.indices[filter.indptr[i] : filter.indptr[i + 1]]:
                own = self._tags.indices[self._tags.indptr[word] : self._tags.indptr[word + 1]]
                rows = own if rows is None else np.intersect1d(rows, own)
            part = self._rows[rows] - vector
            best = np.argsort(np.einsum("ij,ij->i", part, part), kind="stable")[:k]
            self.I[i, : len(best)] = rows[best]

    def get_results(self):
        return self.I

    def done(self):
        ...


class VectorDBBenchTextPeer(VectorDB):
    """BM25 of every text that has a word of the query. Words are runs of letters and digits in lower case."""

    name = "SciPy, exact"
    thread_safe = False
    supported_filter_types = [FilterOp.NonFilter, FilterOp.NumGE]

    def __init__(self, *args, **kwargs):
        self._file, self._smallest, self._loaded, self._inserted = File("texts"), 0, None, []

    @classmethod
    def supports_full_text_search(cls):
        return True

    def has_text_field(self):
        return True

    @contextmanager
    def init(self):
        self._loaded = self._file.read() if os.path.exists(self._file.path) else None
        try:
            yield
        finally:
            self._loaded, self._inserted = None, []

    def insert_embeddings(self, embeddings, metadata, labels_data=None, tenant_labels_data=None, **kwargs):
        raise NotImplementedError

    def search_embedding(self, query, k=100, payload_profile=None, tenant=None):
        raise NotImplementedError

    def insert_documents(self, texts, doc_ids, filter_ids=None, **kwargs):
        self._inserted += [(name, text, number) for name, text, number in zip(doc_ids, texts, filter_ids)]
        return len(doc_ids), None

    def optimize(self, data_size=None):
        """Weighs every word of every text."""
        words = {}
        rows, columns = [], []
        for row, (_, text, _) in enumerate(self._inserted):
            for word in re.findall(r"\w+", text.lower()):
                rows.append(row)
                columns.append(words.setdefault(word, len(words)))
        size = len(self._inserted)
        counts = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(size, len(words)))
        counts.sum_duplicates()
        lengths = counts.sum(axis=1).A1
        norm = K1 * (1 - B + B * lengths / lengths.mean())
        texts_with = np.bincount(counts.indices, minlength=len(words))
        idf = np.log(1 + (size - texts_with + 0.5) / (texts_with + 0.5))
        own = np.repeat(norm, np.diff(counts.indptr))
        counts.data = idf[counts.indices] * counts.data * (K1 + 1) / (counts.data + own)
        names, _, numbers = zip(*self._inserted)
        self._file.write((names, np.array(numbers), words, counts.T.tocsr()))

    def prepare_filter(self, filters):
        self._smallest = filters.int_value if filters.type == FilterOp.NumGE else 0

    def search_documents(self, query, k=100, payload_profile=None, **kwargs):
        names, numbers, words, weights = self._loaded
        known = [words[word] for word in re.findall(r"\w+", query.lower()) if word in words]
        scores = csr_matrix(weights[known].sum(axis=0))
        found, _ = _best(scores, len(names))
        return [names[row] for row in found if numbers[row] >= self._smallest][:k]


class SparseConfigurator(BaseConfigurator):
    SPARSE_VECTOR_SUPPORT = True

    def clean(self):
        ...

    def recreate(self, dataset, collection_params):
        ...


class SparseUploader(BaseUploader):
    records = []

    @classmethod
    def init_client(cls, host, distance, connection_params, upload_params):
        cls.records = []

    @classmethod
    def upload_batch(cls, batch):
        cls.records += [record.sparse_vector for record in batch]

    @classmethod
    def post_upload(cls, distance):
        indices = np.concatenate([one.indices for one in cls.records])
        values = np.concatenate([one.values for one in cls.records])
        ends = np.cumsum([0, *(len(one.indices) for one in cls.records)])
        File("sparse").write(csr_matrix((values, indices, ends)).T.tocsr())
        return {}


class SparseSearcher(BaseSearcher):
    base = None

    @classmethod
    def init_client(cls, host, distance, connection_params, search_params):
        cls.base = File("sparse").read()

    @classmethod
    def search_one(cls, query, top):
        own = query.sparse_vector
        width = cls.base.shape[0]
        row = csr_matrix((own.values, own.indices, [0, len(own.indices)]), shape=(1, max(width, max(own.indices) + 1)))
        found, scores = _best(row[:, :width].dot(cls.base), top)
        return list(zip(found.tolist(), scores.tolist()))


def vector_db_benchmark_sparse_peer():
    engine = {
        "name": "SciPy, exact",
        "host": "",
        "configurator": SparseConfigurator,
        "uploader": SparseUploader,
        "searcher": SparseSearcher,
    }
    return engine, {"collection_params": {}, "connection_params": {}, "upload_params": {"parallel": 1, "batch_size": 1024}}
