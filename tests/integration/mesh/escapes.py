# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person with the shell of `mesh_user` can try on a node to become root there. Shell scripts, run as that user.

`$PAY` is a program of the user's that reads root's secret: an attempt has worked when the secret was read. `$LINE` is a
launch line that the broker accepts from the head; `$ME` and `$OTHER` are addresses of the mesh. Each has a home directory
of its own.
"""
# ruff: noqa: E501 - shell, which is read best in one piece

from __future__ import annotations

BROKER = "/usr/local/libexec/rocemesh/mesh-broker"
MESH = "/etc/rocemesh/mesh"
LOGIN = "rocemesh-mesh"
_SSH = (
    "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=3 -o LogLevel=ERROR"
)
# The user's own mpirun starts "the other node's" daemon by a program of the user's, which asks the broker of this node.
_OWN_MPIRUN = f"""cat > agent.sh <<'END'
#!/bin/bash
shift
export SSH_ORIGINAL_COMMAND="$(printf '%s' "$*" | sed -E -e 's~ -mca plm_rsh_agent "[^"]*"~~' -e "$EDIT")"
export SSH_CONNECTION="$HEAD 4711 $ME 22"
exec sudo -n {BROKER}
END
chmod 755 agent.sh
mpirun -mca plm_rsh_agent $HOME/agent.sh -mca oob_tcp_if_include 10.79.0.0/16 -H $OTHER -np 1 $PAY"""
_RUN = f"SSH_CONNECTION='10.79.0.2 1 10.79.0.3 22' sudo -n {BROKER}"

ESCAPES: dict[str, str] = {
    # ---- the broker by hand
    "sudo_broker_with_a_launch": f'SSH_ORIGINAL_COMMAND="$LINE" {_RUN}',
    "sudo_broker_with_a_program": f"SSH_ORIGINAL_COMMAND=$PAY {_RUN}",
    "sudo_broker_as_the_account": f'SSH_ORIGINAL_COMMAND="$LINE" sudo -n -u {LOGIN} {BROKER}',
    "sudo_twice": f'SSH_ORIGINAL_COMMAND="$LINE" sudo -n -u {LOGIN} sudo -n {BROKER}',
    "sudo_broker_with_arguments": f"sudo -n {BROKER} $PAY",
    "sudo_shell": "sudo -n $PAY; sudo -n -s $PAY; sudo -n -i $PAY",
    "sudo_link_of_the_same_name": f"ln -s $PAY mesh-broker; sudo -n $HOME/mesh-broker; sudo -n {BROKER}/../../../../../$HOME/mesh-broker",
    "sudo_askpass": "SUDO_ASKPASS=$PAY sudo -A $PAY",
    "sudo_uid_minus_one": "sudo -n -u#-1 $PAY; sudo -n -u#4294967295 $PAY; sudo -n -u '#0' $PAY",
    "sudoedit": "sudoedit -n -s '\\' $(printf 'A%.0s' $(seq 1 200)); EDITOR=\"$PAY -- /etc/sudoers\" sudoedit -n /etc/hosts",
    "sudo_chroot": "mkdir -p r/bin; cp $PAY r/bin/; sudo -n -R $HOME/r /bin/payload",
    "broker_directly": f'SSH_ORIGINAL_COMMAND="$LINE" {BROKER}',
    "broker_directly_as_if_by_sudo": f'SUDO_UID=0 SUDO_USER={LOGIN} SSH_ORIGINAL_COMMAND="$LINE" {BROKER}',
    "broker_below_a_program_named_sshd": f"cp /bin/bash sshd; SSH_ORIGINAL_COMMAND=\"$LINE\" ./sshd -c 'sudo -n {BROKER}; true'",
    "broker_under_another_name_of_the_process": f"(exec -a 'sshd: {LOGIN}@notty' bash -c 'sudo -n {BROKER}; true')",
    "broker_below_a_real_sshd_of_the_user": (
        "ssh-keygen -q -t ed25519 -N '' -f hk; ssh-keygen -q -t ed25519 -N '' -f uk; cp uk.pub ak; "
        "printf 'Port 2299\\nListenAddress 127.0.0.1\\nHostKey %s/hk\\nAuthorizedKeysFile %s/ak\\nUsePAM no\\nStrictModes no\\n"
        f"PidFile %s/pid\\nForceCommand sudo -n {BROKER}\\n' $HOME $HOME $HOME > sc; /usr/sbin/sshd -f $HOME/sc; sleep 0.3; "
        f'ssh {_SSH} -i uk -p 2299 nvidia@127.0.0.1 "$LINE"; ssh {_SSH} -i uk -p 2299 {LOGIN}@127.0.0.1 $PAY; kill $(cat pid)'
    ),
    # ---- the account
    "su_without_password": f"for p in '' '*' '!' {LOGIN}; do echo \"$p\" | su {LOGIN} -c $PAY; done",
    "su_with_a_shell": f"echo | su -s /bin/sh {LOGIN} -c \"sudo -n {BROKER}\"",
    "password_of_the_account": f"printf 'x\\nx\\n' | passwd {LOGIN}; chsh -s $PAY {LOGIN}; chfn -f x {LOGIN}",
    "cron_of_the_account": f"echo '* * * * * {BROKER}' | crontab -u {LOGIN} -; echo $PAY | at now",
    "group_docker": "echo | newgrp docker; echo | sg docker -c $PAY; gpasswd -a nvidia docker",
    "pkexec": "pkexec $PAY; run0 $PAY; machinectl shell root@ $PAY; systemd-run $PAY",
    # ---- keys
    "key_read": f"cat {MESH}/container/id_ed25519_cont && $PAY && cat /root/secret",
    "key_derived": f"ssh-keygen -y -f {MESH}/container/id_ed25519_cont && ssh {_SSH} -i {MESH}/container/id_ed25519_cont {LOGIN}@$OTHER \"$LINE\"",
    "key_by_another_name": f"ln {MESH}/container/id_ed25519_cont k; ln -s {MESH}/container/id_ed25519_cont l; cat k l; cp {MESH}/container/* .",
    "key_of_a_process": "for p in /proc/[0-9]*; do cat $p/root/root/secret $p/environ $p/fd/*; done 2>/dev/null "
    "| head -c 100000 | grep -a -A2 -e 'PRIVATE KEY' -e SECRET",
    "agent_of_somebody_else": f"for s in $(find /tmp /run -name 'agent.*' -type s); do SSH_AUTH_SOCK=$s ssh {_SSH} {LOGIN}@$OTHER \"$LINE\"; done",
    "own_key_at_the_account": f"for h in $ME $OTHER; do for u in {LOGIN} root; do ssh {_SSH} -i ~nvidia/.ssh/id_ed25519_host $u@$h $PAY; done; done",
    "new_key_at_the_account": f"ssh-keygen -q -t ed25519 -N '' -f n; ssh {_SSH} -i n {LOGIN}@$ME $PAY; ssh {_SSH} -i n {LOGIN}@$ME \"$LINE\"",
    "other_ways_in": f"ssh {_SSH} -o PreferredAuthentications=none,password,keyboard-interactive,hostbased,gssapi-with-mic {LOGIN}@$ME \"$LINE\"",
    "key_added": f"ssh-keygen -q -t ed25519 -N '' -f a; cat a.pub >> {MESH}/login/.ssh/authorized_keys; "
    f"cp a.pub {MESH}/login/.ssh/authorized_keys2; ssh {_SSH} -i a {LOGIN}@$ME \"$LINE\"",
    "start_files_of_the_account": f"for f in .ssh/rc .ssh/environment .profile .bashrc; do cp $PAY {MESH}/login/$f; done",
    # ---- names led elsewhere
    "directory_renamed": f"mv {MESH}/container {MESH}/x; mv {MESH} /etc/rocemesh/x; mv /etc/rocemesh /etc/x; ln -sfn / {MESH}/container",
    "directory_removed": "rm -rf /etc/rocemesh; mkdir -p /etc/rocemesh/mesh/container",
    "guides_place_linked_to_the_root": "rm -rf ~nvidia/.ssh/ssh_container; ln -s / ~nvidia/.ssh/ssh_container",
    "setuid_in_the_mount": f"cp /bin/dash {MESH}/container/rootsh; chmod 4755 {MESH}/container/rootsh; {MESH}/container/rootsh -p -c $PAY",
    "settings_written": f"echo '{{}}' > {BROKER}.json; sed -i s/{LOGIN}/nvidia/ {BROKER}.json; cp $PAY {BROKER}; {_RUN}",
    "compiled_grammar_planted": f"d=$(dirname {BROKER}); mkdir $d/__pycache__; cp $PAY $d/hashlib.py; cp $PAY $d/mesh_grammar.pyc; {_RUN}",
    "rule_written": f"echo 'nvidia ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/zz; echo >> /etc/sudoers.d/rocemesh-mesh-broker; {_RUN}",
    "shared_memory": "cp /bin/dash /dev/shm/r$$; chmod 4755 /dev/shm/r$$; /dev/shm/r$$ -p -c $PAY; rm -f /dev/shm/r$$",
    # ---- mounts
    "mount_over_the_mesh": f"mkdir f; mount --bind f {MESH}/container; mount -t tmpfs none {MESH}; fusermount -u {MESH}; umount {MESH}",
    "namespace_with_another_broker": (
        f"mkdir -p d; cp $PAY d/mesh-broker; unshare -Urm sh -c \"mount --bind d $(dirname {BROKER}) && sudo -n {BROKER}\""
    ),
    "namespace_with_another_rule": (
        "mkdir -p s; echo 'nvidia ALL=(ALL) NOPASSWD: ALL' > s/z; unshare -Urm sh -c \"mount --bind s /etc/sudoers.d && sudo -n $PAY\""
    ),
    "namespace_entered": "nsenter -t 1 -m -p -n $PAY; unshare -Ur nsenter -t 1 -m $PAY",
    # ---- agents and daemons of the user's own
    "own_mpirun_and_agent": f"EDIT='' ; export EDIT; {_OWN_MPIRUN}",
    "own_mpirun_with_a_bracket": f"EDIT='s~(tcp://10[0-9.]+:[0-9]+)~\\1[10.79.0.2]~g'; export EDIT; {_OWN_MPIRUN}",
    "own_mpirun_as_somebody_else": f"sudo -n -u {LOGIN} mpirun -np 1 $PAY",
    "engine_asked": "docker exec mpicont $PAY; docker run -v /:/host mpicont $PAY; docker -H unix:///var/run/docker.sock ps",
    # ---- environment
    "loader": f"cp $PAY x.so; LD_PRELOAD=$HOME/x.so {_RUN}; LD_AUDIT=$HOME/x.so {_RUN}; LD_LIBRARY_PATH=$HOME {_RUN}",
    "python": f"echo 'import os; os.system(os.environ[\"PAY\"])' > hashlib.py; PYTHONPATH=$HOME PYTHONSTARTUP=$HOME/hashlib.py PYTHONINSPECT=1 {_RUN}",
    "shell": f"BASH_ENV=$PAY ENV=$PAY PS4='$($PAY)' SHELLOPTS=xtrace {_RUN}",
    "search_path": f"mkdir -p b; for n in docker python3 sh sudo orted; do cp $PAY b/$n; done; PATH=$HOME/b:$PATH {_RUN}",
    "character_sets": f"GCONV_PATH=$HOME LC_ALL=x LOCPATH=$HOME TZ=:$PAY {_RUN}",
    "engine_elsewhere": f"DOCKER_HOST=tcp://127.0.0.1:1 DOCKER_CONFIG=$HOME {_RUN}",
    # ---- parameters, by a launch of the user's own
    "parameter_file": f'SSH_ORIGINAL_COMMAND="$LINE -mca mca_base_envar_file_prefix $HOME/p.conf" {_RUN}',
    "parameter_agent": f'SSH_ORIGINAL_COMMAND="$LINE -mca orte_rsh_agent $PAY" {_RUN}',
    # ---- races
    "race_for_the_account": f"for i in $(seq 1 40); do (SSH_ORIGINAL_COMMAND=\"$LINE\" sudo -n {BROKER} & "
    f"kill -STOP $! ; kill -CONT $!) 2>/dev/null; done; wait",
    "race_of_links": f"for i in $(seq 1 40); do ln -sfn {BROKER} m; (sudo -n $HOME/m & ln -sfn $PAY m; wait); done",
}  # fmt: skip
