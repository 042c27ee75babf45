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

_PEER = "incompatible ssh peer"


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
    """A failed connection as a message that names the cause; netmiko reports most of them as a timeout.

    In order: the first cause that is found anywhere in the chain of exceptions is the one to tell.
    """
    chain = _chain(error)
    hosts = settings.known_hosts or "~/.ssh/known_hosts"

    def found(kinds: Any, words: str = "") -> bool:
        """Whether a link is of one of these kinds, and has these words in its text."""
        return any(isinstance(link, kinds) and (not words or re.search(words, str(link).lower())) for link in chain)

    if found(BadHostKeyException):
        return CredentialError(
            "the host key differs from the known one: another device answers, or the switch was replaced",
            **settings.about("known_hosts", hosts),
            remedy="compare the fingerprint on the switch's console before you replace the entry",
        )
    for key in (link.offered_key for link in chain if hasattr(link, "offered_key")):
        name = key.get_name() if key else ""
        return CredentialError(
            f"the host key is not known ({name} {getattr(key, 'fingerprint', '')})",
            **settings.about("known_hosts", hosts),
            remedy="compare the fingerprint on the switch's console, then add the key: "
            f"ssh-keyscan -p {settings.port} {settings.host} >> {hosts}",
        )
    # netmiko takes its type away.
    for said in (str(link) for link in chain if isinstance(link, IncompatiblePeer) or _PEER in str(link).lower()):
        return UnreachableError(
            f"no SSH algorithm in common ({' '.join(said.split())}): older images offer only SHA-1 key exchange or "
            f"ssh-rsa host keys, which paramiko 5 removed (installed: paramiko {paramiko.__version__})",
            **settings.about("ssh"),
            remedy="install netmiko[par4], which keeps paramiko 4, or upgrade the switch",
        )
    late = found(AuthenticationException, "timeout")
    if not late and found((AuthenticationException, NetmikoAuthenticationException)):
        user = settings.about("user", settings.username)
        return CredentialError("the login was refused", **user, remedy="check username and password")
    if late:
        what = f"no answer to the login within {settings.timeout:g} s"
        remedy = "look at the switch's console; raise timeout if it is only slow"
    # Paramiko says "no existing session" when its own timer runs out before the server's banner came.
    elif found(SSHException, "banner|no existing session"):
        what = f"the port is open, but no SSH server answered there within {settings.timeout:g} s"
        remedy = "check that SSH is enabled on the switch and that this is its port"
    else:
        what = f"no connection ({' '.join(str(chain[-1]).split())[:200] or type(chain[-1]).__name__})"
        remedy = "check address, port, cabling of the management port and firewalls"
    return UnreachableError(what, **settings.about("ssh"), remedy=remedy)


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
