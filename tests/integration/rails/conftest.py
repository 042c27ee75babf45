"""The certificate of the simulated vCenter is made as in the tests of its own."""

from tests.integration.vsphere.conftest import pki

__all__ = ["pki"]
