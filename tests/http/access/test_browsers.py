"""Which hosts and which pages a server takes for its own."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from headgate.errors import InvalidRequest
from headgate.http.access import CrossSite, HostNotAllowed, allowed_hosts
from headgate.http.access.browsers import check_host, check_same_site

NAMES = allowed_hosts(["Headgate.Example.org", "ops:8420", "hg_1.internal."])


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8420",
        "LOCALHOST",
        "localhost.",
        "localhost.:80",
        "127.0.0.1",
        "127.0.0.1:8420",
        "10.1.2.3:65535",
        "203.0.113.9",
        "[::1]",
        "[::1]:8420",
        "[2001:DB8::1]:443",
        "[::ffff:127.0.0.1]",
        "127.0.0.1:",
        "headgate.example.org",
        "HEADGATE.example.ORG:443",
        "headgate.example.org.",
        "headgate.example.org.:8420",
        "ops",
        "ops:1",
        "hg_1.internal",
    ],
)
def test_addresses_localhost_and_allowed_names_pass_at_any_port(host: str) -> None:
    check_host(host, NAMES)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8420",
        "example.org",
        "a.headgate.example.org",
        "headgate.example.org.evil.example",
        "localhost.evil.example",
        "a.localhost",
        "127.0.0.1.evil.example",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "127.0.0.256",
        "xn--headgate-example-org",
    ],
)
def test_any_other_name_may_have_been_pointed_here(host: str) -> None:
    with pytest.raises(HostNotAllowed) as refused:
        check_host(host, NAMES)
    assert host not in refused.value.message
    assert refused.value.field == "Host"


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        ":8420",
        ".",
        "..",
        "localhost..",
        ".localhost",
        "local host",
        " localhost",
        "localhost ",
        "localhost\n",
        "localhost:http",
        "localhost:-1",
        "localhost:65536",
        "localhost:8420:1",
        "localhost:٣",
        "localhost/",
        "localhost,evil.example",
        "evil.example@localhost",
        "http://localhost",
        "::1",
        "[::1",
        "[::1]x",
        "[]",
        "[::1%lo]",
        "[1.2.3.4]",
        "[:::1]",
        "lócalhost",
        "localhost\x00",
        "l" * 64,
        "a." * 10_000,
    ],
)
def test_a_missing_or_malformed_host_is_refused(host: str | None) -> None:
    with pytest.raises(HostNotAllowed):
        check_host(host, NAMES)


@pytest.mark.parametrize(
    "name", ["", "*", "*.example.org", "https://headgate.example.org", "a b", "a/b", "ä.example", "a:x"]
)
def test_what_is_no_host_name_cannot_be_allowed(name: str) -> None:
    with pytest.raises(InvalidRequest, match="is no host name") as refused:
        allowed_hosts(["fine.example", name])
    assert refused.value.field == "allowed-host"


HERE = {"Host": "127.0.0.1:8420"}
PROXIED = {"Host": "headgate.example.org"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        HERE,
        HERE | {"Sec-Fetch-Site": "same-origin"},
        HERE | {"Sec-Fetch-Site": "none"},
        HERE | {"Sec-Fetch-Site": "same-origin", "Origin": "https://headgate.elsewhere"},
        HERE | {"Origin": "http://127.0.0.1:8420"},
        {"Host": "127.0.0.1", "Origin": "http://127.0.0.1"},
        {"Host": "127.0.0.1:80", "Origin": "http://127.0.0.1"},
        {"Host": "127.0.0.1", "Origin": "http://127.0.0.1:80"},
        {"Host": "[::1]:8420", "Origin": "http://[0:0::1]:8420"},
        {"Host": "other.example", "Origin": "https://other.example"},
        {"Host": "other.example:443", "Origin": "https://other.example"},
        {"Host": "OTHER.example.", "Origin": "https://other.example:443"},
        PROXIED | {"Origin": "https://headgate.example.org"},
        HERE | {"Origin": "https://headgate.example.org"},
    ],
)
def test_own_pages_and_what_is_no_browser_may_write(headers: dict[str, str]) -> None:
    check_same_site(headers, NAMES)
    check_same_site(CIMultiDict({name.lower(): value for name, value in headers.items()}), NAMES)


@pytest.mark.parametrize(
    "headers",
    [
        HERE | {"Sec-Fetch-Site": "cross-site"},
        HERE | {"Sec-Fetch-Site": "same-site"},
        HERE | {"Sec-Fetch-Site": ""},
        HERE | {"Sec-Fetch-Site": "Same-Origin"},
        HERE | {"Sec-Fetch-Site": "same-origin, none"},
        HERE | {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:8420"},
        HERE | {"Origin": "https://headgate.example.org:8443"},
        PROXIED | {"Origin": "http://headgate.example.org:9999"},
        PROXIED | {"Host": "headgate.example.org:8420", "Origin": "http://headgate.example.org:9999"},
        PROXIED | {"Host": "headgate.example.org:8420", "Origin": "https://headgate.example.org:1"},
        HERE | {"Origin": "null"},
        HERE | {"Origin": ""},
        HERE | {"Origin": "http://evil.example"},
        HERE | {"Origin": "http://127.0.0.1"},
        HERE | {"Origin": "http://127.0.0.1:3000"},
        HERE | {"Origin": "http://localhost:8420"},
        HERE | {"Origin": "127.0.0.1:8420"},
        HERE | {"Origin": "ftp://127.0.0.1:8420"},
        HERE | {"Origin": "file://"},
        HERE | {"Origin": "chrome-extension://headgate.example.org"},
        HERE | {"Origin": "http://127.0.0.1:8420/"},
        HERE | {"Origin": "http://127.0.0.1:8420 http://evil.example"},
        HERE | {"Origin": "http://headgate.example.org@evil.example"},
        HERE | {"Origin": "http://headgate.example.org.evil.example"},
        {"Host": "other.example", "Origin": "http://other.example:443"},
        {"Host": "other.example:80", "Origin": "https://other.example"},
        {"Host": "other.example:443", "Origin": "http://other.example"},
        {"Origin": "http://127.0.0.1:8420"},
        {"Host": "", "Origin": "http://"},
    ],
)
def test_a_page_of_another_origin_may_not_write(headers: dict[str, str]) -> None:
    """Another port is another origin: cookies do not tell ports apart."""
    with pytest.raises(CrossSite):
        check_same_site(headers, NAMES)
    with pytest.raises(CrossSite):
        check_same_site(CIMultiDict({name.lower(): value for name, value in headers.items()}), NAMES)
