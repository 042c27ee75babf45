"""What of an inventory is secret, and what is a name: by the name of a variable and by those of the keys in it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible_collections.rocemesh.multinode.plugins.action.collect import Known


class Vaulted:
    """As ansible-core up to 2.18 gives a value that is encrypted by itself: no str, decrypted by str()."""

    __ENCRYPTED__ = True

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        if not self._text:
            raise AnsibleError("no vault secrets found")
        return self._text


@pytest.mark.parametrize(
    "variables",
    [
        {"switch_password": "hunter-7"},
        {"switch_password": Vaulted("hunter-7")},
        {"switch_passwords": ["x", Vaulted("hunter-7")]},
        {"registry_passwords": {"registry.example.test": Vaulted("hunter-7")}},
        {"ngc_cli_key": "hunter-7"},
        {"registries": [{"url": "x", "password": "hunter-7"}]},
        {"registries": {"mine": {"login": {"token": Vaulted("hunter-7")}}}},
        {"secrets": [{"value": ["hunter-7"]}]},
        {"switch_password": Vaulted(""), "vcenter_password": "hunter-7"},
    ],
)
def test_a_secret_is_found_wherever_it_is_kept(variables: dict[str, Any]) -> None:
    assert "hunter-7" in Known({"h1": variables}).secrets


def test_names_and_users_in_lists_of_dictionaries_are_names() -> None:
    servers = [{"server": "https://store-a:5000/x", "user": "carol@corp"}, {"server": "7"}]
    known = Known({"h1": {"mirrors": servers, "login_user": "dave"}})
    assert known.names == {"h1", "store-a", "carol", "dave"}
    assert known.secrets == set()


def test_what_is_no_secret_by_its_name_or_its_length_is_left() -> None:
    variables = {"password_file": "/etc/secret-place", "sort_key": "name", "secrets": {"ca_path": "/etc/ssl/certs"}}
    assert Known({"h1": variables}).secrets == set()


def test_a_variable_that_cannot_hold_any_is_not_evaluated() -> None:
    class Evaluating(dict[str, Any]):
        """As HostVarsVars: what was written stands in _vars, and reading evaluates."""

        def __init__(self, written: dict[str, Any]) -> None:
            super().__init__(written)
            self._vars = written
            self.asked: list[str] = []

        def __getitem__(self, name: str) -> Any:
            self.asked.append(name)
            return super().__getitem__(name)

    host = Evaluating({"weather": "{{ lookup('x') }}", "limits": {"a": 1}, "db": {"password": "hunter-7"}})
    Known({"h1": host})
    assert host.asked == ["db"]
