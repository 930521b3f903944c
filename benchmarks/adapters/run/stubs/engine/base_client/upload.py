"""Stands in for the base class of uploaders. The runner has the loop."""


class BaseUploader:
    def __init__(self, host, connection_params, upload_params):
        self.host = host
        self.connection_params = connection_params
        self.upload_params = upload_params

    @classmethod
    def get_mp_start_method(cls):
        return None

    @classmethod
    def post_upload(cls, distance):
        return {}

    @classmethod
    def delete_client(cls):
        ...
