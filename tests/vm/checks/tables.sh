#!/bin/bash
# OpenSM, the daemon on the next HCA with OpenSM's files, and clients that ask both.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
read -r server client others <<<"$SOFTIB_CLIENTS"
PYTHON=/usr/bin/python3
COUNT='import json, sys; print(len(json.load(sys.stdin)["records"]))'
start_daemon "$server" || exit 1

# whole tables by the tool and by saquery: as many records
for kind in NR PIR LR SWIR SL2VL VLAR PKTR GIR SMIR; do
	n=$("$SAPPHIRE" query "${kind,,}" --sa-key 1 --via "umad:$client" --json | "$PYTHON" -c "$COUNT")
	s=$(saquery -C "$client" -P 1 -t 10000 --smkey 1 $kind 2>/dev/null | grep -c 'Record dump:')
	check "sapphire query $kind: $n records, $s by saquery" [ "$n" = "$s" ]
done
"$VM_TEST" guest compare "$(lid "$server")" "$client" $others || bad "the tables differ"
kill "$daemon"
exit $fails
