"""Stands in for the base class of algorithms."""

from multiprocessing.pool import ThreadPool


class BaseANN:
    def done(self):
        ...

    def get_memory_usage(self):
        ...

    def batch_query(self, X, n):
        with ThreadPool() as pool:
            self.res = pool.map(lambda q: self.query(q, n), X)

    def get_batch_results(self):
        return self.res

    def get_additional(self):
        return {}

    def __str__(self):
        return self.name
