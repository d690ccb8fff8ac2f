#!/bin/bash
# The units of docs/examples/systemd as they are, under a real systemd: the local service by
# socket activation and with CAP_NET_ADMIN alone; OpenSM with the drop-in, and sapphired beside it.
. "$(dirname "$0")/lib.sh"
examples=$(readlink -f "$(dirname "$0")/../../../docs/examples")
cd "$SOFTIB_LOG" || exit 1
read -r first second _ <<<"$SOFTIB_CLIENTS"

# As a package and an administrator leave a host.
echo 'sapphire:x:990:990::/nonexistent:/usr/sbin/nologin' >>/etc/passwd
echo 'sapphire:x:990:' >>/etc/group
cp "$SAPPHIRED" /usr/bin/sapphired
install -D -m 644 "$SPLIT_LIBRARY" /usr/lib/sapphire/libsapphire_split.so
mkdir -p /etc/sapphire /var/lib/sapphire
chgrp sapphire /dev/infiniband/umad* && chmod 660 /dev/infiniband/umad*
policy 3 >policy.conf
"$SAPPHIRE" compile --fabric "$SOFTIB_LOG" --policy policy.conf -o /var/lib/sapphire/current.snap >compile.out.log 2>&1
# Beside an OpenSM alone.
sed 's/^follow_sa = true/follow_sa = false/' "$examples/sapphired-local-service.toml" >/etc/sapphire/sapphired-local.toml
# A policy that OpenSM has not, so that it shows who answers: not to be compared with OpenSM's.
policy 5 >/etc/sapphire/policy.conf
sed "s/mlx5_0/softib0/; s/^#\?cores = .*/cores = [1]\nsleep_after = 0/; /^opensm_conf/s/^/qos = true #/; s/^#samples = .*/samples = 0/; s|^# file = .*qos-policy.conf.*|file = \"/etc/sapphire/policy.conf\"|" \
	"$examples/sapphired-opensm.toml" >/etc/sapphire/sapphired.toml

# systemd with these units and no others, in a namespace of processes of its own.
units=/run/units
mkdir -p $units "$units/opensm@.service.d" /sys/fs/cgroup
cp "$examples"/systemd/sapphired* /lib/systemd/system/opensm@.service $units
cp "$examples/systemd/opensm.service.d/sapphire.conf" "$units/opensm@.service.d/"
for target in sysinit basic sockets shutdown network multi-user; do
	printf '[Unit]\nDefaultDependencies=no\n' >$units/$target.target
done
# There is no journal.
for unit in sapphired sapphired-local opensm@; do
	mkdir -p $units/$unit.service.d
	printf '[Service]\nStandardError=append:%s/unit-%s.log\n' "$SOFTIB_LOG" "${unit%@}" >$units/$unit.service.d/log.conf
done
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
env -i container=check SYSTEMD_UNIT_PATH=$units PATH="$PATH" unshare --fork --pid --mount-proc --kill-child \
	/lib/systemd/systemd --system --unit=multi-user.target --log-target=kmsg </dev/null >systemd.out.log 2>&1 &
# It talks to nobody outside that namespace.
systemctl() { nsenter --target "$(pgrep -x systemd)" --pid -- /usr/bin/systemctl "$@"; }
running() { systemctl is-active --quiet multi-user.target; }
check "systemd runs" until_true 60 running || { cat systemd.out.log; exit 1; }
state() { systemctl show -p "$2" --value "$1"; }
is() { [ "$(state "$1" ActiveState)" = "$2" ]; }
process() { pgrep -x sapphired; }
local_service=/run/sapphire-local/control.sock
beside=/run/sapphire/control.sock
# Why a service does not come up.
why() { cat ./*.log | tail -n 30; dmesg | grep -E 'sig=31|systemd' | tail -n 20; }

systemctl start sapphired-local.socket
check "the socket alone starts no service" is sapphired-local.service inactive
ask
check "a first question, which comes too early, is the SA's or ours" says 'sl=[03] '
check "and starts the service" until_true 30 is sapphired-local.service active
answered() { ask && says "sl=$1 "; }
check "which answers by its policy" until_true 10 answered 3
status() { sed -n "s/^$1:[ \t]*//p" "/proc/$(process)/status"; }
check "as a user of its own" test "$(status Uid | cut -f1)" = 990
check "with CAP_NET_ADMIN and no more" test "$(status CapEff) $(status CapBnd)" = "0000000000001000 0000000000001000"
check "no new privileges, and a filter of system calls" test "$(status NoNewPrivs) $(status Seccomp)" = "1 2"
before=$(process)
kill -9 "$before"
renewed() { [ -n "$(process)" ] && [ "$(process)" != "$before" ] && is "$1" active; }
check "killed, it is started again" until_true 30 renewed sapphired-local.service
check "and answers from the same socket" until_true 10 answered 3
sed -i 's/^source = "snapshot"/source = "none"/; s/^path = ".*current.snap"//; s/^watch = true//; s/^paths = "snapshot"/paths = "sa"/; s/^follow_sa/#&/' /etc/sapphire/sapphired-local.toml
systemctl restart sapphired-local.service
cached() { ask; ask; "$SAPPHIRE" status --control $local_service >status.out.log && grep -q '1 kept' status.out.log; }
check "as a cache it asks the SA over umad" until_true 10 cached || why
systemctl stop sapphired-local.socket sapphired-local.service
ask
at_once() { says 'sl=0 ' && [ "$(grep -o 'ms=[0-9]*' route.out.log | cut -d= -f2)" -lt 250 ]; }
check "stopped, the kernel asks the SA at once" at_once

end_opensm
opensm=opensm@$SOFTIB_SM_GUID.service
systemctl start sapphired.service "$opensm" --no-block
answering() { "$SAPPHIRE" status --control $beside >status.out.log && grep -q 'answering beside the master' status.out.log; }
check "sapphired answers beside OpenSM" until_true 60 answering || { why; exit 1; }
check "by its policy" until_true 10 answered 5
check "without a privilege" test "$(status CapEff)" = 0000000000000000
systemctl restart "$opensm"
check "OpenSM may be restarted" until_true 60 answering
check "and its host answers on" until_true 30 answered 5
before=$(process)
kill -9 "$before"
check "sapphired, killed, is started again" until_true 60 renewed sapphired.service
check "and answers" until_true 60 answered 5
systemctl stop sapphired.service
check "stopped, OpenSM answers" until_true 10 answered 0
systemctl start sapphired.service
check "started, sapphired does" until_true 60 answered 5
systemctl stop sapphired.service "$opensm"
exit $fails
