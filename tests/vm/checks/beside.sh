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
	FABRIC=opensm start_daemon softib0 '[opensm]' '[control]' \
		"path = \"$SOFTIB_LOG/control.sock\"" || return 1
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
		echo "beside: $name, try $try: $(cat steady.out.log)"
		this=$(grep -o 'longest_ms=[0-9]*' steady.out.log | cut -d= -f2)
		[ "${this:-99999}" -lt "$longest" ] && longest=$this
		[ $rc = 0 ] && [ "$longest" -gt 1000 ] || break
	done
	check "$name: the other goes on" test $rc = 0
	check "$name: at most 1 s without an answer" test "$longest" -le 1000
}

# From $first to $second whoever has the reads answers this SL.
path_sl() {
	timeout 20 saquery -C "$client" -P 1 --slid "$(lid "$first")" --dlid "$(lid "$second")" PR 2>/dev/null |
		sed -n 's/^[[:space:]]*sl\.*0x\(.*\)/\1/p'
}
one_pair() { # SL
	cat <<-END
		port-groups
		 port-group
		  name: a
		  port-guid: $(guid "$first")
		 end-port-group
		 port-group
		  name: b
		  port-guid: $(guid "$second")
		 end-port-group
		end-port-groups
		qos-levels
		 qos-level
		  name: DEFAULT
		  sl: 0
		 end-qos-level
		 qos-level
		  name: L
		  sl: $1
		 end-qos-level
		end-qos-levels
		qos-match-rules
		 qos-match-rule
		  source: a
		  destination: b
		  qos-level-name: L
		 end-qos-match-rule
		end-qos-match-rules
	END
}
is_now() { [ "$(path_sl)" = "$1" ]; }
ups() { grep -c 'SUBNET UP' opensm.log; }
serves_again() { tail -n 3 sapphired.log | grep -q 'answering in OpenSM' || "$SAPPHIRE" status --control "$SOFTIB_LOG/control.sock" | grep -q 'answering beside'; }
# The file is edited before, at and after the signal; whoever answers goes by what OpenSM has.
edits() { # SL ORDER
	local before
	before=$(ups)
	more_ups() { [ "$(ups)" -gt "$before" ]; }
	case $2 in
	before) one_pair "$1" >policy.conf; sleep 1; kill -HUP "$SOFTIB_OSM_PID" ;;
	at) one_pair "$1" >policy.conf; kill -HUP "$SOFTIB_OSM_PID" ;;
	after)
		kill -HUP "$SOFTIB_OSM_PID"; until_true 20 more_ups
		one_pair "$1" >policy.conf; before=$(ups); kill -HUP "$SOFTIB_OSM_PID"
		;;
	esac
	until_true 20 more_ups || return 1
	sleep 1
	for _ in 1 2 3 4 5; do
		is_now "$1" || { echo "SL $(path_sl), not $1, $2"; return 1; }
	done
	until_true 20 serves_again
}
one_pair 0 >policy.conf
ups=$(ups)
kill -HUP "$SOFTIB_OSM_PID"
read_it() { [ "$(ups)" -gt "$ups" ]; }
until_true 20 read_it || bad "OpenSM does not sweep"
start_beside || { bad "the daemon does not take the reads"; cat sapphired.log; exit 1; }
ok "the daemon takes the reads"
check "ClassPortInfo is answered by the daemon" ours saquery -C "$client" -P 1 -c
check "PathRecords are answered by the daemon" ours saquery -C "$client" -P 1 PR
check "IPoIB joins" ipoib_between "$first" "$second"
check "IPoIB pings" ipoib_ping

# What a reload would do, with the fabric as OpenSM has it and the file as it is now.
dry() { "$SAPPHIRE" reload --dry-run --control "$SOFTIB_LOG/control.sock" >dry.out.log 2>&1; }
epoch() { "$SAPPHIRE" status --control "$SOFTIB_LOG/control.sock" | grep -oE 'epoch [0-9]+' | head -n 1; }
before=$(epoch)
finds() { dry && grep -qE "$1" dry.out.log; }
check "a dry run finds nothing that would change" finds '^same '
one_pair 5 >policy.conf
# As a reload would be: what OpenSM answers otherwise is not published beside it.
refused() { ! dry && grep -q 'answered differently by the SA, nothing is published' dry.out.log; }
check "with a policy that OpenSM does not have it is refused" until_true 20 refused
check "and nothing is put into service" test -n "$before" -a "$(epoch)" = "$before" -a "$(path_sl)" = 0
one_pair 0 >policy.conf

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

for round in "1 before" "2 at" "3 after" "4 before" "5 at" "6 after"; do
	# shellcheck disable=SC2086
	check "a policy edited $round OpenSM reads it is answered as OpenSM has it" edits $round
done

ask_lists sapphire.txt "$client" <(tables_of "$here/saquery.list")

# The numbers are hexadecimal.
none_refused() { grep -q 'statuses={0: [0-9a-f]*} ' steady.out.log; }
restart_daemon() { kill -9 "$daemon"; start_beside; }
again_and_again() { # ten ends of each kind: they change hands 40 times
	for signal in KILL TERM; do
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			kill -$signal "$daemon"; wait "$daemon" 2>/dev/null
			start_beside || return 1
		done
	done
}
steady "20 take-overs" again_and_again
check "20 take-overs: nobody is refused" none_refused
take_overs() { grep -c 'answering in OpenSM' sapphired.log; }
stopped() { # as in a debugger, or swapped out
	local before
	before=$(take_overs)
	kill -STOP "$daemon"; sleep 3; kill -CONT "$daemon"
	taken_again() { [ "$(take_overs)" -gt "$before" ]; }
	until_true 20 taken_again
}
# Its snapshot is old by the time that it goes on.
stopped_while_edited() { # SL, and the SL afterwards
	local before
	before=$(ups)
	more_ups() { [ "$(ups)" -gt "$before" ]; }
	kill -STOP "$daemon"
	one_pair "$1" >policy.conf; kill -HUP "$SOFTIB_OSM_PID"
	until_true 20 more_ups && sleep 1
	kill -CONT "$daemon"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		is_now "$1" || { echo "SL $(path_sl), not $1"; return 1; }
	done
	until_true 20 serves_again && is_now "$1" && edits "$2" at
}
steady "a stopped daemon" stopped
check "a stopped daemon: nobody is refused" none_refused
stood_still() { grep -q 'this daemon stood still' sapphired.log; }
check "it reads everything before it answers again" stood_still
check "what was read before it stood still is not answered" stopped_while_edited 1 6
check "and answers again" until_true 20 ours saquery -C "$client" -P 1 -c
steady "kill -9 of the daemon" restart_daemon
check "afterwards the daemon answers" ours saquery -C "$client" -P 1 -c
# What the thread that watches OpenSM has done so far: files read, and looks (it sleeps after each).
watched() {
	local task
	for task in "/proc/$daemon/task"/*; do
		[ "$(cat "$task/comm")" = sa-beside ] || continue
		awk '/^syscr/ { reads = $2 } /^voluntary/ { looks = $2 } END { print reads, looks }' \
			"$task/io" "$task/status"
	done
}
restart_opensm() { # sets reads: of files in ten looks at OpenSM's port
	local before after
	read -ra before <<<"$(watched)"
	kill -9 "$SOFTIB_OSM_PID"
	start_opensm || return 1
	read -ra after <<<"$(watched)"
	reads=$((10 * (after[0] - before[0]) / (after[1] - before[1] + 1)))
}
steady "kill -9 of OpenSM" restart_opensm
echo "beside: ten looks at OpenSM's port read ${reads:-?} files"
check "while OpenSM starts, a look at its port reads its two LIDs" test "${reads:-999}" -le 30
check "afterwards the daemon still answers" ours saquery -C "$client" -P 1 -c
check "and a join is handled by the new OpenSM" join
ipoib_forget
check "IPoIB still pings" ipoib_ping

kill "$daemon"
wait "$daemon"
check "without the daemon OpenSM answers" until_true 10 saquery -C "$client" -P 1 -c
ask_lists opensm.txt "$client" <(tables_of "$here/saquery.list")
exit $fails
