"""Sends large bodies with http.client and requests. Reads one request as JSON from each line of its input, and writes the status
and the body of the reply, or what the client raised, as a line of JSON."""

import http.client
import json
import sys
from urllib.parse import urlsplit

CHUNK = b"[" * 65_536


def parts(count):
    for _ in range(count):
        yield CHUNK


def body_of(request):
    return CHUNK * request["chunks"] if request["declares"] else parts(request["chunks"])


def with_http_client(request):
    connection = http.client.HTTPConnection(urlsplit(request["url"]).netloc, timeout=120)
    try:
        chunked = {} if request["declares"] else {"encode_chunked": True}
        headers = request["headers"] if request["declares"] else {**request["headers"], "transfer-encoding": "chunked"}
        connection.request(request["method"], request["path"], body=body_of(request), headers=headers, **chunked)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def with_requests(request):
    import requests

    url = request["url"] + request["path"]
    response = requests.request(
        request["method"], url, data=body_of(request), headers=request["headers"], timeout=120
    )
    return response.status_code, response.text


CLIENTS = {"http.client": with_http_client, "requests": with_requests}

for line in sys.stdin:
    order = json.loads(line)
    try:
        status, text = CLIENTS[order["client"]](order)
    except Exception as error:
        status, text = 0, repr(error)
    print(json.dumps({"status": status, "body": text}), flush=True)
