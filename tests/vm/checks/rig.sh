#!/bin/bash
# The rig itself: what lib.sh has for other checks, once each. Needs three HCAs.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
read -r first second _ <<<"$SOFTIB_CLIENTS"

route "$first" "$second" >route.txt 2>&1
cat route.txt
check "the kernel's rdma_cm resolves a route" grep -q "^route dlid=$(lid "$second") slid=$(lid "$first") " route.txt
check "IPoIB joins" ipoib_between "$first" "$second"
check "IPoIB ping" ipoib_ping
ipoib_forget
check "IPoIB ping by a new path" ipoib_ping 1
modprobe -r ib_ipoib

ups=$(grep -c 'SUBNET UP' opensm.log)
link Unlink '"H2"[1]'
up_again() { [ "$(grep -c 'SUBNET UP' opensm.log)" -gt "$ups" ]; }
check "a link that goes down makes OpenSM sweep" until_true 20 up_again
link ReLink '"H2"[1]'

echo 'sminfo_polling_timeout 1000' >second.conf	# default 10 s, 4 misses
run_opensm "$first" "" -F "$PWD/second.conf"
check "a second OpenSM is STANDBY" says_again 20 "$first" 'Entering STANDBY'
kill -9 "$SOFTIB_OSM_PID"
check "and MASTER when the first is killed" says_again 60 "$first" 'Entering MASTER'
moved() { [ "$(smlid "$second")" = "$(lid "$first")" ]; }
check "clients learn its LID" until_true 20 moved
kill -9 "$opensm"
run_opensm "$first" "$SOFTIB_BUILD/split_preload.so"
check "OpenSM starts again with a library" says_again 30 "$first" 'SUBNET UP' "$(said "$first" 'SUBNET UP')"
kill "$opensm"
wait "$opensm"
exit $fails
