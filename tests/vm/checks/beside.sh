#!/bin/bash
# The daemon beside an OpenSM with our preload library, on the same port: reads
# are the daemon's, writes and what clients have set are OpenSM's, and either may
# be killed. IPoIB runs throughout. The host compares what saquery printed.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$SOFTIB_LOG" || exit 1
read -r first second client _ <<<"$SOFTIB_CLIENTS"
mapfile -d '' opensm_command <"/proc/$SOFTIB_OSM_PID/cmdline"
start_opensm() { # as before, with its library
	local ups
	ups=$(grep -c 'SUBNET UP' opensm.log)
	OSM_TMP_DIR=$SOFTIB_LOG OSM_CACHE_DIR=$SOFTIB_LOG LD_PRELOAD=$SOFTIB_OSM_PRELOAD \
		"${opensm_command[@]}" >>opensm.out.log 2>&1 </dev/null &
	SOFTIB_OSM_PID=$!
	up() { [ "$(grep -c 'SUBNET UP' opensm.log)" -gt "$ups" ]; }
	until_true 30 up
}
start_beside() {
	FABRIC=opensm start_daemon softib0 '[opensm]' || return 1
	serving() { grep -q 'answering in OpenSM' sapphired.log; }
	until_true 30 serving
}

# So many requests were received by the daemon's port.
received() {
	local lines
	lines=$(grep -c 'received=' sapphired.log)
	kill -USR1 "$daemon"
	counted() { [ "$(grep -c 'received=' sapphired.log)" -gt "$lines" ]; }
	until_true 5 counted
	grep -o 'received=[0-9]*' sapphired.log | tail -n 1 | cut -d= -f2
}
ours() { # a command's requests come to the daemon
	local before after
	before=$(received)
	"$@" >ours.out.log 2>&1 || { cat ours.out.log; return 1; }
	after=$(received)
	[ "${after:-0}" -gt "${before:-0}" ]
}
# While a client asks: at most a second without an answer. Three tries, of which the
# best counts: where the machine is emulated it stands still for half of that by itself.
steady() { # NAME command...
	local name=$1 longest=99999 this rc try asker; shift
	for try in 1 2 3; do
		rm -f steady.stop
		"$VM_TEST" guest steady "$client" "$SOFTIB_LOG/steady.stop" >steady.out.log 2>&1 &
		asker=$!
		sleep 1
		"$@"; rc=$?
		sleep 1
		touch steady.stop
		wait $asker
		echo "$name, try $try: $(cat steady.out.log)"
		this=$(grep -o 'longest_ms=[0-9]*' steady.out.log | cut -d= -f2)
		[ "${this:-99999}" -lt "$longest" ] && longest=$this
		[ $rc = 0 ] && [ "$longest" -gt 1000 ] || break
	done
	check "$name: the other goes on" test $rc = 0
	check "$name: at most 1 s without an answer" test "$longest" -le 1000
}

start_beside || { bad "the daemon does not take the reads"; cat sapphired.log; exit 1; }
ok "the daemon takes the reads"
check "ClassPortInfo is answered by the daemon" ours saquery -C "$client" -P 1 -c
check "PathRecords are answered by the daemon" ours saquery -C "$client" -P 1 PR
check "IPoIB joins" ipoib_between "$first" "$second"
check "IPoIB pings" ipoib_ping

join() {
	"$SAPPHIRE" query mcmr --via "umad:$client" --set --mgid ff12::4:77 \
		--port-gid "$(cat "/sys/class/infiniband/$client/ports/1/gids/0")" --join-state 1 \
		--q-key 5 --tclass 1 --pkey 0xffff --flow-label 0 --sl 0 >join.out.log 2>&1
}
serve() {
	"$SAPPHIRE" query sr --via "umad:$client" --set --service-id 7 --service-pkey 0xffff \
		--service-gid "$(cat "/sys/class/infiniband/$client/ports/1/gids/0")" \
		--service-name sapphire-test --service-lease 600 >serve.out.log 2>&1
}
shown() { # RECORD TEXT, from another port
	"$SAPPHIRE" query "$1" --via "umad:$first" >shown.out.log 2>&1 && grep -q "$2" shown.out.log
}
check "a join is handled by OpenSM" join
check "and seen through the daemon" ours shown mcmr ff12::4:77
check "a service is handled by OpenSM" serve
check "and seen through the daemon" ours shown sr sapphire-test

ask_lists sapphire.txt "$client" <(tables_of "$here/saquery.list")

restart_daemon() { kill -9 "$daemon"; start_beside; }
steady "kill -9 of the daemon" restart_daemon
check "afterwards the daemon answers" ours saquery -C "$client" -P 1 -c
restart_opensm() { kill -9 "$SOFTIB_OSM_PID"; start_opensm; }
steady "kill -9 of OpenSM" restart_opensm
check "afterwards the daemon still answers" ours saquery -C "$client" -P 1 -c
check "and a join is handled by the new OpenSM" join
ipoib_forget
check "IPoIB still pings" ipoib_ping

kill "$daemon"
wait "$daemon"
check "without the daemon OpenSM answers" until_true 10 saquery -C "$client" -P 1 -c
ask_lists opensm.txt "$client" <(tables_of "$here/saquery.list")
exit $fails
