#!/usr/bin/env bash
# Run a command in a VM whose kernel has software InfiniBand HCAs attached to a
# fabric simulated by ibsim, with OpenSM as its subnet manager. See README.md.
# Exit status: the command's own; 200 + a reason on stderr when the rig cannot
# run here; 201 the guest or a part of the rig failed; 124 time limit.
set -u
rig=$(cd "$(dirname "$0")" && pwd)

usage() {
	cat >&2 <<-U
	usage: $0 [options] -- command [args...]
	  fabric:
	  -f FILE     ibsim net file (default: two switches, six HCAs)
	  -T X,Y,Z    torus of these dimensions instead, routed by torus-2QoS
	  -H N        hosts per switch of -T (default 1)
	  -n A,B,C    nodes that become software HCAs softib0,1,2... (default: the
	              file's first three HCAs; at most 10). OpenSM runs on the first
	  OpenSM:
	  -R ENGINE   routing engine
	  -O ARGS     further arguments of opensm
	  -P LIB      preload LIB into opensm; "split" is hca/tools/split_preload
	  -S          no OpenSM (the ports stay in state INIT, without LIDs)
	  -w SEC      wait at most SEC seconds for the subnet (default 60)
	  VM:
	  -c N, -m MiB, -t SEC, -o DIR, -i, -k, -K, -v   as for boot/boot.sh
	U
	exit 2
}

net= dims= hosts=1 nodes= engine= osm_args= osm_preload= no_sm= wait=60 pass=() limit=180
while getopts f:T:H:n:R:O:P:Sw:c:m:t:o:ikKvh o; do
	case $o in
	f) net=$OPTARG ;; T) dims=$OPTARG ;; H) hosts=$OPTARG ;; n) nodes=$OPTARG ;;
	R) engine=$OPTARG ;; O) osm_args=$OPTARG ;; P) osm_preload=$OPTARG ;; S) no_sm=1 ;; w) wait=$OPTARG ;;
	t) limit=$OPTARG ;; c|m|o) pass+=("-$o" "$OPTARG") ;; i|k|K|v) pass+=("-$o") ;; *) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage

cannot() { echo "vm: cannot run here: $*" >&2; exit 200; }
cache=${SAPPHIRE_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sapphire-vm}
mkdir -p "$cache/softib" || cannot "no writable cache directory ($cache)"
[ "$(uname -m)" = x86_64 ] || cannot "host is $(uname -m), the rig is x86_64 only"

# kernel image and helpers: sets kver, moddir; defines install_pkgs
here=$rig/boot
exec 9>"$cache/lock"
flock 9
. "$here/prepare.sh"
need opensm || install_pkgs opensm
need ibsim || install_pkgs ibsim-utils
need saquery || install_pkgs infiniband-diags
need gcc || install_pkgs gcc libc6-dev
need make || install_pkgs make
need python3 || install_pkgs python3-minimal

# the module must be built against the headers of exactly the guest's kernel
kdir=/usr/src/linux-headers-$kver
[ -e "$kdir/Makefile" ] || install_pkgs "linux-headers-$kver"
[ -e "$kdir/Makefile" ] || cannot "no kernel headers for $kver; remove $cache/kernel to fetch a current image"
b=$cache/softib/$kver-$(cat "$rig"/hca/module/* "$rig"/hca/tools/*.c | sha1sum | cut -c1-12)
if [ ! -e "$b/.done" ]; then
	rm -rf "$b"
	mkdir -p "$b" && cp "$rig"/hca/module/* "$b/" || cannot "cannot write $b"
	make -C "$kdir" M="$b" modules >"$b/build.log" 2>&1 || cannot "the module does not build, see $b/build.log"
	for t in "$rig"/hca/tools/*.c; do
		n=$(basename "$t" .c)
		case $n in
		*_preload) gcc -O2 -Wall -I"$rig/hca/module" -shared -fPIC -o "$b/$n.so" "$t" -ldl ;;
		*) gcc -O2 -Wall -I"$rig/hca/module" -o "$b/$n" "$t" ;;
		esac 2>>"$b/build.log" || cannot "$t does not build, see $b/build.log"
	done
	touch "$b/.done"
fi
flock -u 9
exec 9>&-

[ "$osm_preload" != split ] || osm_preload=$b/split_preload.so

tmp=$(mktemp -d /tmp/sapphire-vm.XXXXXX) || cannot "no temporary directory"
trap 'rm -rf "$tmp"' EXIT
torus_conf=
if [ -n "$dims" ]; then
	python3 "$rig/../rig/gen_torus.py" --dims "$dims" --hosts "$hosts" --ports $((6 + hosts)) --net "$tmp/fabric.net" \
		--conf "$tmp/torus-2QoS.conf" 2>/dev/null || cannot "gen_torus.py failed for --dims $dims"
	net=$tmp/fabric.net torus_conf=$tmp/torus-2QoS.conf engine=${engine:-torus-2QoS}
fi
[ -n "$net" ] || net=$rig/two-switches.net
[ -r "$net" ] || cannot "no net file $net"
net=$(readlink -f "$net")
if [ -z "$nodes" ]; then
	nodes=$(awk '/^(Hca|Ca)[ \t]/ { n = $3; gsub(/"/, "", n); print n; if (++c == 3) exit }' "$net" | paste -sd,)
fi
[ -n "$nodes" ] || cannot "no HCA in $net"

export SOFTIB_BUILD=$b SOFTIB_RIG=$rig SOFTIB_NET=$net SOFTIB_NODES=$nodes SOFTIB_ENGINE=$engine \
	SOFTIB_TORUS_CONF=$torus_conf SOFTIB_OSM_ARGS=$osm_args SOFTIB_OSM_PRELOAD=$osm_preload \
	SOFTIB_NO_SM=$no_sm SOFTIB_WAIT=$wait
export SAPPHIRE_VM_ENV="${SAPPHIRE_VM_ENV:-} SOFTIB_BUILD SOFTIB_RIG SOFTIB_NET SOFTIB_NODES SOFTIB_ENGINE SOFTIB_TORUS_CONF SOFTIB_OSM_ARGS SOFTIB_OSM_PRELOAD SOFTIB_NO_SM SOFTIB_WAIT SOFTIB_MOD_ARGS SOFTIB_BRIDGE_ARGS"
"$here/boot.sh" -t "$limit" ${pass[@]+"${pass[@]}"} -- bash "$rig/guest.sh" "$@"
