#!/bin/bash
# OpenSM's own test program. osmtest.sh opensm: against OpenSM; osmtest.sh:
# against the daemon alone, which takes every method, on the subnet that OpenSM
# has set up. FLOWS and STRESS name what is run.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
client=${SOFTIB_CLIENTS%% *}
if [ "${1:-}" != opensm ]; then
	end_opensm || exit 1
	# shellcheck disable=SC2086
	start_daemon softib0 ${ROLE:+[sa] "role = \"$ROLE\""} || exit 1
fi
flow() { # NAME SECONDS arguments...
	local name=$1 limit=$2 rc s t; shift 2
	s=$(cut -d' ' -f1 /proc/uptime)
	timeout "$limit" osmtest -g "$(guid "$client")" -i osmtest.dat -l "osmtest-$name.log" "$@" >"osmtest-$name.out.log" 2>&1
	rc=$?
	t=$(awk -v s="$s" '{ print $1 - s }' /proc/uptime)
	echo "flow $name status $rc in $t s"
	[ $rc != 124 ] || [ -z "$stress" ] || rc=0
	if [ $rc = 0 ] && { [ -n "$stress" ] || grep -q PASS "osmtest-$name.out.log"; } && ! grep -q FAIL "osmtest-$name.out.log"; then
		ok "osmtest $name"
	else
		bad "osmtest $name"
		tail -n 25 "osmtest-$name.out.log"
		grep -E 'ERR|error' "osmtest-$name.log" | tail -n 15
	fi
}
stress=
for f in ${FLOWS:-c v e q}; do flow "$f" 60 -f "$f"; done
stress=1
for m in ${STRESS:-1 2 3 4}; do flow "f-s$m" "${STRESS_SECONDS:-4}" -f f -s "$m"; done
[ -z "${daemon:-}" ] || kill "$daemon"
exit $fails
