#!/bin/bash
# OpenSM with our preload library: alone it works as stock; a daemon (here the
# guest's part) may take the reads and ask what OpenSM knows.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
read -r client other _ <<<"$SOFTIB_CLIENTS"
ask() { saquery -C "$client" -P 1 "$@" >asked.txt; }

check "ClassPortInfo from OpenSM" ask -c
check "NodeRecords from OpenSM" ask NR
check "PathRecords from OpenSM" ask PR
inventory() { timeout 60 osmtest -f c -i inventory.txt -l osmtest.log >osmtest.out.log; }
check "osmtest against OpenSM" inventory
check "IPoIB joins" ipoib_between "$client" "$other"
pings() { ipoib_ping >ping.out.log; }
check "IPoIB pings" pings

"$VM_TEST" guest split "$SOFTIB_SM_DEV" "$client" || bad "the guest's part"

# two of the guest's: a Report that is not answered
errors=$(grep ' ERR ' opensm.log | grep -vc 'ERR 5410\|ERR 1A06')
check "OpenSM has complained of nothing else" test "$errors" = 0
check "NodeRecords afterwards" ask NR
check "IPoIB pings afterwards" pings
check "OpenSM ends when told to" end_opensm

again=$SOFTIB_SM_DEV
up() { says_again 30 "$again" 'SUBNET UP' "$1"; }
stop() { kill "$opensm"; gone() { ! kill -0 "$opensm"; }; until_true 20 gone; }
# another has the reads when OpenSM starts
coproc "$VM_TEST" guest split-hold "$again"
read -r _ <&"${COPROC[0]}"
run_opensm "$again" "$SOFTIB_OSM_PRELOAD"
check "OpenSM starts though another has the reads" up 0
holder=$COPROC_PID
kill -9 "$holder"
check "and answers once that one is gone" until_true 2 ask NR
check "OpenSM ends when told to, again" stop

run_opensm "$again" "$SOFTIB_OSM_PRELOAD" -B
check "OpenSM -B starts" up 1
check "OpenSM -B answers" until_true 5 ask NR
opensm=$("$VM_TEST" guest split-look)
check "OpenSM -B answers after a daemon" until_true 2 ask NR
check "OpenSM -B ends when told to" stop

said=$(cat opensm*.out.log | grep -c '^sapphire: ')
check "the library says little" test "$said" -le 4
exit $fails
