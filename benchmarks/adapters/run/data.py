"""Data sets with exact answers: a folder with ``meta.json``, ``base.u8`` or ``base.f32``, ``queries``, ``groundtruth.i32`` (100 numbers for
each query), and for sparse vectors the matrices in CSR form. The formats of harnesses are written from these, and read as they read them."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

import numpy as np

ANSWERS = 100


@dataclass(frozen=True)
class Dataset:
    name: str
    metric: str
    base: np.ndarray
    queries: np.ndarray
    truth: np.ndarray
    # A value that groups of rows have: a class, or the image that a row is from.
    labels: Optional[np.ndarray]

    @property
    def dimension(self):
        return self.base.shape[1]

    def answers(self, allowed=None, k=ANSWERS):
        """The exact answers among the rows that a mask allows."""
        if allowed is None:
            return self.truth[:, :k]
        rows = np.flatnonzero(allowed)
        return _nearest(self.base[rows], self.queries, self.metric, k, rows)


@dataclass(frozen=True)
class Sparse:
    """A matrix in CSR form. It has the members that harnesses read of one of SciPy."""

    shape: tuple
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray

    def __getitem__(self, rows):
        own = slice(self.indptr[rows.start], self.indptr[rows.stop])
        indptr = self.indptr[rows.start : rows.stop + 1] - self.indptr[rows.start]
        return Sparse((rows.stop - rows.start, self.shape[1]), indptr, self.indices[own], self.data[own])


def read_dataset(folder, rows=None, queries_max=None):
    folder = Path(folder)
    meta = json.loads((folder / "meta.json").read_text())
    base, queries = _vectors(folder, "base"), _vectors(folder, "queries")
    truth = np.fromfile(folder / "groundtruth.i32", dtype="<i4").reshape(len(queries), ANSWERS)
    data = Dataset(folder.name, meta["metric"], base, queries, truth, _labels(folder))
    if queries_max is not None:
        data = replace(data, queries=queries[:queries_max], truth=truth[:queries_max])
    if rows is not None and rows < len(base):
        labels = None if data.labels is None else data.labels[:rows]
        data = replace(data, base=base[:rows], labels=labels)
        data = replace(data, truth=_nearest(data.base, data.queries, data.metric, min(ANSWERS, rows)))
    return data


def _vectors(folder, name):
    meta = json.loads((folder / "meta.json").read_text())
    dimension = meta.get("d") or meta["dim"]
    if (folder / f"{name}.u8").exists():
        return np.fromfile(folder / f"{name}.u8", dtype=np.uint8).reshape(-1, dimension).astype(np.float32)
    return np.fromfile(folder / f"{name}.f32", dtype="<f4").reshape(-1, dimension)


def _labels(folder):
    if (folder / "base_labels.u8").exists():
        return np.fromfile(folder / "base_labels.u8", dtype=np.uint8).astype(str)
    if (folder / "base_image.txt").exists():
        return np.array((folder / "base_image.txt").read_text().split())
    return None


def _nearest(base, queries, metric, k, numbers=None):
    """The numbers of the nearest rows. Rows of equal distance are in the order of their numbers."""
    base, queries = base.astype(np.float64), queries.astype(np.float64)
    if metric == "cosine":
        base, queries = _unit(base), _unit(queries)
    squares = (base * base).sum(axis=1) if metric == "l2" else 0.0
    found = np.full((len(queries), k), -1, dtype=np.int64)
    for start in range(0, len(queries), 200):
        part = queries[start : start + 200]
        keys = squares - (2.0 if metric == "l2" else 1.0) * (part @ base.T)
        nearest = np.argsort(keys, axis=1, kind="stable")[:, :k]
        found[start : start + len(part), : nearest.shape[1]] = nearest if numbers is None else numbers[nearest]
    return found


def _unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)


# The formats of big-ann-benchmarks


def write_bin(file, rows):
    """``.u8bin`` and ``.fbin``: the number of rows and of columns as 32-bit integers, then the rows."""
    with open(file, "wb") as out:
        np.array(rows.shape, dtype="<u4").tofile(out)
        np.ascontiguousarray(rows).tofile(out)


def read_bin(file, dtype):
    count, dimension = map(int, np.fromfile(file, dtype="<u4", count=2))
    rows = np.memmap(file, dtype=dtype, mode="r", offset=8)
    if rows.size != count * dimension:
        raise ValueError(f"{file} has {rows.size} numbers; its head says {count} x {dimension}")
    return rows.reshape(count, dimension)


def write_truth(file, ids, distances):
    """Ground truth: the head of ``.fbin``, then all numbers of rows as 32-bit integers, then all distances."""
    with open(file, "wb") as out:
        np.array(ids.shape, dtype="<u4").tofile(out)
        ids.astype("<i4").tofile(out)
        distances.astype("<f4").tofile(out)


def read_truth(file):
    count, k = map(int, np.fromfile(file, dtype="<u4", count=2))
    body = np.fromfile(file, dtype="<i4", offset=8)
    if body.size != 2 * count * k:
        raise ValueError(f"{file} has {body.size} numbers; its head says twice {count} x {k}")
    return body[: count * k].reshape(count, k), body[count * k :].view("<f4").reshape(count, k)


def write_spmat(file, matrix):
    """``.spmat`` and ``.csr``: rows, columns, and non-zeros as 64-bit integers, then row starts, columns, and values."""
    with open(file, "wb") as out:
        np.array([*matrix.shape, len(matrix.data)], dtype="<i8").tofile(out)
        matrix.indptr.astype("<i8").tofile(out)
        matrix.indices.astype("<i4").tofile(out)
        matrix.data.astype("<f4").tofile(out)


def read_spmat(file):
    rows, columns, count = map(int, np.fromfile(file, dtype="<i8", count=3))
    indptr = np.fromfile(file, dtype="<i8", count=rows + 1, offset=24)
    starts = 24 + 8 * (rows + 1)
    indices = np.fromfile(file, dtype="<i4", count=count, offset=starts)
    data = np.fromfile(file, dtype="<f4", count=count, offset=starts + 4 * count)
    if len(data) != count or indptr[-1] != count or (count > 0 and not 0 <= indices.min() <= indices.max() < columns):
        raise ValueError(f"{file} is not a matrix in CSR form of {rows} x {columns} with {count} values")
    return Sparse((rows, columns), indptr, indices, data)


def matrix_of(lists, columns):
    """The matrix in CSR form with a 1 for each number of a list."""
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    indices = np.array([number for one in lists for number in sorted(one)], dtype=np.int32)
    return Sparse((len(lists), columns), indptr, indices, np.ones(len(indices), dtype=np.float32))
