#!/bin/bash
# The umad port on a kernel: the daemon's on the first client HCA, asked from the
# last two; then responders of our own; then HCAs that are unplugged.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
read -r server client other <<<"$SOFTIB_CLIENTS"
grep . /sys/module/ib_core/parameters/*_queue_size | sed 's|.*/|     ib_core |'
# its worker polls: only while nobody else wants the core
WORKERS_LINE='yield_after = 1' RUN_AS='chrt -i 0' start_daemon "$server" || exit 1
"$VM_TEST" guest umad-daemon "$server" "$client" "$other" "$daemon" sapphired.log || bad "the daemon's port"
kill "$daemon"
wait "$daemon"
"$VM_TEST" guest umad-ports "$server" "$client" || bad "the ports"

# OpenSM does not notice, and would only spin
end_opensm || exit 1
start_daemon "$server" || exit 1
unplug && plug || bad "the HCAs do not come back"
check "the daemon serves again when its HCA is back" until_true 20 "$VM_TEST" guest umad-get "$server" "$client"
kill "$daemon"
wait "$daemon"
"$VM_TEST" guest umad-removal softib0 "$server" "$client" "$other" || bad "removal"
exit $fails
