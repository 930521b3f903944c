"""Runs a client of VectorDBBench as the harness does: the same calls in the same order, in the same kinds of processes and threads.

- Load: the client is made with ``drop_old``; a spawned process opens it and inserts batches of 100 lists from several threads.
- Optimize: once, in a process of its own.
- Search: a forked process opens the client, prepares the filter, and searches for one query after another. Then several spawned processes,
  which begin together, search for a time.
- Streaming: one spawned process inserts at a rate, another one searches when a part is stored.
- Capacity: one batch after another until an insert fails or the time is over.
"""

import math
import multiprocessing
import queue
import random
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np

from contender import Clock, CpuTime, latencies, pid_of, report
from vectordb_bench.backend.clients.annal.annal import Annal
from vectordb_bench.backend.clients.annal.config import AnnalConfig, AnnalIndexConfig
from vectordb_bench.backend.clients.api import MetricType
from vectordb_bench.backend.filter import Filter, IntFilter, LabelFilter

HARNESS = "VectorDBBench"
ROWS_PER_BATCH = 100
METRICS = {"l2": MetricType.L2, "cosine": MetricType.COSINE, "ip": MetricType.IP}
PIDS = {"Annal": "ANNAL_PID", "pgvector": "ANNAL_PEER_POSTGRES_PID"}
SPAWN = multiprocessing.get_context("spawn")


def annal(data, url, with_labels, name="vdbbench"):
    config = AnnalConfig(url=url)
    case = AnnalIndexConfig(metric_type=METRICS[data.metric])
    make = lambda drop: Annal(  # noqa: E731
        data.dimension, config.to_dict(), case, collection_name=name, drop_old=drop, with_scalar_labels=with_labels
    )
    return make(True)


def run_performance(db, data, options):
    k = min(options.k, len(data.base))
    labels = None if data.labels is None else _named(data.labels)
    clock = Clock()
    with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
        count = executor.submit(_load, db, data.base, labels).result()
    insert = clock.seconds
    with ProcessPoolExecutor(1) as executor:
        executor.submit(_optimize, db, count).result()
    report(HARNESS, db.name, data.name, "load", rows=count, insert_s=insert, optimize_s=clock.seconds - insert)
    for name, filters, allowed in _cases(data, labels):
        if not db.filter_supported(filters):
            continue
        truth = data.answers(allowed, k)
        _search_case(db, data, {"name": f"{name}, k = {k}", "filters": filters, "truth": truth, "k": k}, options)


def _cases(data, labels):
    """Name, filter, and mask of the allowed rows, or None for all."""
    numbers = np.arange(len(data.base))
    yield "no filter", Filter(), None
    for rate in (0.01, 0.99):
        start = int(len(numbers) * rate)
        yield f"id >= {start} (excludes {rate:.0%})", IntFilter(filter_rate=rate, int_value=start), numbers >= start
    if labels is not None:
        values, counts = np.unique(labels, return_counts=True)
        value = values[np.argmax(counts)]
        share = counts.max() / len(labels)
        yield f"label (excludes {1 - share:.1%})", LabelFilter(
            filter_rate=1 - share, label_value=str(value)
        ), labels == value


def _named(labels):
    return np.array([f"label_{label}" for label in labels])


def _search_case(db, data, case, options):
    with ProcessPoolExecutor(1) as executor:
        recall, times, cpu = executor.submit(_search_serial, db, data.queries.tolist(), case).result()
    figures = {**cpu}
    # PGlite, in which pgvector runs, has one session.
    for clients in [1] if db.name == "pgvector" else options.concurrency:
        figures[f"qps_{clients}"] = _search_concurrent(db, data, case, clients, options.seconds)
    report(HARNESS, db.name, data.name, case["name"], recall=recall, **latencies(times), **figures)


def _load(db, base, labels):
    batches = queue.SimpleQueue()
    for start in range(0, len(base), ROWS_PER_BATCH):
        batches.put(start)
    threads = min(multiprocessing.cpu_count(), 4) if db.thread_safe else 1

    def work():
        stored = 0
        while True:
            try:
                start = batches.get_nowait()
            except queue.Empty:
                return stored
            stored += _insert(db, base, labels, start)

    with db.init(), ThreadPoolExecutor(threads) as pool:
        return sum(future.result() for future in [pool.submit(work) for _ in range(threads)])


def _insert(db, base, labels, start):
    part = base[start : start + ROWS_PER_BATCH]
    numbers = list(range(start, start + len(part)))
    count, error = db.insert_embeddings(
        embeddings=part.tolist(),
        metadata=numbers,
        labels_data=None if labels is None else labels[start : start + len(part)].tolist(),
    )
    if error is not None:
        raise error
    assert count == len(part)
    return count


def _optimize(db, count):
    with db.init():
        db.optimize(data_size=count)


def _search_serial(db, queries, case):
    times, recalls = [], []
    with db.init():
        db.prepare_filter(case["filters"])
        cpu = CpuTime(pid_of(PIDS.get(db.name, "")))
        for query, truth in zip(queries, case["truth"]):
            start = time.perf_counter()
            found = db.search_embedding(query, case["k"])
            times.append(time.perf_counter() - start)
            wanted = set(truth[truth >= 0].tolist())
            recalls.append(len(wanted.intersection(found)) / max(len(wanted), 1))
        spent = cpu.per(len(times))
    return float(np.mean(recalls)), times, spent


def _search_concurrent(db, data, case, clients, seconds):
    queries = data.queries.tolist()
    with multiprocessing.Manager() as manager:
        ready, begin = manager.Queue(), manager.Event()
        with ProcessPoolExecutor(clients, mp_context=SPAWN) as executor:
            futures = [executor.submit(_search_for, db, queries, case, (ready, begin, seconds)) for _ in range(clients)]
            for _ in range(clients):
                ready.get()
            begin.set()
            clock = Clock()
            count = sum(future.result() for future in futures)
            return count / clock.seconds


def _search_for(db, queries, case, signals):
    ready, begin, seconds = signals
    with db.init():
        db.prepare_filter(case["filters"])
        ready.put(1)
        begin.wait()
        end, count, i = time.perf_counter() + seconds, 0, random.randrange(len(queries))
        while time.perf_counter() < end:
            db.search_embedding(queries[i], case["k"])
            count += 1
            i = (i + 1) % len(queries)
    return count


def run_streaming(db, data, options):
    """Searches when a half, four fifths, and all of the rows are stored, while others are inserted at a rate."""
    rate = options.rate
    stages = [0.5, 0.8, 1.0]
    with multiprocessing.Manager() as manager:
        stored = manager.Queue()
        with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
            clock = Clock()
            inserting = executor.submit(_insert_at_rate, db, data.base, rate, stored)
            seconds, done = 0, 0
            for stage in stages:
                while done is not None and done < stage * len(data.base):
                    done = stored.get()
                    seconds += 1
                case = {"filters": Filter(), "k": options.k, "truth": data.answers(k=options.k)}
                recall, times, _ = executor.submit(_search_serial, db, data.queries.tolist(), case).result()
                shown = {"recall": recall} if stage == 1 else {}
                report(HARNESS, db.name, data.name, f"streaming, {stage:.0%} stored", **shown, **latencies(times))
            count = inserting.result()
            report(HARNESS, db.name, data.name, f"streaming, {rate} rows a second", rows=count, insert_s=clock.seconds)
        with ProcessPoolExecutor(1) as executor:
            executor.submit(_optimize, db, count).result()


def _insert_at_rate(db, base, rate, stored):
    starts = list(range(0, len(base), ROWS_PER_BATCH))
    batches = max(rate // ROWS_PER_BATCH, 1)
    running, done = [], 0
    with db.init(), ThreadPoolExecutor(multiprocessing.cpu_count()) as pool:
        for second in range(0, math.ceil(len(starts) / batches)):
            begun = time.perf_counter()
            for start in starts[second * batches : (second + 1) * batches]:
                running.append(pool.submit(_insert, db, base, None, start))
            for future in running:
                done += future.result()
            running = []
            stored.put(done)
            time.sleep(max(0.0, 1 - (time.perf_counter() - begun)))
    return done


def run_capacity(db, data, options):
    """Inserts the set again and again under new ids, until an insert fails or the time is over."""
    rounds, stored, clock, failure = 0, 0, Clock(), "none"
    batch = options.capacity_rows
    embeddings = data.base[:batch].tolist()
    while clock.seconds < options.capacity_seconds and failure == "none":
        with db.init():
            for start in range(0, len(embeddings), ROWS_PER_BATCH):
                part = embeddings[start : start + ROWS_PER_BATCH]
                first = rounds * len(embeddings) + start
                count, error = db.insert_embeddings(embeddings=part, metadata=list(range(first, first + len(part))))
                stored += count
                if error is not None or clock.seconds >= options.capacity_seconds:
                    failure = "none" if error is None else str(error)
                    break
            else:
                rounds += 1
                continue
        break
    with db.init():
        db.optimize(data_size=stored)
    report(HARNESS, db.name, data.name, "capacity", rows=stored, insert_s=clock.seconds, failure=failure)


def run(data, options, peers):
    has_labels = data.labels is not None
    run_performance(annal(data, options.url, has_labels), data, options)
    if options.rate > 0:
        run_streaming(annal(data, options.url, False, "streaming"), data, options)
    if options.capacity_seconds > 0:
        run_capacity(annal(data, options.url, False, "capacity"), data, options)
    for make in peers:
        run_performance(make(data), data, options)
