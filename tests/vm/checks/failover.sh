#!/bin/bash
# Two hosts with an OpenSM, our library and the daemon each. The master's die: the
# standby's take over. What the daemon says then is compared with what OpenSM says
# there: the differential run here, what saquery printed on the host.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$SOFTIB_LOG" || exit 1
read -r standby client _ <<<"$SOFTIB_CLIENTS"
# with QoS, for tables of all kinds
{ cat "$here/tables/opensm.conf"; printf 'sminfo_polling_timeout 500\npolling_retry_number 2\n'; } >opensm.conf
SOFTIB_OSM_ARGS="-F $SOFTIB_LOG/opensm.conf"
opensm_on() { # DEVICE PRIORITY
	SAPPHIRE_SPLIT_SOCKET=/run/sapphire/$1.sock run_opensm "$1" "$LIBRARY" -F "$SOFTIB_LOG/opensm.conf" -p "$2" -D 0x43
}
daemon_on() { # DEVICE
	mkdir -p "daemon-$1"
	cd "daemon-$1" || return 1
	FABRIC=opensm start_daemon "$1" '[opensm]' "socket = \"/run/sapphire/$1.sock\""
	local rc=$?
	cd ..
	return $rc
}
serving() { grep -q 'answering in OpenSM' "daemon-$1/sapphired.log"; }
received() {
	local lines log=daemon-$1/sapphired.log
	lines=$(grep -c 'received=' "$log")
	kill -USR1 "$2"
	counted() { [ "$(grep -c 'received=' "$log")" -gt "$lines" ]; }
	until_true 5 counted
	grep -o 'received=[0-9]*' "$log" | tail -n 1 | cut -d= -f2
}
opensm_on softib0 14
master=$opensm
check "the first OpenSM is the master" says_again 40 softib0 'SUBNET UP'
until_true 20 grep -qs ACTIVE "/sys/class/infiniband/$client/ports/1/state"
daemon_on softib0
first=$daemon
check "its daemon takes the reads" until_true 30 serving softib0
opensm_on "$standby" 1
check "the second is a standby" says_again 30 "$standby" 'STANDBY'
daemon_on "$standby"
second=$daemon
check "its daemon has a snapshot" grep -q '^ready' "daemon-$standby/sapphired.out.log"
check "and does not take the reads" test "$(serving "$standby"; echo $?)" = 1

rm -f steady.stop
"$VM_TEST" guest steady "$client" "$SOFTIB_LOG/steady.stop" >steady.out.log 2>&1 &
asker=$!
sleep 1
kill -9 "$master" "$first"
check "the standby becomes the master" says_again 60 "$standby" 'SUBNET UP'
check "its daemon takes the reads" until_true 30 serving "$standby" || cat "daemon-$standby/sapphired.log"
sleep 1
touch steady.stop
wait $asker
echo "failover: $(cat steady.out.log)"
check "clients know the new master" test "$(smlid "$client")" = "$(lid "$standby")"
before=$(received "$standby" "$second")
told() { saquery -C "$client" -P 1 -c >told.out.log 2>&1; }
check "saquery is answered" told
check "by the daemon" test "$(received "$standby" "$second")" -gt "$before"

# The whole differential run: what the daemon that took over says goes on a tape. When it
# is gone its OpenSM has the methods back, and is asked the same.
ask_lists sapphire.txt "$client" <(tables_of "$here/saquery.list")
before=$(received "$standby" "$second")
recorded() { "$VM_TEST" guest record tape.json "$client" >record.out.log 2>&1; }
check "the differential run's requests are answered" recorded || cat record.out.log
requests=$(awk '/^result recorded/ { print $3 }' record.out.log)
came=$(($(received "$standby" "$second") - before))
check "all of them by the daemon ($requests, $came came)" test "${requests:-0}" -gt 0 -a "$came" -ge "${requests:-0}"
kill "$second"
wait "$second"
check "without it OpenSM answers" until_true 10 saquery -C "$client" -P 1 -c
ask_lists opensm.txt "$client" <(tables_of "$here/saquery.list")
"$VM_TEST" guest replay tape.json "$client" || bad "OpenSM's answers differ"
[ $fails = 0 ] || tail -n 30 daemon-*/sapphired.log
exit $fails
