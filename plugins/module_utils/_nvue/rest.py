"""One HTTPS session with NVUE's REST API, on the standard library.

One connection is kept for all requests: a run asks some dozens of questions, and a switch's management CPU needs longer
for a TLS handshake than for an answer. Redirects are not followed and proxies not used, so that the password goes to
the named host and nowhere else.

Only GET is repeated after a connection broke; for any other request it is not known whether it was carried out.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import http.client
import json
import re
import socket
import ssl
import time
import urllib.parse
from typing import Any, Callable, Mapping, NoReturn

from .._layer import ApplyError, CredentialError, LayerError, ParseError, RefusedError, UnreachableError, place_of

API = "/nvue_v1"
_IDLE_SECONDS = 30.0  # a server may close a connection that rested longer, just when a request is on its way
_OK = (200, 201, 202, 204)
_CONFLICTS = (409, 412, 423)
_DOWN = (502, 503, 504)  # the reverse proxy answers, and nvued behind it does not


class ConflictError(ApplyError):
    """Another user changes the configuration at the same time."""

    code = "conflict"


class NotFoundError(ApplyError):
    """The API knows no such path or revision; who expects that catches it."""

    code = "not_found"


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """Where and how to log in. ``ca_path`` None: the system's CA certificates. ``timeout``: seconds per answer."""

    host: str
    username: str
    password: str = dataclasses.field(repr=False)
    port: int = 8765
    validate_certs: bool = True
    ca_path: str | None = None
    timeout: float = 30.0

    def about(self, thing: str, value: str) -> dict[str, Any]:
        """What an error of this switch is about."""
        return {"host": self.where, "thing": thing, "value": value}

    @property
    def token(self) -> str:
        """The login as it goes over the wire: as good as the password, and as secret."""
        return base64.b64encode(f"{self.username}:{self.password}".encode()).decode()

    def masked(self, text: str) -> str:
        """``text`` of a server, which may hold our own request, without the login."""
        escaped = {"/": r"(?:\\?/|%2[fF])", "+": r"(?:\+|%2[bB]|\\u002[bB])"}
        token = "".join(escaped.get(letter, re.escape(letter)) for letter in self.token.rstrip("="))
        text = re.sub(r"(Basic(?:\s|%20|\+)+)[A-Za-z0-9+/=%\\-]{16,}", r"\1********", text)
        text = re.sub(token + r"(?:=|%3[dD]|\\u003[dD])*", "********", text)
        return text.replace(self.password, "********") if self.password else text

    @property
    def where(self) -> str:
        return place_of(self.host, self.port)


class Session:
    """Connects with the first request."""

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float] = time.monotonic) -> None:
        self._endpoint = endpoint
        self._headers = {"Authorization": f"Basic {endpoint.token}", "Accept": "application/json"}
        self._clock = clock
        self._connection: http.client.HTTPSConnection | None = None
        self._last_used = 0.0

    def get(self, path: str, **query: Any) -> Any:
        """The decoded answer. Raises `NotFoundError` for 404."""
        fresh = self._connection is None
        try:
            return self._request("GET", path, None, query)
        except UnreachableError:
            if fresh:
                raise
        return self._request("GET", path, None, query)

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """POST, PATCH or DELETE; the decoded answer, {} for an empty one."""
        if self._clock() - self._last_used > _IDLE_SECONDS:
            self.close()
        return self._request(method, path, body, query)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None

    # --- one request

    def _request(self, method: str, path: str, body: Any, query: Mapping[str, Any]) -> Any:
        target = API + path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else "")
        headers = dict(self._headers)
        payload = None
        if body is not None:
            payload = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        try:
            connection = self._connected()
            connection.request(method, target, payload, headers)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise _explain(error, self._endpoint, f"{method} {target}") from None
        self._last_used = self._clock()
        if answer.will_close:
            self.close()
        return self._judge(answer.status, text, f"{method} {target}")

    def _connected(self) -> http.client.HTTPSConnection:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                self._endpoint.host,
                self._endpoint.port,
                timeout=self._endpoint.timeout,
                context=_context(self._endpoint),
            )
            self._connection.connect()
        return self._connection

    def _judge(self, status: int, text: str, request: str) -> Any:
        endpoint = self._endpoint
        asked, user = endpoint.about("request", request), endpoint.about("user", endpoint.username)
        if status in _OK:
            if not text.strip():
                return {}
            try:
                return json.loads(text)
            except ValueError:
                raise ParseError("expected JSON", **asked, raw=endpoint.masked(text)) from None
        said = _message(endpoint.masked(text))
        if status == 401:
            raise CredentialError("the login was refused", **user, remedy="check username and password")
        if status == 403:
            raise CredentialError(
                f"the switch refuses this user the request {request}" + (f" ({said})" if said else ""),
                **user,
                remedy="use a member of the group nvapply; since 5.6 the API also answers so until the first password "
                "of the user cumulus has been changed",
            )
        if status == 404:
            raise NotFoundError(
                f"the API knows no such thing ({said})",
                **asked,
                remedy="report this with the switch's release: the collection expects this path on every release",
            )
        if status in _CONFLICTS:
            raise ConflictError(
                f"another user changes the configuration at the same time (HTTP {status}: {said})",
                **asked,
                remedy="look at nv config revision and nv config history, then run this again",
            )
        if status in _DOWN:
            raise UnreachableError(
                f"the web server answers, and NVUE behind it does not (HTTP {status})",
                **asked,
                remedy="look at systemctl status nvued on the switch, then run this again",
            )
        if 300 <= status < 400:
            raise UnreachableError(
                f"it redirects (HTTP {status}), which is not followed, because the password would go along",
                **asked,
                remedy="name the switch's own address and API port",
            )
        raise ApplyError(
            f"the switch refused it (HTTP {status}: {said})",
            **asked,
            remedy="see the switch's own text; nothing was applied by this request",
            device_message=said,
        )


def _message(text: str) -> str:
    """What an error answer says, in its own words, at most 500 characters."""
    try:
        body = json.loads(text)
    except ValueError:
        return " ".join(text.split())[:500]
    if isinstance(body, dict):
        words = [str(body[key]) for key in ("title", "detail", "message", "validation") if body.get(key)]
        if words:
            return "; ".join(words)[:500]
    return json.dumps(body, sort_keys=True)[:500]


def _context(endpoint: Endpoint) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=endpoint.ca_path)
    except (OSError, ssl.SSLError) as error:
        raise RefusedError(
            f"cannot read CA certificates from it: {error}",
            host=endpoint.where,
            thing="ca_path",
            value=endpoint.ca_path,
            remedy="give a PEM file with the certificate of the CA, or of the switch itself if it signed its own",
        ) from None
    if not endpoint.validate_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _explain(error: Exception, endpoint: Endpoint, request: str) -> LayerError:
    """A failed request as a message that names the cause."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return CredentialError(
            f"the certificate does not verify ({error.verify_message or error.reason}); the password was not sent",
            host=endpoint.where,
            thing="ca_path",
            value=endpoint.ca_path or "(system)",
            remedy="give the CA that signed it in ca_path (of a self-signed one: the certificate itself, on the switch "
            "/etc/ssl/certs/cumulus.pem) and use a name that the certificate carries",
        )
    if isinstance(error, ssl.SSLError):
        return UnreachableError(
            f"no TLS there ({error.reason or error})",
            host=endpoint.where,
            thing="https",
            remedy="check that this is the port of the NVUE API (nv show system api)",
        )
    if isinstance(error, (socket.timeout, TimeoutError)):
        return UnreachableError(
            f"no answer within {endpoint.timeout:g} s",
            **endpoint.about("request", request),
            remedy="look at the switch's console; raise timeout if it is only slow",
        )
    if isinstance(error, (ConnectionRefusedError, socket.gaierror)):
        return UnreachableError(
            f"no connection ({error.strerror or error})",
            host=endpoint.where,
            thing="https",
            remedy="check address and port; the API is on since 5.6, before that /etc/nginx has to be set up",
        )
    return UnreachableError(
        f"the connection broke ({str(error) or type(error).__name__})",
        **endpoint.about("request", request),
        remedy="run this again: it reads what is there and continues from it",
    )


def quoted(revision: str) -> str:
    """A revision id as part of a path; old ids contain slashes (changeset/cumulus/2023-04-06_20.22.44_T2XP)."""
    return urllib.parse.quote(revision, safe="")


def no_api(endpoint: str) -> NoReturn:
    raise UnreachableError(
        "a web server answers there, and it has no NVUE API",
        host=endpoint,
        thing="https",
        remedy="check host and port; NVUE's REST API needs Cumulus Linux 5.0 or newer",
    )
