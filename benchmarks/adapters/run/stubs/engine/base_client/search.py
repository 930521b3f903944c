"""Stands in for the base class of searchers. The runner has the loop."""


class BaseSearcher:
    def __init__(self, host, connection_params, search_params):
        self.host = host
        self.connection_params = connection_params
        self.search_params = search_params

    @classmethod
    def get_mp_start_method(cls):
        return None

    def setup_search(self):
        ...

    @classmethod
    def delete_client(cls):
        ...
