from __future__ import annotations


class ModuleDocFragment:
    """What modules say in the same words of check mode, and what all that change something return."""

    READS = r"""
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
    collection's simulated nodes use it. C(simulated) of the result says whether such a tree was read and not the
    kernel's.
"""

    LOOKS = r"""
attributes:
  diff_mode:
    support: none
    description: Nothing of a site changes.
  async:
    support: none
    description: It runs on the controller.
"""

    CHANGES = r"""
attributes:
  check_mode:
    support: full
    description: Returns what would change, and changes nothing.
  diff_mode:
    support: full
    description: Shows what changes, or would, before and after.
notes:
  - Every module of this collection that changes something returns C(operations), what was changed or would be in check
    mode, in order, each with C(description), C(command), C(disrupts) (whose traffic or power it disturbs, empty if none
    is disturbed) and C(reboot), the restart that it waits for. C(undo) has what takes them back, in the order to do it.
    After a failure in the middle C(applied) has the commands that are in force, C(undo) what takes those back, and
    C(failed_operation) the command that was refused or under way.
  - It returns C(reboot_required), whether anything that is configured waits for a restart, on every run until it is in
    force, with C(reboot_scope) (V(none), V(vm_power_cycle) or V(esxi_host)) and C(reboot_reasons), one sentence for
    each thing that waits.
"""

    RESTORES = r"""
options:
  restore:
    type: dict
    suboptions:
      before:
        description: The values of C(diff.before) of that run by key, as the journal has them.
        type: dict
        required: true
      after:
        description: The values of C(diff.after) of that run for the same keys.
        type: dict
        required: true
notes:
  - With O(restore) C(left_alone) has the settings that stay as they are, each with C(key), C(value) (now), C(expected)
    (as the earlier run left it) and C(why).
"""

    FAILS = r"""
options: {}
notes:
  - A failure returns C(error_code), one of V(refused), V(unreachable), V(unknown_format), V(apply_failed) and
    V(not_in_force).
"""

    NO_RESTART = r"""
options: {}
notes:
  - Nothing here waits for a restart, so C(reboot_required), C(reboot_scope) and C(reboot_reasons) are always V(false),
    V(none) and empty.
"""
