"""Runs the full-text case of VectorDBBench as the harness does: documents with string ids in batches, then queries one after another, then from
several processes. The answers are the texts that people judged as relevant, so recall and nDCG say how good BM25 is for the set, and are the same
for everyone who computes it exactly. A filter keeps the documents whose number, which the harness gives in a scattered order, is large enough."""

import csv
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np

from contender import Clock, CpuTime, latencies, pid_of, report
from run_vectordbbench import HARNESS, PIDS, SPAWN, ROWS_PER_BATCH
from vectordb_bench.backend.clients.annal.annal import Annal
from vectordb_bench.backend.clients.annal.config import AnnalConfig, AnnalFtsConfig
from vectordb_bench.backend.filter import Filter, IntFilter

# What the data sets of the harness state about their answers.
BM25 = {"k1": 1.2, "b": 0.75}
ANALYZER = {"tokenizer": "standard", "filter": ["lowercase"]}
FILTER_RATES = (0.5, 0.99)


class Texts:
    """``docs.jsonl``, ``queries.jsonl``, and ``qrels.tsv`` of a folder."""

    def __init__(self, folder, queries_max):
        self.name = folder.name
        documents = [json.loads(line) for line in (folder / "docs.jsonl").read_text().splitlines()]
        self.ids = [one["id"] for one in documents]
        self.texts = [one["text"] or " " for one in documents]
        size = len(documents)
        step = next(step for step in range(size // 2 + 1, size + 1) if math.gcd(step, size) == 1)
        self.numbers = [step * i % size for i in range(size)]
        self.judged = {}
        with open(folder / "qrels.tsv") as lines:
            for query, document, grade in list(csv.reader(lines, delimiter="\t"))[1:]:
                if int(grade) > 0:
                    self.judged.setdefault(query, {})[document] = int(grade)
        queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
        self.queries = [one for one in queries if one["id"] in self.judged][:queries_max]

    def judged_queries(self, smallest):
        """Queries that have relevant texts whose number is ``smallest`` or more, with these texts."""
        number_of = dict(zip(self.ids, self.numbers))
        for query in self.queries:
            relevant = self.judged[query["id"]]
            kept = {name: grade for name, grade in relevant.items() if number_of.get(name, -1) >= smallest}
            if kept:
                yield query["text"], kept


def annal(url):
    case, _ = AnnalFtsConfig().apply_fts_manifest(BM25, ANALYZER)
    return Annal(0, AnnalConfig(url=url).to_dict(), case, collection_name="fts", drop_old=True)


def run(data, options, peers):
    for db in [annal(options.url), *(make() for make in peers)]:
        assert db.supports_full_text_search()
        clock = Clock()
        with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
            count = executor.submit(_load, db, data).result()
        report(HARNESS, db.name, data.name, "load of texts", rows=count, insert_s=clock.seconds)
        size = len(data.ids)
        filters = [("full text", Filter(), 0)]
        for rate in FILTER_RATES:
            smallest = int(size * rate)
            name = f"full text, filter_id >= {smallest} (excludes {rate:.0%})"
            filters.append((name, IntFilter(filter_rate=rate, int_field="filter_id", int_value=smallest), smallest))
        for name, condition, smallest in filters:
            if db.filter_supported(condition):
                _measure(db, data, f"{name}, k = {options.k}", (condition, smallest), options)


def _measure(db, data, name, case, options):
    condition, smallest = case
    queries = list(data.judged_queries(smallest))
    with ProcessPoolExecutor(1) as executor:
        recall, ndcg, times, cpu = executor.submit(_search_serial, db, queries, condition, options.k).result()
    figures = {"recall": recall, "ndcg": ndcg, **latencies(times), **cpu}
    for clients in options.concurrency:
        figures[f"qps_{clients}"] = _search_concurrent(db, [text for text, _ in queries], condition, clients, options)
    report(HARNESS, db.name, data.name, name, **figures)


def _load(db, data):
    starts = range(0, len(data.ids), ROWS_PER_BATCH)

    def insert(start):
        own = slice(start, start + ROWS_PER_BATCH)
        count, error = db.insert_documents(data.texts[own], data.ids[own], filter_ids=data.numbers[own])
        if error is not None:
            raise error
        return count

    with db.init(), ThreadPoolExecutor(2 if db.thread_safe else 1) as pool:
        count = sum(pool.map(insert, starts))
        db.optimize(data_size=count)
        return count


def _search_serial(db, queries, condition, k):
    times, recalls, gains = [], [], []
    with db.init():
        db.prepare_filter(condition)
        cpu = CpuTime(pid_of(PIDS.get(db.name, "")))
        for text, judged in queries:
            start = time.perf_counter()
            found = db.search_documents(text, k)
            times.append(time.perf_counter() - start)
            recalls.append(sum(name in judged for name in found) / len(judged))
            gains.append(_ndcg(found, judged, k))
        spent = cpu.per(len(times))
    return float(np.mean(recalls)), float(np.mean(gains)), times, spent


def _ndcg(found, judged, k):
    gain = sum(judged.get(name, 0) / math.log2(place + 2) for place, name in enumerate(found[:k]))
    best = sorted(judged.values(), reverse=True)[:k]
    return gain / sum(grade / math.log2(place + 2) for place, grade in enumerate(best))


def _search_concurrent(db, texts, condition, clients, options):
    with ProcessPoolExecutor(clients, mp_context=SPAWN) as executor:
        futures = [executor.submit(_search_for, db, texts, condition, options.k, options.seconds) for _ in range(clients)]
        return sum(future.result() for future in futures)


def _search_for(db, texts, condition, k, seconds):
    """Queries a second of one client."""
    with db.init():
        db.prepare_filter(condition)
        clock, count = Clock(), 0
        while clock.seconds < seconds:
            db.search_documents(texts[count % len(texts)], k)
            count += 1
        return count / clock.seconds
