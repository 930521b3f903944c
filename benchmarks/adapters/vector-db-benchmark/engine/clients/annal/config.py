import os

from annal import Annal

ANNAL_COLLECTION_NAME = os.getenv("ANNAL_COLLECTION_NAME", "benchmark")
ANNAL_PORT = int(os.getenv("ANNAL_PORT", "8080"))
ANNAL_TOKEN = os.getenv("ANNAL_TOKEN")

DENSE_FIELD = "vector"
SPARSE_FIELD = "sparse"

# The apply of a batch of large vectors on a busy machine takes longer than a request usually does.
TIMEOUT_SECONDS = 300.0


def connect(host: str, connection_params: dict) -> Annal:
    url = host if "://" in host else f"http://{host}:{ANNAL_PORT}"
    return Annal(token=ANNAL_TOKEN, base_url=url, **{"timeout": TIMEOUT_SECONDS, **connection_params})
