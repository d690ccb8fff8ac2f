# Sourced by the checks, in the guest.
fails=0
ok() { echo "ok   $*"; }
bad() { echo "FAIL $*"; fails=$((fails + 1)); }
check() { local what=$1; shift; if "$@"; then ok "$what"; else bad "$what"; fi; }
lid() { printf '%d\n' "$(cat "/sys/class/infiniband/$1/ports/1/lid")"; }
guid() { sed 's/.*:\(....\):\(....\):\(....\):\(....\)$/0x\1\2\3\4/' "/sys/class/infiniband/$1/ports/1/gids/0"; }
until_true() { # SECONDS command...
	local n=$(($1 * 10)); shift
	for ((; n > 0; n--)); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done
	return 1
}

# The daemon on a device, with OpenSM's files; further arguments are lines of
# its configuration. PORT_LINE and WORKERS_LINE are lines of those sections,
# RUN_AS the words before the program, FABRIC where the fabric is from ("opensm",
# "sa", "sweep"), else OpenSM's files; a device without a name is not named. Sets
# daemon, its process.
start_daemon() {
	local device=$1 option; shift
	{
		printf '[[port]]\ntransport = "umad"\n'
		[ -z "$device" ] || printf 'device = "%s"\n' "$device"
		[ -z "${PORT_LINE:-}" ] || printf '%s\n' "$PORT_LINE"
		printf '[workers]\n%s\n' "${WORKERS_LINE:-sleep_after = 0}"
		if [ -n "${FABRIC:-}" ]; then
			printf '[fabric]\nsource = "%s"\n' "$FABRIC"
		else
			printf '[fabric]\nsource = "files"\npath = "%s"\n' "$SOFTIB_LOG"
		fi
		option=$(opensm_option -F) && printf 'opensm_conf = "%s"\n' "$option"
		[ -z "$SOFTIB_TORUS_CONF" ] || printf '[routing]\ntorus_conf = "%s"\n' "$SOFTIB_TORUS_CONF"
		option=$(opensm_option -P) && printf '[partitions]\nfile = "%s"\n' "$option"
		option=$(opensm_option -Y) && printf '[policy]\nfile = "%s"\n' "$option"
		[ $# = 0 ] || printf '%s\n' "$@"
	} >sapphired.toml
	# shellcheck disable=SC2086
	${RUN_AS:-} "$SAPPHIRED" --config sapphired.toml >sapphired.out.log 2>sapphired.log &
	daemon=$!
	until_true 30 grep -q '^ready' sapphired.out.log && return
	bad "the daemon does not get ready"
	cat sapphired.toml sapphired.log
	return 1
}

# What saquery prints for each line of these files, from a device, to /out/FILE.
# The lines may name host, other, guid, nobody, sw.
ask_lists() { # FILE DEVICE lists...
	local to=$1 device=$2 line args=(); shift 2
	cat "$@" | while IFS= read -r line; do
		eval "args=($line)"
		echo "## $line"
		timeout 20 saquery -C "$device" -P 1 "${args[@]}" 2>err.txt </dev/null
		echo "## status $?"
		grep -v '^ibwarn' err.txt | grep .	# whose clock was first
	done >"/out/$to"
}

# Of saquery.list the tables, which take the place of all of it where the question
# is only who answers.
tables_of() { grep -xE 'NR|PIR|LR|PR|SWIR|LFTR|GIR|SMIR|-D' "$1"; }

# What OpenSM was given for an option.
opensm_option() {
	local word last=
	for word in $SOFTIB_OSM_ARGS; do
		[ "$last" = "$1" ] && echo "$word" && return
		last=$word
	done
	return 1
}

# The subnet stays as OpenSM has set it up.
end_opensm() {
	kill "$SOFTIB_OSM_PID"
	gone() { ! kill -0 "$SOFTIB_OSM_PID"; }
	until_true 20 gone && return
	bad "OpenSM does not end"
	return 1
}

# An OpenSM on a device: LIBRARY ("" for none) is preloaded, further arguments
# are its own; variables for it go before the call. Its log and its files are in
# $SOFTIB_LOG/opensm-DEVICE. Sets opensm, its process. SOFTIB_OSM_PID is another.
run_opensm() { # DEVICE LIBRARY [arguments...]
	local device=$1 library=$2 dir=$SOFTIB_LOG/opensm-$1; shift 2
	mkdir -p "$dir"
	OSM_TMP_DIR=$dir OSM_CACHE_DIR=$dir LD_PRELOAD=$library opensm -g "$(guid "$device")" \
		-f "$dir/opensm.log" -d 2 "$@" >>"$SOFTIB_LOG/opensm-$device.out.log" 2>&1 </dev/null &
	opensm=$!
}
# How often an OpenSM has said a thing; says_again waits until it is more than that.
said() { grep -c "$2" "$SOFTIB_LOG/opensm-$1/opensm.log" 2>/dev/null; } # DEVICE WORDS
says_again() { # SECONDS DEVICE WORDS [COUNT BEFORE]
	local device=$2 words=$3 before=${4:-0}
	more() { [ "$(said "$device" "$words")" -gt "$before" ]; }
	until_true "$1" more
}
smlid() { printf '%d\n' "$(cat "/sys/class/infiniband/$1/ports/1/sm_lid")"; }

# One command of ibsim's console, such as: link Unlink '"H5"[1]'; link ReLink '"H5"[1]'
link() { echo "$1 $2" >"$SOFTIB_CTL"; }
# Takes all HCAs away (umad says EIO for ever); plugs them in again.
unplug() {
	kill "$SOFTIB_BRIDGE_PID"
	until_true 20 test ! -e /sys/class/infiniband/softib0
}
plug() {
	local nodes d
	IFS=, read -ra nodes <<<"$SOFTIB_NODES"
	IBSIM_SOCKNAME=softib "$SOFTIB_BUILD/softib_bridge" "${nodes[@]}" >>"$SOFTIB_LOG/bridge.log" 2>&1 7>&- &
	SOFTIB_BRIDGE_PID=$!
	for d in "$SOFTIB_SM_DEV" $SOFTIB_CLIENTS; do
		until_true 20 grep -qs ACTIVE "/sys/class/infiniband/$d/ports/1/state" || return 1
	done
}

# One flow of osmtest from $client, with further arguments; with stress=1 it may be cut off
# at the limit.
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

# What the kernel's rdma_cm learns of a path: "route dlid=2 slid=1 sl=0 ms=3".
route() { # FROM TO [PORT]
	modprobe rdma_ucm
	until_true 5 test -e /dev/infiniband/rdma_cm
	"$VM_TEST" guest route "$@"
}

# For the daemon alone, so that what has an SL is from us.
policy() { # SL for the port 0x1234
	cat <<-END
		qos-levels
		 qos-level
		  name: DEFAULT
		  sl: 0
		 end-qos-level
		 qos-level
		  name: STORAGE
		  sl: $1
		 end-qos-level
		end-qos-levels
		qos-match-rules
		 qos-match-rule
		  service-id: 0x0000000001061234
		  qos-level-name: STORAGE
		 end-qos-match-rule
		end-qos-match-rules
	END
}
# From $first to $second; says: what was learnt.
says() { # WORDS: the route just resolved
	grep -qE "^route dlid=$(lid "$second") slid=$(lid "$first") $1" route.out.log
}
ask() { route "$first" "$second" "$@" >route.out.log 2>&1; cat route.out.log; }

# The network interface of a device's port; matched by the GUID in its address.
ipoib_of() {
	local g
	g=$(guid "$1" | sed 's/0x//; s/../&:/g; s/:$//')
	grep -l "$g" /sys/class/net/*/address | head -n1 | sed 's|/sys/class/net/||; s|/address||'
}
# IPoIB on devices, each in a namespace of its own, ib-1, ib-2 and so on, as 10.9.0.1, 10.9.0.2 .. With NO_IPV6 they join no
# groups of IPv6, some of which are left again as time goes by.
ipoib_between() { # DEVICE...
	local n=0 d i
	modprobe ib_ipoib
	ipoibs=$#
	for d in "$@"; do
		n=$((n + 1))
		found() { [ -n "$(ipoib_of "$d")" ]; }
		until_true 10 found || return 1
		i=$(ipoib_of "$d")
		ip netns add ib-$n || return 1
		[ -z "${NO_IPV6:-}" ] || ip netns exec ib-$n bash -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
		ip link set "$i" netns ib-$n || return 1
		ip netns exec ib-$n ip addr add 10.9.0.$n/24 dev "$i"
		ip netns exec ib-$n ip link set "$i" up
	done
	joined() { [ "$(for n in $(seq $ipoibs); do ip netns exec ib-$n ip -o link; done | grep -c 'state UP.*infiniband\|infiniband.*state UP\|LOWER_UP.*infiniband')" = "$ipoibs" ]; }
	until_true 20 joined
}
ipoib_ping() { ip netns exec ib-1 /run/bb/busybox ping -c "${1:-2}" -W 3 10.9.0.2; }
# Of each of them to each other one.
ipoib_pings() {
	local from to
	for from in $(seq "$ipoibs"); do
		for to in $(seq "$ipoibs"); do
			[ "$from" = "$to" ] || ip netns exec ib-"$from" /run/bb/busybox ping -c 2 -W 3 10.9.0."$to" >/dev/null || return 1
		done
	done
}
# Forgets what IPoIB learnt from the SA, so that it asks again.
ipoib_forget() {
	local i
	i=$(ip netns exec ib-1 ip -o -4 addr show | awk '/10\.9\.0\.1/ { print $2 }')
	ip netns exec ib-1 ip neigh flush dev "$i"
}

# A counter of the local service of a daemon, by its word in the line that the daemon logs when asked to.
counter() { # LOG PROCESS WORD
	local log=$1 lines
	lines=$(grep -c 'local service; refused' "$log")
	kill -USR1 "$2"
	more() { [ "$(grep -c 'local service; refused' "$log")" -gt "$lines" ]; }
	until_true 5 more
	grep 'local service; refused' "$log" | tail -n 1 | grep -oE "(^| )$3=[0-9]+" | cut -d= -f2
}
