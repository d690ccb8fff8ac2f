#!/bin/bash
# The same saquery list to OpenSM and then to the daemon in its place; the host
# compares what was printed. STATE=1: the lists of state that clients make too.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$SOFTIB_LOG" || exit 1
read -r first second client _ <<<"$SOFTIB_CLIENTS"
# names of the lists
host=$(lid "$first") other=$(lid "$second") guid=$(guid "$first") nobody=999
sw=$(saquery -C "$client" -P 1 SWIR | awk -F. '/LID/ { print $NF; exit }')
[ -n "$sw" ] || { bad "no switch's LID"; exit 1; }
lists=$here/saquery.list
[ -z "${STATE:-}" ] || lists+=" $here/saquery-state.list"

# shellcheck disable=SC2086
ask_lists opensm.txt "$client" $lists
end_opensm || exit 1
# shellcheck disable=SC2086
start_daemon softib0 ${ROLE:+[sa] "role = \"$ROLE\""} || exit 1
# shellcheck disable=SC2086
ask_lists sapphire.txt "$client" $lists
kill "$daemon"
exit $fails
