"""The engine of Annal as a library: a child process opens it, and answers binary messages over its pipes. ``bridge.mjs`` is that process.

Every message has a head of 16 bytes: four unsigned 32-bit integers, little-endian. ``bridge.mjs`` lists them.
"""

import json
import os
import shutil
import struct
import subprocess
import tempfile

import numpy

from ..base.module import BaseANN

SPACE_TYPES = {"angular": "cosine", "euclidean": "l2", "ip": "ip"}
ROWS_PER_MESSAGE = 10_000
CREATE, ADD, SEARCH, MEMORY = 1, 2, 3, 4


class AnnalEmbedded(BaseANN):
    def __init__(self, metric, method_param):
        if metric not in SPACE_TYPES:
            raise ValueError(f"Annal has no metric {metric}; it has {', '.join(sorted(SPACE_TYPES))}")
        self._params = {
            "spaceType": SPACE_TYPES[metric],
            "precision": method_param.get("precision", "int8"),
            "M": method_param["M"],
            "efConstruction": method_param["efConstruction"],
        }
        self._ef = 128
        self._results = None
        self._folder = tempfile.mkdtemp(prefix="annal-")
        bridge = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bridge.mjs")
        command = [os.environ.get("ANNAL_NODE", "node"), bridge, self._folder]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._label()

    def fit(self, X):
        rows = numpy.ascontiguousarray(X, dtype="<f4")
        count, dimension = rows.shape
        self._call(CREATE, 0, 0, json.dumps({"dimension": dimension, **self._params}).encode())
        for start in range(0, count, ROWS_PER_MESSAGE):
            part = rows[start : start + ROWS_PER_MESSAGE]
            self._call(ADD, start, len(part), part.tobytes())

    def set_query_arguments(self, ef):
        self._ef = ef
        self._label()

    def query(self, v, n):
        return self._search(v, n)

    def batch_query(self, X, n):
        self._results = self._search(X, n).reshape(len(X), n)

    def get_batch_results(self):
        return [row[row >= 0] for row in self._results]

    def get_memory_usage(self):
        """Of the child process, in kilobytes."""
        (resident,) = struct.unpack("<d", self._call(MEMORY, 0, 0))
        return resident / 1024

    def done(self):
        if self._process.poll() is None:
            self._process.stdin.close()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _search(self, rows, n):
        vectors = numpy.ascontiguousarray(rows, dtype="<f4")
        found = numpy.frombuffer(self._call(SEARCH, n, self._ef, vectors.tobytes()), dtype="<i4")
        return found if vectors.ndim == 2 else found[found >= 0]

    def _call(self, kind, first, second, data=b""):
        pipe = self._process.stdin
        pipe.write(struct.pack("<4I", kind, first, second, len(data)))
        pipe.write(data)
        pipe.flush()
        head = self._process.stdout.read(8)
        if len(head) < 8:
            raise RuntimeError(f"the engine exited with {self._process.wait()}")
        failed, size = struct.unpack("<2I", head)
        reply = self._process.stdout.read(size)
        if failed:
            raise RuntimeError(reply.decode())
        return reply

    def _label(self):
        params = self._params
        self.name = f"AnnalEmbedded(precision={params['precision']}, M={params['M']}, efConstruction={params['efConstruction']}, ef={self._ef})"
