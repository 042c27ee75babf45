#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: mpi_job
short_description: Run a long program in a container, and tell how it gets on
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Starts a program (mpirun, as a rule) in a container or on the host itself, shows stage, elapsed and expected time
    and images per second while it runs, and returns its whole output at the end.
  - The stage is read from the lines of tf_cnn_benchmarks and from lines C(ROCEMESH-PROGRESS {json}) that a program
    may print.
  - Progress is shown only under a stdout callback that writes for people; under C(json) and others nothing but the
    result is written.
  - The program does not outlive the task. If the run is interrupted, killed, or cut off, the program gets SIGTERM after
    O(orphan_after) seconds, and SIGKILL 20 seconds later. A limit for the program itself (C(timeout)) belongs into
    O(argv).
  - The program carries a mark in its environment, C(ROCEMESH_JOB) with the folder of the job, which C(mpirun) (the
    program itself, or the one that C(timeout) starts) passes on to the ranks. By it the role C(run) knows what a
    killed run left.
  - Needs Python 3.8 or later where the program runs, and C(community.docker) for O(container).
attributes:
  check_mode:
    support: full
    description: Nothing is started; the task is skipped.
  diff_mode:
    support: none
    description: There is no difference to show.
  async:
    support: none
    description: The job runs apart from the connection already.
options:
  argv:
    description: The program and its arguments. No shell is involved. Either this or O(job).
    type: list
    elements: str
  job:
    description:
      - RV(folder) of a job that an earlier task kept (O(stall_keep)). It is ended as by an interrupt, with SIGTERM to
        the program once, and its whole output is returned. How it ended is no failure of the task.
    type: path
    default: ""
  container:
    description: Name of the running container. Empty - the program runs on the host itself.
    type: str
    default: ""
  name:
    description: What to call the job in messages.
    type: str
    default: job
  python:
    description: Python 3.8 or later, where the program runs.
    type: str
    default: python3
  directory:
    description:
      - Existing folder, where the program runs, for the output on its way. Each job makes a folder C(rocemesh-job-*) in
        it with mode 0700. It stays until a later job starts there after no controller has asked for it for
        O(orphan_after) seconds, so that the output of a broken run can be read.
    type: path
    default: /tmp
  progress:
    description:
      - V(auto) shows progress under the stdout callbacks C(default), C(minimal), C(oneline), C(debug), C(yaml),
        C(tree), C(unixy), C(dense) and C(actionable), and never with C(no_log). V(always) and V(never) do as they say.
    type: str
    choices: [auto, always, never]
    default: auto
  interval:
    description:
      - Seconds between two looks at the job. Each look costs one module call on the host. The end of the program is
        noticed at once, whatever the interval.
    type: int
    default: 10
  orphan_after:
    description:
      - Seconds without a look after which the program is ended. Also the time for which a broken connection is waited
        for. At least 10.
    type: int
    default: 60
  expected:
    description: Seconds that the program took before, shown until the program itself lets guess. 0 - unknown.
    type: float
    default: 0
  limit:
    description: Seconds that O(argv) allows the program, for the display only. 0 - unknown.
    type: int
    default: 0
  stall_limit:
    description:
      - Seconds without a new line on either stream after which the task fails, with RV(stalled), and ends the program.
        0 - never. How long a sound program may be silent, only its owner knows - warm-up and compilation are silent,
        too.
      - It is noticed at the next look (O(interval)).
    type: int
    default: 0
  stall_keep:
    description:
      - After O(stall_limit), do not end the program, but keep it for so many seconds, so that its processes may be
        looked at before a task with O(job) ends it. If none does, the supervisor ends it then. 0 - it is ended at once.
    type: int
    default: 0
  site:
    description:
      - Whose job it is, 40 letters, digits, C(_) and C(.) at most. It becomes part of the folder's name and the mark.
        Empty - no owner, and no run takes it for something that it may end.
    type: str
    default: ""
seealso:
  - module: community.docker.docker_container_exec
"""

EXAMPLES = r"""
- name: Train, and see how it gets on
  rocemesh.multinode.mpi_job:
    name: train
    container: mpicont
    argv:
      - timeout
      - "3600"
      - mpirun
      - --allow-run-as-root
      - --tag-output
      - -np
      - "4"
      - python3
      - /workspace/resnet50/resnet50.py
    limit: 3600
  become: true
  register: training
"""

RETURN = r"""
rc:
  description:
    - Exit status of the program; 128 + number of the signal if a signal ended it. Not returned if the program could not
      be watched to its end - then RV(msg) says why.
  returned: when the program ended
  type: int
stalled:
  description: The program printed nothing for O(stall_limit) seconds. It was ended, or with O(stall_keep) it lives.
  returned: when it is so
  type: bool
silent:
  description: For how many seconds there was no new line.
  returned: with RV(stalled)
  type: float
stdout:
  description: Everything that the program wrote to standard output, when it ended also as C(stdout_lines).
  returned: when the program was started
  type: str
stderr:
  description: Everything that the program wrote to standard error, when it ended also as C(stderr_lines).
  returned: when the program was started
  type: str
seconds:
  description: Time from the start to the end of the program, by the clock of its host.
  returned: when the program ended
  type: float
folder:
  description: Where the output lies on its host until the next job.
  returned: when the program ended or is kept
  type: str
msg:
  description: What is wrong.
  returned: on failure
  type: str
"""
