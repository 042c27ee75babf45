from __future__ import annotations


class ModuleDocFragment:
    """Attributes of modules that change nothing, and what those that cannot restart anything say of restarts."""

    DOCUMENTATION = r"""
options: {}
"""

    READS = r"""
options: {}
attributes:
  check_mode:
    support: full
    description: Reads only.
  diff_mode:
    support: none
    description: Changes nothing.
"""

    NODE = r"""
options: {}
requirements:
  - Python 3.8 or newer on the node
notes:
  - If the environment variable E(ROCEMESH_SYSFS_ROOT) names a directory, it is read in place of C(/sys). The
    collection's simulated nodes use it; their results have RV(simulated=true).
"""

    DECIDES = r"""
notes:
  - Runs on the controller. The node is not asked.
attributes:
  check_mode:
    support: full
    description: It changes no host, and decides in check mode as well.
  diff_mode:
    support: none
    description: There is no difference to show.
"""

    LOOKS = r"""
options: {}
attributes:
  diff_mode:
    support: none
    description: Nothing of a site changes.
  async:
    support: none
    description: It runs on the controller.
"""

    WRITES = r"""
options: {}
attributes:
  check_mode:
    support: full
    description: Says what would be written, and writes nothing.
"""

    NO_RESTART = r"""
options: {}
notes:
  - Nothing here waits for a restart. C(reboot_required), C(reboot_scope) and C(reboot_reasons) are returned as by every
    module of this collection that changes something, and are always V(false), V(none) and empty.
"""
