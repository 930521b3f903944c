from benchmark.algorithms.base import BaseANN


class BaseFilterANN(BaseANN):
    ...
