"""Plain HTTP to a server without a proxy, through a connection pool of urllib3, on which requests builds. What requests does around it takes
more CPU time than the rest of a search in the client."""

from __future__ import annotations

from typing import Any, Dict, Optional, Union

import requests
import urllib3
from requests.utils import default_user_agent, select_proxy
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, TimeoutError

from .calls import Attempt
from .exchange import Reply, unreachable

# What requests sends as well.
_HEADERS = {"User-Agent": default_user_agent(), "Accept-Encoding": "gzip, deflate", "Connection": "keep-alive"}


class DirectPools:
    """One pool for each server that is reached by plain HTTP and without a proxy."""

    def __init__(self, session: requests.Session, verify: Union[bool, str], pool_size: int) -> None:
        self._session, self._verify, self._pool_size = session, verify, pool_size
        self._pools: Dict[str, Optional[urllib3.HTTPConnectionPool]] = {}

    def close(self) -> None:
        for pool in self._pools.values():
            if pool is not None:
                pool.close()
        self._pools.clear()

    def takes(self, attempt: Attempt) -> bool:
        return isinstance(attempt.data, (bytes, type(None))) and self._pool(attempt.url) is not None

    def send(self, attempt: Attempt) -> Reply:
        """The reply, whatever its status. Redirects are not followed: they could send the token to an unexpected host."""
        server = _server_of(attempt.url)
        pool: Any = self._pool(attempt.url)
        seconds = attempt.seconds_left
        try:
            response = pool.urlopen(
                attempt.method,
                attempt.url[len(server) :],
                body=attempt.data,
                headers={**_HEADERS, **attempt.headers},
                timeout=urllib3.Timeout(connect=seconds, read=seconds),
                redirect=False,
                retries=False,
                assert_same_host=False,
            )
        except NewConnectionError as error:
            raise unreachable(attempt.root, error) from error
        except ConnectTimeoutError as error:
            raise attempt.too_late(error, connecting=True) from error
        except TimeoutError as error:
            raise attempt.too_late(error) from error
        except (HTTPError, OSError) as error:
            raise unreachable(attempt.root, error) from error
        return Reply(response.status, response.headers, response.data)

    def _pool(self, url: str) -> "Optional[urllib3.HTTPConnectionPool]":
        server = _server_of(url)
        if server not in self._pools:
            self._pools[server] = self._open(server)
        return self._pools[server]

    def _open(self, server: str) -> "Optional[urllib3.HTTPConnectionPool]":
        if not server.startswith("http://"):
            return None
        settings = self._session.merge_environment_settings(server, {}, False, self._verify, None)
        if select_proxy(server, settings["proxies"]) is not None:
            return None
        return urllib3.connection_from_url(server, maxsize=self._pool_size)


def _server_of(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])
