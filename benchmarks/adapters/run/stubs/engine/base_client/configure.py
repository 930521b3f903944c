"""Stands in for the base class of configurators."""


class BaseConfigurator:
    SPARSE_VECTOR_SUPPORT = False

    def __init__(self, host, collection_params, connection_params):
        self.host = host
        self.collection_params = collection_params
        self.connection_params = connection_params

    def configure(self, dataset):
        self.clean()
        return self.recreate(dataset, self.collection_params) or {}

    def execution_params(self, distance, vector_size):
        return {}

    def delete_client(self):
        ...
