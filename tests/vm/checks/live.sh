#!/bin/bash
# The fabric as OpenSM's own SA tells it over the kernel's umad: the same files
# that OpenSM dumps, and a snapshot whose sampled paths OpenSM answers alike.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
client=${SOFTIB_CLIENTS%% *}
if "$SAPPHIRE" fabric read --via "umad:$client" -o /out/read; then ok "fabric read"; else bad "fabric read"; fi
for f in opensm-subnet.lst opensm-lfts.dump opensm-sl2vl.dump; do
	[ -e "$f" ] || continue
	if cmp "$f" "/out/read/$f"; then ok "$f"; else bad "$f"; fi
done
conf=$(dirname "$SOFTIB_NET")/torus-2QoS.conf
{
	printf '[fabric]\nsource = "sa"\n[fabric.sa]\nsamples = 200\n'
	printf '[[port]]\ntransport = "umad"\ndevice = "%s"\n' "$client"
	[ ! -e "$conf" ] || printf '[routing]\ntorus_conf = "%s"\n' "$conf"
} >live.toml
if "$SAPPHIRED" --config live.toml --check 2>live.log; then ok "sapphired --check"; else bad "sapphired --check"; cat live.log; fi
if grep -q "engine ${ENGINE:?}," live.log; then ok "engine $ENGINE"; else bad "engine $ENGINE"; cat live.log; fi
exit $fails
