#!/bin/bash
# The daemon alone, as SM and as SA, on a subnet that nobody has set up: no OpenSM runs, and no
# device is named. Unmodified clients and the kernel's own ask it. Then it is killed, and
# an OpenSM takes the subnet over as it is: the host compares what both said.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$SOFTIB_LOG" || exit 1
sm=$SOFTIB_SM_DEV
read -r first second _ <<<"$SOFTIB_CLIENTS"
attribute() { cat "/sys/class/infiniband/$1/ports/1/$2"; } # DEVICE NAME
all_are() { # STATE
	local d
	for d in "$sm" $SOFTIB_CLIENTS; do attribute "$d" state | grep -q "$1" || return 1; done
}
lids() { for d in "$sm" $SOFTIB_CLIENTS; do lid "$d"; done; }
knows_sm() { local d; for d in "$sm" $SOFTIB_CLIENTS; do [ "$(smlid "$d")" = "$(lid "$sm")" ] || return 1; done; }
is_sm() { [ $(($(attribute "$1" cap_mask) & 2)) != 0 ]; }
only_sm() { is_sm "$sm" && ! is_sm "$first" && ! is_sm "$second"; }
finds() { # NODES: names with LIDs, and nothing else
	ibnetdiscover -C "$first" -P 1 >found.txt 2>/dev/null
	[ "$(grep -cE '^(Switch|Ca)' found.txt)" = "$1" ] && ! grep -qE 'lid 0\b|lid 65535' found.txt
}
policy 3 >policy.conf
mkdir -p state
start_sm() {
	FABRIC=sweep start_daemon "" '[policy]' "file = \"$SOFTIB_LOG/policy.conf\"" \
		'[state]' "directory = \"$SOFTIB_LOG/state\""
}

printf '[fabric]\nsource = "sweep"\n[[port]]\ntransport = "umad"\n' >check.toml
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$SAPPHIRED" --config check.toml --check 2>check.log; }
chmod 600 /dev/infiniband/issm0
refused() { ! as_nobody && grep -q '/dev/infiniband/issm0: Permission denied' check.log; }
check "--check says that IsSM cannot be set" refused
chmod 666 /dev/infiniband/issm0
check "and that all is well where it can" as_nobody
check "before it all ports are in Init" all_are INIT
start_sm || exit 1
check "all ports of the host are Active" until_true 20 all_are ACTIVE
check "each has a LID of its own" test "$(lids | sort -u | grep -vc '^0$')" = 3
check "each knows the SM's LID" knows_sm
check "IsSM is on the SM's port alone" only_sm
# by LID, and by the directed route from H2 over S2 and S1
master() { sminfo -C "$first" -P 1 "$@" | grep -q 'state 3 SMINFO_MASTER'; }
both_ways() { master && master -D 0,1,4,1; }
check "SMInfo says that it is the master" both_ways
check "ibnetdiscover finds eight nodes with LIDs" finds 8
asked() { [ "$("$SAPPHIRE" query NR --via "umad:$first" | grep -c '^NodeRecord')" = 8 ]; }
check "sapphire asks it" asked
ask
check "the kernel's rdma_cm gets the policy's SL" says 'sl=3 '
connected() { "$VM_TEST" guest connect "$first" "$second" >connect.out.log 2>&1; cat connect.out.log; grep -q '^connected sl=3 ' connect.out.log; }
check "and connects with it" connected
ask 80
check "and no other where the policy names none" says 'sl=0 '
standby() { # another SM on another HCA
	run_opensm "$second" ""
	says_again 20 "$second" 'STANDBY'
	local rc=$?
	kill "$opensm"
	wait "$opensm"
	return $rc
}
check "an OpenSM beside it is a standby" standby
tables_of "$here/saquery.list" >asked.list
ask_lists sapphire.txt "$second" asked.list
client=$first stress=
for f in ${FLOWS:-c v s e m q a}; do flow "$f" 60 -f "$f"; done

# Joins, and multicast tables for them; each host's broadcasts ask for addresses.
check "IPoIB joins on three hosts" ipoib_between "$sm" "$first" "$second"
check "and pings between all of them" ipoib_pings
# ibdiagnet's number of the device is from 1; counters are no business of an SM
healthy() {
	timeout 60 ibdiagnet -i 2 -p 1 -skip pm -o ibdiagnet >ibdiagnet.out.log 2>&1 &&
		grep -q 'Subnet: IPv4 PKey:0x7fff' ibdiagnet.out.log && ! grep -e '^-E-' ibdiagnet.out.log
}
check "ibdiagnet finds no error" healthy

# A host that is cut off and comes back.
state_is() { attribute "$1" state | grep -q "$2"; }
swept() { kill -HUP "$daemon"; sleep 0.2; state_is "$@"; }
link Unlink '"H3"[1]'
check "a host is cut off" until_true 10 state_is "$second" DOWN
link ReLink '"H3"[1]'
check "back, its port gets Active" until_true 20 swept "$second" ACTIVE
ping_third() { ip netns exec ib-2 /run/bb/busybox ping -c "$1" -W 3 10.9.0.3; }
check "and it joins and pings again" until_true 20 ping_third 1

before=$(lids)
ping_third 12 >ping.out.log 2>&1 &
pings=$!
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
check "killed: the ports stay Active" all_are ACTIVE
start_sm || exit 1
# Answers come from the file before that.
check "started again it sweeps" until_true 30 grep -q 'SUBNET UP' sapphired.log
check "and changes no LID" test "$(lids)" = "$before"
wait "$pings"
check "no ping was lost meanwhile" grep -q ' 0% packet loss' ping.out.log
ipoib_forget
check "and paths come from the one that was started" ipoib_pings
kill "$daemon"
wait "$daemon"
check "when it has ended IsSM is gone" until_true 5 eval '! is_sm "$sm"'

mkdir -p opensm-softib0
cp state/guid2lid opensm-softib0
run_opensm "$sm" "" -D 0x43
check "an OpenSM takes the subnet over" says_again 40 "$sm" 'SUBNET UP'
check "and keeps all LIDs" test "$(lids)" = "$before"
ask_lists opensm.txt "$second" asked.list
kill "$opensm"
[ $fails = 0 ] || tail -n 30 sapphired.log
exit $fails
