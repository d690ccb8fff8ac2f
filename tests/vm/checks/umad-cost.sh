#!/bin/bash
# Executed instructions per query of the daemon and of a responder that only
# turns requests around, on the same HCA. For vm.sh -i with SOFTIB_MOD_ARGS=direct_gmp=1:
# one nanosecond is one instruction, and requests cross in the module.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
read -r server client _ <<<"$SOFTIB_CLIENTS"
cost() { # NAME PROCESS
	# only these two run
	kill -STOP "$SOFTIB_BRIDGE_PID" "$SOFTIB_OSM_PID"
	"$VM_TEST" guest umad-cost "$1" "$server" "$client" "$2" || bad "cost of $1"
	kill -CONT "$SOFTIB_BRIDGE_PID" "$SOFTIB_OSM_PID"
	kill "$2"
	wait "$2"
}
for way in rw uring; do
	PORT_LINE=
	[ $way = rw ] || PORT_LINE='io_uring = true'
	start_daemon "$server" || exit 1
	cost "sapphired.$way" "$daemon"
	"$VM_TEST" guest umad-echo "$server" $way >echo.out.log 2>&1 &
	until_true 20 grep -q serving echo.out.log || { bad "no echo"; cat echo.out.log; }
	cost "echo.$way" $!
done
exit $fails
