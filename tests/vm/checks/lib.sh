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
# its configuration. Sets daemon, its process.
start_daemon() {
	local device=$1 option; shift
	{
		printf '[[port]]\ntransport = "umad"\ndevice = "%s"\n' "$device"
		printf '[workers]\nyield_after = 1\n'
		printf '[fabric]\nsource = "files"\npath = "%s"\n' "$SOFTIB_LOG"
		option=$(opensm_option -F) && printf 'opensm_conf = "%s"\n' "$option"
		[ -z "$SOFTIB_TORUS_CONF" ] || printf '[routing]\ntorus_conf = "%s"\n' "$SOFTIB_TORUS_CONF"
		option=$(opensm_option -P) && printf '[partitions]\nfile = "%s"\n' "$option"
		option=$(opensm_option -Y) && printf '[policy]\nfile = "%s"\n' "$option"
		[ $# = 0 ] || printf '%s\n' "$@"
	} >sapphired.toml
	# its worker polls: only while nobody else wants the core
	chrt -i 0 "$SAPPHIRED" --config sapphired.toml >sapphired.out.log 2>sapphired.log &
	daemon=$!
	until_true 30 grep -q '^ready' sapphired.out.log && return
	bad "the daemon does not get ready"
	cat sapphired.toml sapphired.log
	return 1
}

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
