from annal import NotFoundError

from benchmark.dataset import Dataset
from engine.base_client import IncompatibilityError
from engine.base_client.configure import BaseConfigurator
from engine.base_client.distances import Distance
from engine.clients.annal.config import (
    ANNAL_COLLECTION_NAME,
    DENSE_FIELD,
    SPARSE_FIELD,
    connect,
)


class AnnalConfigurator(BaseConfigurator):
    SPARSE_VECTOR_SUPPORT = True
    DISTANCE_MAPPING = {
        Distance.L2: "l2",
        Distance.COSINE: "cosine",
        Distance.DOT: "ip",
    }

    def __init__(self, host, collection_params: dict, connection_params: dict):
        super().__init__(host, collection_params, connection_params)
        self.client = connect(host, connection_params)

    def clean(self):
        try:
            self.client.delete_collection(ANNAL_COLLECTION_NAME)
        except NotFoundError:
            pass

    def recreate(self, dataset: Dataset, collection_params):
        """Filter values need no declaration: every key of the metadata is indexed."""
        if "geo" in (dataset.config.schema or {}).values():
            raise IncompatibilityError("Annal has no conditions on geographic positions")
        if dataset.config.type == "sparse":
            field = {"name": SPARSE_FIELD, "type": "sparse"}
        else:
            space_type = self.DISTANCE_MAPPING.get(dataset.config.distance)
            if space_type is None:
                raise IncompatibilityError(f"Annal has no distance {dataset.config.distance}")
            params = {
                "dimension": dataset.config.vector_size,
                "space_type": space_type,
                **collection_params.get("field_params", {}),
            }
            field = {"name": DENSE_FIELD, "type": "vector", "params": params}
        self.client.create_collection(ANNAL_COLLECTION_NAME, [field])

    def delete_client(self):
        self.client.close()
