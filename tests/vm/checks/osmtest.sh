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
stress=
for f in ${FLOWS:-c v e q}; do flow "$f" 60 -f "$f"; done
stress=1
for m in ${STRESS:-1 2 3 4}; do flow "f-s$m" "${STRESS_SECONDS:-4}" -f f -s "$m"; done
[ -z "${daemon:-}" ] || kill "$daemon"
exit $fails
