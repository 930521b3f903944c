"""Runs adapters against a server of Annal, and the same for peers: ``python3 main.py HARNESS --url URL --data FOLDER``.

Prints one line of JSON for each measured case. ``npm run bench:adapters`` starts the servers and calls this program.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here / "stubs")]
# Processes that are spawned find the same modules.
os.environ["PYTHONPATH"] = os.pathsep.join([str(here), str(here / "stubs"), os.environ.get("PYTHONPATH", "")])
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
sys.dont_write_bytecode = True


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("harness", choices=list(HARNESSES))
    parser.add_argument("--url", required=True, help="server of Annal")
    parser.add_argument("--data", type=Path, required=True, help="folder of a data set")
    parser.add_argument("--rows", type=int, help="the first rows of the set only")
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--k", type=int, help="neighbors of a query; default: what the harness asks for")
    parser.add_argument("--peers", default="", help="hnswlib, pgvector, exact; comma-separated")
    parser.add_argument(
        "--runs", type=int, default=3, help="times that ann-benchmarks and big-ann-benchmarks search for all queries"
    )
    parser.add_argument("--efs", type=lambda text: [int(one) for one in text.split(",")], default=[20, 40, 80, 200])
    parser.add_argument("--group", default="int8-M-16", help="run group of the configuration for ann-benchmarks")
    parser.add_argument("--concurrency", type=lambda text: [int(one) for one in text.split(",")], default=[1, 4])
    parser.add_argument("--parallel", type=lambda text: [int(one) for one in text.split(",")], default=[1, 4])
    parser.add_argument("--seconds", type=float, default=10, help="duration of each concurrent search")
    parser.add_argument("--rate", type=int, default=0, help="rows a second of the streaming case; 0: none")
    parser.add_argument("--capacity-seconds", type=float, default=0, help="duration of the capacity case; 0: none")
    parser.add_argument("--capacity-rows", type=int, default=10_000, help="rows that the capacity case repeats")
    options = parser.parse_args()
    options.adapters = here.parent
    options.peers = [name for name in options.peers.split(",") if name]
    options.k = options.k or (100 if options.harness.startswith("vectordbbench") else 10)
    return options


def vectordbbench(options):
    import run_vectordbbench
    from data import read_dataset

    data = read_dataset(options.data, options.rows, options.queries)
    peers = [
        lambda given, peer=peer: peer.VectorDBBenchPeer(given.dimension, {}, {"metric": given.metric}, drop_old=True)
        for peer in _peers(options)
    ]
    run_vectordbbench.run(data, options, peers)


def vectordbbench_text(options):
    import run_vectordbbench_text

    peers = []
    if "exact" in options.peers:
        from peers import exact

        peers.append(exact.VectorDBBenchTextPeer)
    run_vectordbbench_text.run(run_vectordbbench_text.Texts(options.data, options.queries), options, peers)


def ann_benchmarks(options):
    import run_ann_benchmarks
    from data import read_dataset

    data = read_dataset(options.data, options.rows, options.queries)
    os.environ["ANN_BENCHMARKS_ANNAL_URL"] = options.url
    run_ann_benchmarks.run(data, options, [peer.AnnBenchmarksPeer for peer in _peers(options)])


def vector_db_benchmark(options):
    import run_vector_db_benchmark
    from data import read_dataset

    data = read_dataset(options.data, options.rows, options.queries)
    peers = []
    for peer in _peers(options):
        own = [] if peer.NAME == "pgvector" else [options.parallel]
        peers.append(peer.vector_db_benchmark_peer(*own))
    run_vector_db_benchmark.run(data, options, peers)


def vector_db_benchmark_sparse(options):
    import numpy as np

    import run_vector_db_benchmark
    from data import ANSWERS, read_spmat

    base, queries = read_spmat(options.data / "sparse_base.csr"), read_spmat(options.data / "sparse_queries.csr")
    truth = np.fromfile(options.data / "sparse_groundtruth.i32", dtype="<i4").reshape(-1, ANSWERS)
    peers = []
    if "exact" in options.peers:
        from peers import exact

        peers.append(exact.vector_db_benchmark_sparse_peer())
    run_vector_db_benchmark.run_sparse(options.data.name, base, queries, truth, options, peers)


def big_ann_filter(options):
    import run_big_ann

    os.environ["ANNAL_URL"] = options.url
    with _folder(options.data.name, "filter") as folder:
        _write_filtered(folder, options)
        peers = []
        if "pgvector" in options.peers:
            from peers import postgres

            peers.append((postgres.NAME, postgres.BigAnnFilterPeer, [{"ef": 128}]))
        if "exact" in options.peers:
            from peers import exact

            peers.append(("NumPy, exact", exact.FilterPeer, []))
        run_big_ann.run("filter", folder, options, peers)


def big_ann_sparse(options):
    import numpy as np

    import run_big_ann
    from data import ANSWERS, write_truth

    os.environ["ANNAL_URL"] = options.url
    with _folder(options.data.name, "sparse") as folder:
        shutil.copyfile(options.data / "sparse_base.csr", folder / "base.csr")
        shutil.copyfile(options.data / "sparse_queries.csr", folder / "queries.csr")
        ids = np.fromfile(options.data / "sparse_groundtruth.i32", dtype="<i4").reshape(-1, ANSWERS)
        scores = np.fromfile(options.data / "sparse_groundtruth_score.f32", dtype="<f4").reshape(-1, ANSWERS)
        write_truth(folder / "base.gt", ids, scores)
        peers = []
        if "exact" in options.peers:
            from peers import exact

            peers.append(("SciPy, exact", exact.SparsePeer, []))
        run_big_ann.run("sparse", folder, options, peers)


class _folder:
    """A temporary folder with files in the formats of the tracks, which has the name of the data set."""

    def __init__(self, name, track):
        self._name = f"{name}-{track}"

    def __enter__(self):
        self._parent = tempfile.mkdtemp(prefix="annal-big-ann-")
        folder = Path(self._parent) / self._name
        folder.mkdir()
        return folder

    def __exit__(self, *error):
        shutil.rmtree(self._parent)


def _write_filtered(folder, options):
    """The tags of a row are its label, and the tenth of all rows that its mean is in. Every other query has both tags, the others one."""
    import numpy as np

    from data import matrix_of, read_dataset, write_bin, write_spmat, write_truth

    data = read_dataset(options.data, options.rows, options.queries)
    labels = (
        np.zeros(len(data.base), dtype=int) if data.labels is None else np.unique(data.labels, return_inverse=True)[1]
    )
    count = labels.max() + 1
    means = data.base.mean(axis=1)
    bounds = np.quantile(means, np.arange(1, 10) / 10)
    tags = [[int(label), int(count + tenth)] for label, tenth in zip(labels, np.searchsorted(bounds, means))]
    tenths = np.searchsorted(bounds, data.queries.mean(axis=1))
    nearest = labels[data.truth[:, 0]]
    wanted = [[int(label)] + [int(count + tenth)] * (i % 2) for i, (label, tenth) in enumerate(zip(nearest, tenths))]
    ids = np.full((len(wanted), options.k), -1, dtype=np.int32)
    distances = np.zeros(ids.shape, dtype=np.float32)
    own = np.array([[label, tenth] for label, tenth in tags])
    for i, words in enumerate(wanted):
        rows = np.flatnonzero(np.logical_and.reduce([(own == word).any(axis=1) for word in words]))
        keys = ((data.base[rows] - data.queries[i]) ** 2).sum(axis=1)
        best = np.argsort(keys, kind="stable")[: options.k]
        ids[i, : len(best)], distances[i, : len(best)] = rows[best], keys[best]
    is_bytes = bool((data.base == data.base.astype(np.uint8)).all())
    ending, dtype = ("u8bin", "u1") if is_bytes else ("fbin", "<f4")
    write_bin(folder / f"base.{ending}", data.base.astype(dtype))
    write_bin(folder / f"query.{ending}", data.queries.astype(dtype))
    write_spmat(folder / "base.metadata.spmat", matrix_of(tags, int(count) + 10))
    write_spmat(folder / "query.metadata.spmat", matrix_of(wanted, int(count) + 10))
    write_truth(folder / "GT.ibin", ids, distances)


def _peers(options):
    found = []
    if "hnswlib" in options.peers:
        from peers import hnsw

        found.append(hnsw)
    if "pgvector" in options.peers:
        from peers import postgres

        found.append(postgres)
    return found


HARNESSES = {
    "vectordbbench": vectordbbench,
    "vectordbbench-text": vectordbbench_text,
    "ann-benchmarks": ann_benchmarks,
    "vector-db-benchmark": vector_db_benchmark,
    "vector-db-benchmark-sparse": vector_db_benchmark_sparse,
    "big-ann-filter": big_ann_filter,
    "big-ann-sparse": big_ann_sparse,
}

if __name__ == "__main__":
    given = parse()
    HARNESSES[given.harness](given)
