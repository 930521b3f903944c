"""Stands in for the base class of algorithms."""


class BaseANN:
    def done(self):
        ...

    def get_memory_usage(self):
        return 0

    def get_additional(self):
        return {}

    def __str__(self):
        return self.name
