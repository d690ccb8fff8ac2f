#!/bin/bash
# Two hosts of a fleet: the leader beside OpenSM on one HCA, and this host, whose kernel gets its paths from a follower of its
# own. Between the two is an Ethernet link that can be cut: the leader is in a network namespace. Whose answer it was is seen
# by the follower's counters, and once the leader is gone by the SL, as OpenSM has no policy.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
read -r first second _ <<<"$SOFTIB_CLIENTS"
# So long is a word of the leader good. Units: s.
TTL=8
# What a busy machine may take on top. Units: s.
SLACK=3

modprobe veth
ip netns add sm-host && ip link add sm type veth peer name leader netns sm-host || { bad "no link between the hosts"; exit 1; }
ip addr add 10.8.0.2/24 dev sm && ip link set sm up
ip -n sm-host addr add 10.8.0.1/24 dev leader && ip -n sm-host link set leader up

"$SAPPHIRE" fleet init keys >init.out.log 2>&1 || { bad "no keys: $(cat init.out.log)"; exit 1; }
# The leader, beside OpenSM, with a policy of its own that OpenSM does not have.
lead() {
	{
		printf '[[port]]\ntransport = "umad"\ndevice = "softib0"\n[workers]\nsleep_after = 0\n'
		printf '[fabric]\nsource = "opensm"\nqos = true\n[fabric.sa]\nsamples = 0\n[opensm]\n'
		printf '[policy]\nfile = "%s/policy.conf"\nwatch = true\n[state]\ndirectory = "%s/leader"\n' "$SOFTIB_LOG" "$SOFTIB_LOG"
		printf '[fleet]\nrole = "leader"\nroot = "keys/root"\nkey = "keys/leader.key"\nlisten = "10.8.0.1:8042"\nttl_s = %s\nconnections = 64\n' "$TTL"
		printf '[control]\npath = "leader.sock"\n'
	} >leader.toml
	mkdir -p leader
	# The namespace alone, and /sys as it is: that of `ip netns exec` would have no HCAs.
	nsenter --net=/run/netns/sm-host "$SAPPHIRED" --config leader.toml >leader.out.log 2>leader.log &
	leader=$!
	serving() { grep -q 'answering in OpenSM' leader.log; }
	until_true 30 serving || { bad "no leader beside OpenSM"; cat leader.toml leader.log; return 1; }
}
follow() {
	{
		printf '[fabric]\nsource = "fleet"\n[local_service]\npaths = "snapshot"\ntimeout_ms = 500\n'
		printf '[fleet]\nrole = "follower"\nroot = "keys/root"\nfrom = ["http://10.8.0.1:8042"]\ndirectory = "follower"\nnode = "n2"\n'
		printf '[control]\npath = "follower.sock"\n'
	} >follower.toml
	mkdir -p follower
	: >follower.log
	"$SAPPHIRED" --config follower.toml >follower.out.log 2>>follower.log &
	follower=$!
	listening() { grep -q 'path queries are answered' follower.log; }
	until_true 30 listening || { bad "the follower does not listen"; cat follower.toml follower.log; return 1; }
}
counted() { counter follower.log "$follower" "$1"; } # WORD: of the follower's counters
here() { # SL: this host's follower answered
	local before
	before=$(counted resolved)
	ask
	says "sl=$1 " && [ "$(counted resolved)" -gt "${before:-0}" ]
}
there() { # SL: the follower did not, and the SA did
	local before
	before=$(counted resolved)
	ask
	says "sl=$1 " && [ "$(counted resolved)" = "$before" ]
}
state() { "$SAPPHIRE" fleet status --control follower.sock 2>/dev/null; }
blob() { state | awk '$1 == "snapshot" { print $2 }'; }
is() { state | grep -q "$1"; }
since() { awk -v s="$1" '{ print $1 - s }' /proc/uptime; }
now() { cut -d' ' -f1 /proc/uptime; }
# Asks for so long, and gives how often each SL came, as "5x12 6x3".
sampled() { # SECONDS
	local end
	end=$(awk -v n="$1" '{ print $1 + n }' /proc/uptime)
	while awk -v e="$end" '{ exit !($1 < e) }' /proc/uptime; do ask; done |
		grep -o 'sl=[0-9]*' | sort | uniq -c | awk '{ sub("sl=", "", $2); printf "%sx%s ", $2, $1 }'
}

policy 5 >policy.conf
lead || exit 1
follow || exit 1
check "the follower answers by the leader's policy" until_true 30 here 5
check "it says so" is "^state *fresh"

# A policy is changed: the new level within the promise, and the old one never after it.
policy 6 >policy.conf
began=$(now)
of_sa() { ask; says 'sl=6 '; }
check "a changed policy: the new level" until_true 20 of_sa
echo "fleet: a changed policy: the kernel had the new level after $(since "$began") s"
check "and by the follower" until_true 20 here 6
check "never the old one again" test "$(sampled 3 | tr -d ' ' | cut -dx -f1)" = 6

# A cable is pulled: there is another one beside it, and the path stays.
before=$(blob)
link Unlink '"S1"[4]'
other() { [ -n "$(blob)" ] && [ "$(blob)" != "$before" ]; }
check "a cable is pulled: another generation comes" until_true 40 other
check "the path is answered by it" until_true 20 here 6
link ReLink '"S1"[4]'

# The leader is killed: the word that it gave holds to its end, and not longer.
check "before the leader is killed" until_true 40 here 6
kill -9 "$leader"; wait "$leader" 2>/dev/null
began=$(now)
check "the leader is killed: its last word still holds" here 6
silent() { there 0; }
check "then the kernel asks the SA, which is OpenSM" until_true $((TTL + SLACK)) silent
gone=$(since "$began")
echo "fleet: the leader killed: the kernel asked the SA after $gone s, of a TTL of $TTL s"
check "within the time that the word was good for" awk -v g="$gone" -v t=$((TTL + SLACK)) 'BEGIN { exit !(g <= t) }'
check "because nothing was heard" is "^state *stale_lease"
check "and stays so" test "$(sampled 3 | tr -d ' ' | cut -dx -f1)" = 0
lead || exit 1
check "a leader is there again: the follower answers" until_true 30 here 6

# The link between the hosts is cut. The SA's host has the new policy meanwhile, and this host not the old one for longer
# than a word is good.
ip link set sm down
policy 7 >policy.conf
began=$(now)
of_sa() { there 7; }
check "cut off: the SA's level in the end" until_true $((TTL + 20)) of_sa
echo "fleet: cut off: the old level was over after $(since "$began") s"
check "as nothing is heard" is "^state *stale_lease"
check "never the old one again" test "$(sampled 3 | tr -d ' ' | cut -dx -f1)" = 7
ip link set sm up
check "the link is there again: the follower answers by the new policy" until_true 30 here 7

# The follower stands still for longer than a word is good, and another policy comes meanwhile.
kill -STOP "$follower"
policy 1 >policy.conf
of_sa() { ask; says 'sl=1 '; }
check "a follower that stands still: the kernel asks the SA" until_true 30 of_sa
until_true $((TTL + SLACK)) false
kill -CONT "$follower"
check "it goes on, and not with what it had" test "$(sampled 3 | tr -d ' ' | cut -dx -f1)" = 1
check "but with the new policy" until_true 30 here 1

# A person withdraws what is announced.
check "what is announced is withdrawn" "$SAPPHIRE" fleet withdraw --control leader.sock
of_sa() { there 1; }
check "the kernel asks the SA" until_true 5 of_sa
check "because of that" is "^state *withdrawn"
policy 2 >policy.conf
check "what is announced next is answered" until_true 30 here 2

# Started again it has what it had, and waits for a word.
kill -9 "$follower"; wait "$follower" 2>/dev/null
of_sa() { ask; says 'sl=2 '; }
check "a follower that was killed: the kernel asks the SA" of_sa
follow || exit 1
check "started again it answers" until_true 30 here 2
echo "fleet: $(state | grep '^announced')"
exit $fails
