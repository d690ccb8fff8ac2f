#!/bin/bash
# The kernel's path queries, answered by the daemon's local service: by its policy,
# over rdma_cm and IPoIB; and what the kernel does when the agent is killed, hangs,
# has no snapshot, an old one, or a policy that cannot be read.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
read -r first second _ <<<"$SOFTIB_CLIENTS"
# Further arguments are lines of [local_service]. FROM is the [fabric] section.
start_agent() {
	{
		printf '[fabric]\n%s\n' "${FROM:-source = \"files\"
path = \"$SOFTIB_LOG\"
qos = true}"
		[ -z "${POLICY:-}" ] || printf '[policy]\nfile = "%s"\n' "$POLICY"
		printf '[local_service]\n'
		[ $# = 0 ] || printf '%s\n' "$@"
	} >agent.toml
	: >agent.out.log
	"$SAPPHIRED" --config agent.toml >agent.out.log 2>agent.log &
	agent=$!
	listening() { grep -q 'path queries are answered' agent.log; }
	until_true 30 listening || { bad "the agent does not listen"; cat agent.toml agent.log; return 1; }
}
ready() { grep -q '^ready' agent.out.log; }
stop_agent() { kill "${1:-$agent}"; wait "${1:-$agent}"; }
counted() { counter agent.log "$agent" "$1"; } # WORD: of the agent's counters
took() { grep -o 'ms=[0-9]*' route.out.log | cut -d= -f2; }

ask
check "without an agent the kernel asks the SA" says 'sl=0 '
policy 3 >policy.conf
POLICY=$SOFTIB_LOG/policy.conf start_agent 'timeout_ms = 300' || exit 1
check "the agent has a snapshot" until_true 30 ready
before=$(counted resolved)
ask
check "a service that the policy names has the policy's SL" says 'sl=3 '
ask 80
check "another one has not" says 'sl=0 '
check "both were answered by the agent" test "$(counted resolved)" = $((${before:-0} + 2))
before=$(counted resolved)
check "IPoIB joins" ipoib_between "$first" "$second"
check "IPoIB pings" ipoib_ping
check "its path came from the agent" test "$(counted resolved)" -gt "${before:-0}"

"$SAPPHIRED" --config agent.toml >other.out.log 2>other.log &
other=$!
noticed() { grep -q 'sapphired (process .*answers the kernel' other.log; }
check "a second agent notices the first" until_true 20 noticed
stop_agent $other

kill -STOP "$agent"
ask
check "an agent that hangs: the kernel asks the SA" says 'sl=0 '
check "after the time that the agent set" test "$(took)" -ge 250 -a "$(took)" -lt 1900
kill -CONT "$agent"
answering() { ask; says 'sl=3 '; }
check "it answers again" until_true 10 answering
kill -9 "$agent"; wait "$agent"
ask
check "an agent that was killed: the kernel asks the SA" says 'sl=0 '

echo 'qos-levels nonsense' >broken.conf
POLICY=$SOFTIB_LOG/broken.conf start_agent
ask
check "a policy that cannot be read: the kernel asks the SA" says 'sl=0 '
check "as the agent tells it to" test "$(counted no_snapshot)" -ge 1
stop_agent

"$SAPPHIRE" compile --fabric "$SOFTIB_LOG" --policy policy.conf -o copy.snap >compile.out.log 2>&1 || bad "no snapshot: $(cat compile.out.log)"
copy="source = \"snapshot\"
path = \"$SOFTIB_LOG/copy.snap\"
watch = true"
FROM=$copy start_agent
check "a copy of a snapshot is served" until_true 20 ready
ask
check "by its policy" says 'sl=3 '
policy 4 >policy4.conf
"$SAPPHIRE" compile --fabric "$SOFTIB_LOG" --policy policy4.conf -o next.snap >compile.out.log 2>&1
mv next.snap copy.snap
newer() { ask; says 'sl=4 '; }
check "a newer copy takes its place" until_true 10 newer
echo damage >copy.snap
failed() { grep -q '^reload failed' agent.out.log; }
check "a damaged one does not" until_true 10 failed
check "and what was served is served on" newer
stop_agent

# The SA is a sapphired beside OpenSM, by a policy of its own, so that it may not be compared with
# OpenSM's; the agent has its snapshot.
mkdir -p served
policy 5 >policy5.conf
sed -i 's/^/ /' policy5.conf
serve() {
	{
		printf '[[port]]\ntransport = "umad"\ndevice = "%s"\n[workers]\nsleep_after = 0\n' softib0
		printf '[fabric]\nsource = "opensm"\nqos = true\n[fabric.sa]\nsamples = 0\n[opensm]\n[policy]\nfile = "%s"\nwatch = true\n' "$SOFTIB_LOG/policy5.conf"
		printf '[state]\ndirectory = "%s"\n' "$SOFTIB_LOG/served"
	} >sa.toml
	"$SAPPHIRED" --config sa.toml >sa.out.log 2>sa.log &
	sa=$!
	serving() { grep -q 'answering in OpenSM' sa.log; }
	until_true 30 serving || { bad "no daemon beside OpenSM"; cat sa.log; return 1; }
}
serve
ask
check "the SA's own policy" says 'sl=5 '
copy="source = \"snapshot\"
path = \"$SOFTIB_LOG/served/current.snap\"
watch = false"
FROM=$copy start_agent 'follow_sa = true'
check "the agent serves what the SA serves" until_true 20 ready
of_agent() { local before; before=$(counted resolved); ask; says "sl=$1 " && [ "$(counted resolved)" -gt "${before:-0}" ]; }
of_sa() { local before; before=$(counted stale); ask; says "sl=$1 " && [ "$(counted stale)" -gt "${before:-0}" ]; }
check "and answers by it" until_true 10 of_agent 5
policy 6 >policy5.conf
check "an old generation: the kernel asks the SA" until_true 20 of_sa 6
kill -HUP "$agent"
check "the new one is answered by the agent" until_true 20 of_agent 6
stop_agent

# Nothing compiled here: what the SA said, for as long as it says so.
FROM='source = "none"' start_agent 'paths = "sa"'
check "a cache is ready at once" until_true 5 ready
check "the first path is the SA's" until_true 10 of_agent 6
later=$(counted later)
ask
check "the second needs no SA" says 'sl=6 '
check "which was not asked" test "$(counted later)" = "$later"
policy 7 >policy5.conf
check "another generation empties the cache" until_true 20 of_agent 7
kill -9 "$sa"; wait "$sa"
"$VM_TEST" guest routes "$first" "$second" 200 >routes.out.log 2>&1
check "without the SA the cache answers on" grep -q '^routes 200' routes.out.log
echo "result: from the cache: $(cat routes.out.log)"
stop_agent
"$VM_TEST" guest routes "$first" "$second" 50 >routes.out.log 2>&1
echo "result: from the SA: $(cat routes.out.log)"
exit $fails
