"""TLS with a certificate authority of the test: the sync and the async client accept the same options."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scripted import Reply

from annal import Annal, UnreachableError

LIST: Reply = (200, {}, {"collections": []})

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")


class Certificates(NamedTuple):
    authority: str
    server: str
    server_key: str
    client: str
    client_key: str
    client_both: str


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*args: str) -> None:
        subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    # Newer Python versions reject an authority without these extensions.
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    openssl(
        "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test authority", "-days", "2", *usage
    )
    identifiers = "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
    for name, extension in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")):
        (folder / f"{name}.ext").write_text(f"{extension}\n{identifiers}")
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *signed)
    both = folder / "both.pem"
    both.write_text((folder / "client.pem").read_text() + (folder / "client.key").read_text())
    names = ("ca.pem", "server.pem", "server.key", "client.pem", "client.key", "both.pem")
    return Certificates(*(str(folder / name) for name in names))


def serving(scripted: Any, certificates: Certificates, *, client_needed: bool = False) -> Any:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates.server, certificates.server_key)
    if client_needed:
        tls.verify_mode = ssl.CERT_REQUIRED
        tls.load_verify_locations(certificates.authority)
    return scripted(LIST, tls=tls)


def collections(kind: str, url: str, **options: Any) -> Any:
    if kind == "sync":
        with Annal(base_url=url, retries=0, **options) as client:
            return client.list_collections()

    async def reach() -> Any:
        from annal import AsyncAnnal

        async with AsyncAnnal(base_url=url, retries=0, **options) as client:
            return await client.list_collections()

    return asyncio.run(reach())


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "async":
        pytest.importorskip("httpx", minversion="0.23")
    return str(request.param)


@pytest.fixture(autouse=True)
def no_authorities_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


def test_an_unknown_authority_is_refused_and_named(kind: str, scripted: Any, certificates: Certificates) -> None:
    server = serving(scripted, certificates)
    with pytest.raises(UnreachableError) as failure:
        collections(kind, server.url)
    assert "certificate" in str(failure.value).lower()
    assert server.requests == []


def test_an_authority_is_named_by_an_option_or_the_environment(
    kind: str, scripted: Any, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving(scripted, certificates)
    assert collections(kind, server.url, verify=certificates.authority) == []
    assert collections(kind, server.url, verify=False) == []
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", certificates.authority)
    assert collections(kind, server.url) == []


def test_a_client_certificate_opens_a_server_that_wants_one(
    kind: str, scripted: Any, certificates: Certificates
) -> None:
    server = serving(scripted, certificates, client_needed=True)
    known = {"verify": certificates.authority}
    with pytest.raises(UnreachableError):
        collections(kind, server.url, **known)
    assert collections(kind, server.url, **known, cert=(certificates.client, certificates.client_key)) == []
    assert collections(kind, server.url, **known, cert=certificates.client_both) == []
