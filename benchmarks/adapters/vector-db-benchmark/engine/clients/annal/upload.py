from typing import List

from annal import Annal, Collection

from dataset_reader.base_reader import Record
from engine.base_client.upload import BaseUploader
from engine.clients.annal.config import (
    ANNAL_COLLECTION_NAME,
    DENSE_FIELD,
    SPARSE_FIELD,
    connect,
)


class AnnalUploader(BaseUploader):
    client: Annal = None
    collection: Collection = None
    upload_params = {}

    @classmethod
    def init_client(cls, host, distance, connection_params, upload_params):
        cls.client = connect(host, connection_params)
        cls.collection = cls.client.get_collection(ANNAL_COLLECTION_NAME)
        cls.upload_params = upload_params

    @classmethod
    def upload_batch(cls, batch: List[Record]):
        cls.collection.upsert([cls._object(record) for record in batch], progress=False)

    @staticmethod
    def _object(record: Record) -> dict:
        fields = {}
        if record.vector is not None:
            fields[DENSE_FIELD] = record.vector
        if record.sparse_vector is not None:
            fields[SPARSE_FIELD] = {
                "indices": record.sparse_vector.indices,
                "values": record.sparse_vector.values,
            }
        return {"id": str(record.id), "filter": record.metadata or {}, "fields": fields}

    @classmethod
    def post_upload(cls, distance):
        """An acknowledged write is indexed, so there is nothing to wait for."""
        return {"objects": cls.collection.count()}

    @classmethod
    def delete_client(cls):
        if cls.client is not None:
            cls.client.close()
            cls.client, cls.collection = None, None
