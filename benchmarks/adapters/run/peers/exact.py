"""Exact answers by NumPy and SciPy behind the interface of big-ann-benchmarks, which has such a baseline for sparse vectors as well."""

import numpy as np
from scipy.sparse import csr_matrix

from benchmark.datasets import DATASETS


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
            scores = queries.getrow(i).dot(transposed)
            # Equal scores are in the order of the rows.
            scores.sort_indices()
            best = np.argsort(-scores.data, kind="stable")[:k]
            self.I[i, : len(best)] = scores.indices[best]

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
