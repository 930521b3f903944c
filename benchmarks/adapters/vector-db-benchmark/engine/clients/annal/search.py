from typing import List, Tuple

from annal import Annal, Collection

from dataset_reader.base_reader import Query
from engine.base_client.search import BaseSearcher
from engine.clients.annal.config import (
    ANNAL_COLLECTION_NAME,
    DENSE_FIELD,
    SPARSE_FIELD,
    connect,
)
from engine.clients.annal.parser import AnnalConditionParser


class AnnalSearcher(BaseSearcher):
    client: Annal = None
    collection: Collection = None
    search_params = {}
    parser = AnnalConditionParser()

    @classmethod
    def init_client(cls, host, distance, connection_params: dict, search_params: dict):
        cls.client = connect(host, connection_params)
        cls.collection = cls.client.get_collection(ANNAL_COLLECTION_NAME)
        cls.search_params = search_params

    @classmethod
    def search_one(cls, query: Query, top: int) -> List[Tuple[int, float]]:
        options = cls.search_params.get("config", {})
        if query.sparse_vector is not None:
            field = SPARSE_FIELD
            vector = {"indices": query.sparse_vector.indices, "values": query.sparse_vector.values}
            # Inverted lists are searched completely.
            options = {name: value for name, value in options.items() if name != "ef_search"}
        else:
            field, vector = DENSE_FIELD, query.vector
        found = cls.collection.search(
            {field: {"query": vector}}, filter=cls.parser.parse(query.meta_conditions), limit=top, **options
        )
        return [(int(hit["id"]), hit["similarity"]) for hit in found["results"][field]]

    @classmethod
    def delete_client(cls):
        if cls.client is not None:
            cls.client.close()
            cls.client, cls.collection = None, None
