#!/usr/bin/env bash
# The guide's steps in its order, made on the head: two RSA pairs that all nodes share, configuration without host key
# checking, one copy to each worker, owner and modes there. Its logins by password are logins with the administrator's
# key here; and where ~/.ssh exists, as here, its `scp -r .ssh worker:~/.ssh/` would make ~/.ssh/.ssh, so it goes to ~.
# Arguments: addresses of the workers.
set -e
umask 077
cd /root/.ssh
admin=(-F none -q -i /root/.administrator -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null)
cp authorized_keys /root/.kept
ssh-keygen -q -t rsa -N '' -f id_rsa_host
mkdir ssh_container
ssh-keygen -q -t rsa -N '' -f ssh_container/id_rsa_cont
cat > config <<'END'
Host *
    User root
    IdentityFile ~/.ssh/id_rsa_host
    StrictHostKeyChecking no
    UserKnownHostsFile=/dev/null
END
cat > ssh_container/config <<'END'
Host *
    User root
    IdentityFile /root/.ssh/id_rsa_cont
    StrictHostKeyChecking no
    UserKnownHostsFile=/dev/null
    LogLevel=Error
    ServerAliveInterval=30
END
cat /root/.kept id_rsa_host.pub > authorized_keys
cat ssh_container/id_rsa_cont.pub > ssh_container/authorized_keys
cat > mpicont.sh <<'END'
docker exec mpicont /bin/bash -c "$SSH_ORIGINAL_COMMAND"
END
chmod +x mpicont.sh
options='command="bash /root/.ssh/mpicont.sh",no-port-forwarding,no-agent-forwarding,no-X11-forwarding'
printf '%s %s\n' "$options" "$(cat ssh_container/id_rsa_cont.pub)" >> authorized_keys
for worker in "$@"; do
  scp "${admin[@]}" -r /root/.ssh "root@$worker:/root/"
  ssh "${admin[@]}" "root@$worker" 'cd /root/.ssh/ssh_container && chown root:root config && chmod 600 *'
done
chown root:root ssh_container/config
chmod 600 ssh_container/*
