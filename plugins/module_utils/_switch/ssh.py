"""Logging in to a switch over SSH: host keys, and why it failed."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import traceback
from typing import Any, Mapping

from .._layer import CredentialError, LayerError, RefusedError, UnreachableError, place_of
from .request import check_login

IMPORT_ERROR: str | None = None
try:
    import paramiko
    from netmiko.exceptions import NetmikoAuthenticationException
    from paramiko.ssh_exception import AuthenticationException, BadHostKeyException, IncompatiblePeer, SSHException
except ImportError:
    IMPORT_ERROR = traceback.format_exc()


@dataclasses.dataclass(frozen=True)
class Settings:
    """Where and how to log in. ``known_hosts`` None: the user's own file. ``timeout``: seconds of silence."""

    host: str
    username: str
    password: str = dataclasses.field(repr=False)
    port: int = 22
    known_hosts: str | None = None
    host_key_checking: bool = True
    timeout: float = 30.0

    def about(self, thing: str, value: str | None = None) -> dict[str, Any]:
        """What an error of the login is about."""
        return {"host": place_of(self.host, self.port), "thing": thing, "value": value}


def settings_from(params: Mapping[str, Any]) -> Settings:
    """The options of a module; a port that is not set is that of SSH. Raises `RefusedError`."""
    check_login(params)
    names = [field.name for field in dataclasses.fields(Settings) if field.name != "host"]
    return Settings(params["hostname"], **{name: params[name] for name in names if params[name] is not None})


def check_known_hosts(settings: Settings) -> None:
    """Before a login: the file is there, and what paramiko logs stays quiet.

    Paramiko logs what it raises anyway, with a traceback, and Python prints that where no caller handles it.
    """
    logger = logging.getLogger("paramiko")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    if settings.host_key_checking and settings.known_hosts and not os.path.isfile(settings.known_hosts):
        raise RefusedError(
            "no such file, so that no host key could be checked",
            host=settings.host,
            thing="known_hosts",
            value=settings.known_hosts,
            remedy="create it with ssh-keyscan and compare the fingerprint on the switch's console",
        )


def policy(host_key_checking: bool) -> Any:
    """What happens to a key that is not known; its bases exist only where paramiko is installed."""

    class Refuse(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
        def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:
            error = SSHException("unknown host key")
            error.offered_key = key  # for the fingerprint in the message
            raise error

    class Accept(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
        """Accepts and writes no file, which paramiko's AutoAddPolicy may do."""

        def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:
            return None

    return Refuse() if host_key_checking else Accept()


def explain(error: BaseException, settings: Settings) -> LayerError:
    """A failed connection as a message that names the cause; netmiko reports most of them as a timeout."""
    chain = _chain(error)
    for cause in _CAUSES:
        for link in chain:
            if found := cause(link, settings):
                return found
    return UnreachableError(
        f"no connection ({' '.join(str(chain[-1]).split())[:200] or type(chain[-1]).__name__})",
        **settings.about("ssh"),
        remedy="check address, port, cabling of the management port and firewalls",
    )


def _changed_key(link: BaseException, settings: Settings) -> LayerError | None:
    if not isinstance(link, BadHostKeyException):
        return None
    return CredentialError(
        "the host key differs from the known one: another device answers, or the switch was replaced",
        **settings.about("known_hosts", settings.known_hosts or "~/.ssh/known_hosts"),
        remedy="compare the fingerprint on the switch's console before you replace the entry",
    )


def _unknown_key(link: BaseException, settings: Settings) -> LayerError | None:
    if not hasattr(link, "offered_key"):
        return None
    key = link.offered_key
    name = key.get_name() if key else ""
    return CredentialError(
        f"the host key is not known ({name} {getattr(key, 'fingerprint', '')})",
        **settings.about("known_hosts", settings.known_hosts or "~/.ssh/known_hosts"),
        remedy="compare the fingerprint on the switch's console, then add the key: "
        f"ssh-keyscan -p {settings.port} {settings.host} >> {settings.known_hosts or '~/.ssh/known_hosts'}",
    )


def _algorithms(link: BaseException, settings: Settings) -> LayerError | None:
    if not isinstance(link, IncompatiblePeer) and "incompatible ssh peer" not in str(link).lower():
        return None
    return UnreachableError(
        f"no SSH algorithm in common ({' '.join(str(link).split())}): older images offer only SHA-1 key exchange or "
        f"ssh-rsa host keys, which paramiko 5 removed (installed: paramiko {paramiko.__version__})",
        **settings.about("ssh"),
        remedy="install netmiko[par4], which keeps paramiko 4, or upgrade the switch",
    )


def _login_timeout(link: BaseException, settings: Settings) -> LayerError | None:
    if not isinstance(link, AuthenticationException) or "timeout" not in str(link).lower():
        return None
    return UnreachableError(
        f"no answer to the login within {settings.timeout:g} s",
        **settings.about("ssh"),
        remedy="look at the switch's console; raise timeout if it is only slow",
    )


def _login(link: BaseException, settings: Settings) -> LayerError | None:
    if not isinstance(link, (AuthenticationException, NetmikoAuthenticationException)):
        return None
    return CredentialError(
        "the login was refused", **settings.about("user", settings.username), remedy="check username and password"
    )


def _no_ssh(link: BaseException, settings: Settings) -> LayerError | None:
    # Paramiko says "no existing session" when its own timer runs out before the server's banner came.
    if not isinstance(link, SSHException) or not re.search("banner|no existing session", str(link).lower()):
        return None
    return UnreachableError(
        f"the port is open, but no SSH server answered there within {settings.timeout:g} s",
        **settings.about("ssh"),
        remedy="check that SSH is enabled on the switch and that this is its port",
    )


# In order: the first cause that is found in the chain of exceptions is the one to tell.
_CAUSES = (_changed_key, _unknown_key, _algorithms, _login_timeout, _login, _no_ssh)


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what it came from; netmiko raises its own types from inside the handlers of the real ones."""
    links: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        link = pending.pop(0)
        if link is not None and link not in links:
            links.append(link)
            pending += [link.__cause__, link.__context__]
    return links
