#!/usr/bin/env bash
# Gives what follows a file system of its own, in which it may install things. Runs in a mount namespace of its own.
set -euo pipefail
mount --make-rprivate /
mount -t tmpfs root "$ROOT"
for directory in etc usr var; do
    mkdir -p "$ROOT/$directory/upper" "$ROOT/$directory/work"
    mount -t overlay -o "lowerdir=/$directory,upperdir=$ROOT/$directory/upper,workdir=$ROOT/$directory/work" \
        "$directory" "/$directory"
done
mount -t tmpfs run /run
mkdir -p /etc/opensm /etc/systemd/system /etc/udev/rules.d /etc/tmpfiles.d
cp simulated/torus-2QoS.conf /etc/opensm/
echo 'qos TRUE' >/etc/opensm/opensm.conf
exec "$@"
