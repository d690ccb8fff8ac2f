#!/bin/bash
# Two SMs in a subnet that nobody has set up, on HCAs of their own: two daemons, then a daemon and an OpenSM. The master is stopped, killed and
# started again, and priorities change. All the time a host pings another one by IPoIB, and a third one asks the SA.
. "$(dirname "$0")/lib.sh"
cd "$SOFTIB_LOG" || exit 1
one=$SOFTIB_SM_DEV
read -r two from to client <<<"$SOFTIB_CLIENTS"
poll=10000 # ms, from one poll of a standby to the next, as by default
declare -A sm # processes by device; none of one that has ended
trap 'kill ${sm[*]} 2>/dev/null' EXIT

# What an SM goes by, ours and OpenSM alike.
priority() { printf 'sm_priority %d\nsminfo_polling_timeout %d\n' "$2" "$poll" >"$1.conf"; } # DEVICE PRIORITY
# No sweep comes by itself: what is seen is by polls, traps and commands.
ours() { # DEVICE
	mkdir -p "$1.state"
	cat >"$1.toml" <<-END
		[fabric]
		source = "sweep"
		opensm_conf = "$1.conf"
		[sm]
		sweep_interval = 600
		[state]
		directory = "$1.state"
		[[port]]
		transport = "umad"
		device = "$1"
		[workers]
		sleep_after = 0
	END
	"$SAPPHIRED" --config "$1.toml" >>"$1.out.log" 2>>"$1.log" &
	sm[$1]=$!
}
theirs() { run_opensm "$1" "" -F "$SOFTIB_LOG/$1.conf" -D 0x43; sm[$1]=$opensm; } # DEVICE
# An OpenSM that is stopped now and then stays for ever.
ends() { # DEVICE SIGNAL
	local pid=${sm[$1]}
	sm[$1]=
	kill "-$2" "$pid"
	gone() { [ ! -e "/proc/$pid" ] || grep -q 'State:.*Z' "/proc/$pid/status"; }
	until_true 5 gone || kill -9 "$pid"
	wait "$pid" 2>/dev/null
}
reprioritise() { priority "$@"; kill -HUP "${sm[$1]}"; } # DEVICE PRIORITY

state_of() { sminfo -C "$client" -P 1 -t 500 "$(lid "$1")" 2>/dev/null | sed -n 's/.*SMINFO_\([A-Z]*\).*/\1/p'; }
is() { [ "$(state_of "$1")" = "$2" ]; } # DEVICE STATE
# It is the master, the other one stands by or has ended, and all ports know.
managed_by() { # DEVICE
	local d
	for d in "$one" $SOFTIB_CLIENTS; do [ "$(smlid "$d")" = "$(lid "$1")" ] || return 1; done
	for d in "$one" "$two"; do
		if [ "$d" = "$1" ]; then is "$d" MASTER; else [ -z "${sm[$d]}" ] || is "$d" STANDBY; fi || return 1
	done
}
# A master knows those that it has met in a sweep.
sweeps() {
	local before
	before=$(wc -l <"$one.out.log")
	more() { [ "$(wc -l <"$one.out.log")" -gt "$before" ]; }
	kill -HUP "${sm[$one]}"
	until_true 30 more
}
stands_by() { until_true 60 is "$1" STANDBY && sweeps; }

# How things are: LIDs and states of all links, what switches hold, who is in which group.
links() { iblinkinfo -C "$client" -P 1; }
of_switches() { local each; for each in $switches; do ibroute -n -C "$client" -P 1 "$@" "$each"; done; }
unicast() { of_switches; }
multicast() { of_switches -M; }
members() { "$SAPPHIRE" query mcmr --via "umad:$client" --sa-key 1; }
same() { "$1" >"$1.now" 2>&1; diff "$1.txt" "$1.now"; }
# They are that again, and one that was asked in the middle of something is asked again.
all_same() {
	local each
	for each in $kept; do until_true 2 same "$each" || { same "$each"; return 1; }; done
}
settled() { "$1" >"$1.txt" 2>&1; grep -q . "$1.txt" && same "$1"; }
# Sets of MCMemberRecord that the kernel of any host has sent.
joins() { grep -c 'class 0x3 .*method 0x2 .*attr_id 0x38 ' /sys/kernel/tracing/trace; }
count_joins() {
	mount -t tracefs none /sys/kernel/tracing
	echo 'mgmt_class == 3 && method == 2' >/sys/kernel/tracing/events/ib_mad/ib_mad_ib_send_mad/filter
	echo 1 >/sys/kernel/tracing/events/ib_mad/ib_mad_ib_send_mad/enable
}

begin() {
	rm -f stop
	"$VM_TEST" guest steady "$client" "$SOFTIB_LOG/stop" >steady.out.log 2>&1 &
	asker=$!
	"$VM_TEST" guest pings "$SOFTIB_LOG/stop" ip netns exec ib-1 /run/bb/busybox ping -i 0.05 10.9.0.2 >pings.out.log 2>&1 &
	pinger=$!
	begun() { grep -q begun pings.out.log && ls -l "/proc/$asker/fd" | grep -q umad; }
	until_true 20 begun
}
finish() { touch stop; wait "$asker" "$pinger"; }
number() { grep -o " $2=[0-9]*" "$1.out.log" | cut -d= -f2; } # PROGRAM NAME
at_most() { [ -n "$1" ] && [ "$1" -le "$2" ]; }

# What happens while they ask and ping; then DEVICE is the master, and all else is as it was. The SA answers again within so many polls:
# where the subnet is handed over none is waited for, and two are time enough for a busy emulated machine.
event() { # NAME DEVICE POLLS command...
	local name="$pair, $1" master=$2 polls=$3 before; shift 3
	before=$(joins)
	begin
	"$@"
	check "$name: there is one master" until_true 70 managed_by "$master"
	check "$name: it answers" until_true 20 saquery -C "$client" -P 1 -c
	check "$name: $kept are as they were" all_same
	finish
	cat pings.out.log steady.out.log
	# Nothing that data goes by was touched.
	check "$name: no ping is lost" at_most "$(number pings lost)" 0
	check "$name: no answer is wrong" at_most "$(number steady wrong)" 0
	check "$name: the SA answers again within $polls polls" at_most "$(number steady longest_ms)" $((polls * poll))
	# The simulator's ports cannot be asked to register again, so who is a member was told by the master before.
	check "$name: nobody has joined again" at_most "$(joins)" "$before"
	row "$name" "$(number pings longest_ms)" "$(number steady longest_ms)" "$(number pings lost)"
}
row() { printf 'two-sms: %-52s %6s %6s %6s\n' "$@"; }

priority "$one" 8
priority "$two" 5
ours "$one"
check "the first daemon is the master" until_true 60 managed_by "$one"
ours "$two"
check "the second one stands by" stands_by "$two"
NO_IPV6=1
check "IPoIB joins" ipoib_between "$from" "$to"
check "and pings" ipoib_ping
switches=$(ibswitches -C "$client" -P 1 | sed -n 's/.* lid \([0-9]*\) .*/\1/p')
for each in links unicast multicast members; do check "$each are known" until_true 6 settled "$each"; done
count_joins
row "longest gaps of pings and SA, ms; packets lost" "" "" ""

pair="ours and ours" kept="links unicast multicast members"
event "master stopped" "$two" 2 ends "$one" TERM
event "a greater one starts" "$one" 2 ours "$one"
event "master killed" "$two" 3 ends "$one" KILL
event "a greater one starts again" "$one" 2 ours "$one"
event "standby's priority raised" "$two" 2 reprioritise "$two" 9
event "master's priority lowered" "$one" 2 reprioritise "$two" 5

# OpenSM learns of no group from the master before: groups and their tables are its own
pair="ours and OpenSM" kept="links unicast"
ends "$two" TERM
theirs "$two"
check "OpenSM stands by" stands_by "$two"
event "master stopped" "$two" 2 ends "$one" TERM
event "ours, greater, starts" "$one" 2 ours "$one"
# OpenSM misses a master after six polls
event "master killed" "$two" 7 ends "$one" KILL
event "ours, greater, starts again" "$one" 2 ours "$one"
event "master's priority lowered" "$two" 2 reprioritise "$one" 2
pair="OpenSM and ours"
event "master stopped" "$one" 3 ends "$two" TERM
event "OpenSM, greater, starts" "$two" 2 theirs "$two"
event "master killed" "$one" 3 ends "$two" KILL
event "OpenSM, greater, starts again" "$two" 2 theirs "$two"
event "master's priority lowered" "$one" 2 reprioritise "$two" 1
event "OpenSM's priority raised" "$two" 2 reprioritise "$two" 5
event "standby's priority raised" "$one" 2 reprioritise "$one" 8

before=$(joins)
kill -USR1 "$SOFTIB_BRIDGE_PID" # ClientReregister
more_joins() { [ "$(joins)" -gt "$before" ]; }
check "joins were counted" until_true 20 more_joins
cp "opensm-$two/opensm.log" .
[ $fails = 0 ] || tail -n 30 "$one.log" "$two.log" opensm.log
exit $fails
