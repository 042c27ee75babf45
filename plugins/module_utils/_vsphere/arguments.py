"""The options that every vSphere module shares, and how a module runs its layer over one connection."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible.module_utils.common.parameters import env_fallback

from .._layer import Layer, RefusedError, exit_with, failing
from .lease import LeaseWanted
from .run_identity import current_run
from .transport import PYVMOMI_IMPORT_ERROR, Connection, Endpoint


def vsphere_argument_spec(**own: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Connection options (documented in the fragment ``rocemesh.multinode.vsphere``) plus the module's own."""

    def from_environment(variable: str, **rest: Any) -> dict[str, Any]:
        return {"fallback": (env_fallback, [variable]), **rest}

    return {
        "hostname": from_environment("VMWARE_HOST", type="str", required=True),
        "username": from_environment("VMWARE_USER", type="str", required=True),
        "password": from_environment("VMWARE_PASSWORD", type="str", required=True, no_log=True),
        "port": from_environment("VMWARE_PORT", type="int", default=443),
        "validate_certs": from_environment("VMWARE_VALIDATE_CERTS", type="bool", default=True),
        "ca_path": from_environment("VMWARE_CA_PATH", type="path"),
        "proxy_host": from_environment("VMWARE_PROXY_HOST", type="str"),
        "proxy_port": from_environment("VMWARE_PROXY_PORT", type="int"),
        "timeout": {"type": "int", "default": 30},
        "vcenter_uuid": {"type": "str"},
        **own,
    }


def make_module(**arguments: Any) -> AnsibleModule:
    """An AnsibleModule that has already failed politely if pyVmomi is missing."""
    arguments["required_together"] = [*arguments.get("required_together", ()), ("proxy_host", "proxy_port")]
    module = AnsibleModule(**arguments)
    if PYVMOMI_IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("pyvmomi"), exception=PYVMOMI_IMPORT_ERROR)
    for name, value in module.params.items():
        if name.endswith("timeout") and value < 1:
            module.fail_json(msg=f"{module.params['hostname']}: {name} is {value}, expected 1 or more. Give seconds.")
    return module


# Documented in the fragment's part LEASE.
LEASE: dict[str, dict[str, Any]] = {
    "lease_seconds": {"type": "int", "default": 1800},
    "take_over": {"type": "str"},
    "run_name": {"type": "str"},
}


def lease_from(params: dict[str, Any]) -> LeaseWanted:
    return LeaseWanted(current_run(params["run_name"] or ""), params["lease_seconds"], params["take_over"] or "")


def hosts_module(**own: dict[str, Any]) -> tuple[AnsibleModule, list[str]]:
    """A module for one host, several or a cluster (the fragment's part HOSTS), and the hosts that are named."""
    spec: dict[str, dict[str, Any]] = {
        "esxi_hostname": {"type": "str"},
        "esxi_hostnames": {"type": "list", "elements": "str"},
        "cluster": {"type": "str"},
    }
    module = make_module(
        argument_spec=vsphere_argument_spec(**spec, **own),
        required_one_of=[tuple(spec)],
        mutually_exclusive=[("esxi_hostname", "esxi_hostnames")],
        supports_check_mode=True,
    )
    params = module.params
    names = [params["esxi_hostname"]] if params["esxi_hostname"] else params["esxi_hostnames"] or []
    if not names and not params["cluster"]:
        module.fail_json(msg="esxi_hostnames is empty: name at least one host, or a cluster.")
    return module, names


def endpoint_from(params: dict[str, Any]) -> Endpoint:
    if params["vcenter_uuid"] == "":
        raise RefusedError(
            "it is empty, and any vCenter would do; nothing was changed",
            host=params["hostname"],
            thing="vcenter_uuid",
            remedy="give the vcenter_uuid of the reading that this task rests on, or leave the option out",
        )
    names = {field.name for field in dataclasses.fields(Endpoint)} & set(params)
    given = {name: params[name] for name in names if params[name] is not None}
    return Endpoint(**given, instance=(params["vcenter_uuid"] or "").lower())


def run_layer(module: AnsibleModule, make_layer: Callable[[Connection], Layer[Any, Any]], wanted: Any) -> None:
    """Log in, converge, log out, leave the module."""
    with failing(module), Connection(endpoint_from(module.params)) as connection:
        exit_with(module, make_layer(connection), wanted, vcenter_uuid=connection.instance)
