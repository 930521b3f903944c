"""What a run says: one line of JSON for each measured case."""

import json
import os
import time

import numpy as np


def report(harness, contender, data, case, **figures):
    line = {
        "harness": harness,
        "contender": contender,
        "set": data,
        "case": case,
        **{name: _short(value) for name, value in figures.items()},
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(line), flush=True)


def _short(value):
    return float(f"{value:.5g}") if isinstance(value, (float, np.floating)) else value


def latencies(seconds):
    """Mean and percentiles in milliseconds."""
    own = np.asarray(seconds) * 1_000
    return {
        "mean_ms": float(own.mean()),
        "p95_ms": float(np.percentile(own, 95)),
        "p99_ms": float(np.percentile(own, 99)),
    }


class CpuTime:
    """CPU time of this process, and of the process of the server if its number is known, in microseconds per query. It says more than the
    wall time on a machine that others use."""

    def __init__(self, server=None):
        self._server = server
        self._own, self._served = time.process_time(), _cpu_seconds(server)

    def per(self, count):
        figures = {"client_cpu_us": (time.process_time() - self._own) / count * 1e6}
        if self._server is not None:
            figures["server_cpu_us"] = (_cpu_seconds(self._server) - self._served) / count * 1e6
        return figures


def _cpu_seconds(pid):
    """Of all threads of a process, also of those that have ended."""
    if pid is None:
        return 0.0
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pid_of(name):
    """The process of a server that the environment names."""
    text = os.environ.get(name, "")
    return int(text) if text else None


class Clock:
    def __init__(self):
        self._start = time.perf_counter()

    @property
    def seconds(self):
        return time.perf_counter() - self._start
