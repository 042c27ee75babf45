#!/usr/bin/env bash
# The guide's loop made as careful as the role: a pair per node that is made there, host keys learned by ssh-keyscan, keys
# bound to the head's address. As with the role, only the head's key opens doors, and a worker knows the head alone.
# Made on the head. Arguments: addresses of all nodes, the head's first.
set -e
umask 077
admin=(-F none -q -i /root/.administrator -o StrictHostKeyChecking=yes -o UserKnownHostsFile=/root/known)
work=$(mktemp -d)
head=$1
ssh-keyscan -t ed25519 "$@" > /root/known 2> /dev/null
for node in "$@"; do
  ssh "${admin[@]}" "root@$node" 'mkdir -p ~/.ssh/ssh_container && cd ~/.ssh/ssh_container && ssh-keygen -q -t ed25519 -N "" -f id_ed25519_cont && cat id_ed25519_cont.pub' > "$work/$node"
done
printf 'restrict,from="%s",command="bash /root/.ssh/mpicont.sh" %s\n' "$head" "$(cat "$work/$head")" > "$work/keys"
cat > "$work/config" <<'END'
Host *
    User root
    IdentityFile /root/.ssh/id_ed25519_cont
    UserKnownHostsFile /root/.ssh/known_hosts
    LogLevel ERROR
END
cat > "$work/mpicont.sh" <<'END'
docker exec mpicont /bin/bash -c "$SSH_ORIGINAL_COMMAND"
END
for node in "$@"; do
  if [ "$node" = "$head" ]; then cp /root/known "$work/known_hosts"; else grep "^$head " /root/known > "$work/known_hosts"; fi
  tar -C "$work" -c keys config known_hosts mpicont.sh | ssh "${admin[@]}" "root@$node" 'cd ~/.ssh && tar -x && cat keys >> authorized_keys && rm keys && mv config known_hosts ssh_container/ && chown -R root:root ssh_container && chmod 600 ssh_container/*'
done
rm -r "$work"
