#!/usr/bin/env bash
# Boot a small VM with a real Linux kernel that has RDMA (umad) and run one
# command inside it. See ../README.md. Exit status: the command's own status; 200 + a reason on
# stderr when the VM cannot be started here; 124 on timeout.
set -u
here=$(cd "$(dirname "$0")" && pwd)

usage() {
	cat >&2 <<-U
	usage: $0 [options] -- command [args...]
	  -c N        vCPUs (default 2)
	  -m MiB      memory (default 1536)
	  -t SEC      kill the VM after SEC seconds (default 120)
	  -o DIR      host directory the guest may write, seen as /out there
	              (default: a new temporary directory, removed at the end)
	  -k          do not try KVM, use TCG emulation; the default is KVM when a
	              guest kernel really starts under it, else TCG
	  -K          require KVM
	  -i          count instructions: one guest nanosecond is one instruction;
	              one vCPU, no KVM
	  -v          show the kernel's console on stderr
	U
	exit 2
}

ncpu=2 mem=1536 limit=120 out= kvm=auto verbose= icount=
while getopts c:m:t:o:ikKvh o; do
	case $o in
	c) ncpu=$OPTARG ;; m) mem=$OPTARG ;; t) limit=$OPTARG ;;
	o) out=$OPTARG ;;
	i) icount=1 kvm=no ;; k) kvm=no ;; K) kvm=yes ;; v) verbose=1 ;; *) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage

cannot() { echo "vm: cannot run here: $*" >&2; exit 200; }

cache=${SAPPHIRE_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sapphire-vm}
mkdir -p "$cache" || cannot "no writable cache directory ($cache)"
[ "$(uname -m)" = x86_64 ] || cannot "host is $(uname -m), the rig is x86_64 only"

exec 9>"$cache/lock"
flock 9
. "$here/prepare.sh"
flock -u 9
exec 9>&-

# accelerator: a KVM that opens but cannot run a vCPU is found by trying it
accel=
if [ $kvm != no ]; then
	if [ -r /dev/kvm ] && [ -w /dev/kvm ]; then
		for cpu in host host,-arch-capabilities; do
			if probe_kvm "$cpu"; then
				accel="-accel kvm -cpu $cpu"
				break
			fi
		done
	fi
	[ -n "$accel" ] || [ $kvm != yes ] || cannot "/dev/kvm is missing or does not run a guest"
fi
kernel=$vmlinuz
[ -n "$accel" ] || kernel=$vmlinux
if [ -n "$icount" ]; then
	# sleep=off: nobody waits for the clock
	accel="-accel tcg,thread=single -icount shift=0,sleep=off -cpu max"
	ncpu=1
elif [ -z "$accel" ]; then
	echo "vm: no KVM, using TCG emulation: do not quote timings" >&2
	# what newer processors have is emulated at a cost: page tables of 5 levels, AVX
	accel="-accel tcg,thread=multi -cpu Nehalem"
fi

tmp=$(mktemp -d /tmp/sapphire-boot.XXXXXX) || cannot "no temporary directory"
[ -n "$out" ] || { out=$tmp/out; mkdir "$out"; }
mkdir -p "$out" || cannot "cannot create $out"
out=$(cd "$out" && pwd)
trap 'rm -rf "$tmp"' EXIT

# what the guest runs: same path, same arguments, same few variables
{
	printf 'cd %q 2>/dev/null || cd /\n' "$PWD"
	printf 'export PATH=%q HOME=%q LANG=C\n' "$PATH" "${HOME:-/root}"
	for v in RUST_BACKTRACE RUST_LOG ${SAPPHIRE_VM_ENV:-}; do
		[ -n "${!v:-}" ] && printf 'export %s=%q\n' "$v" "${!v}"
	done
	printf 'exec'; printf ' %q' "$@"; printf '\n'
} >"$tmp/cmd.sh"
cp "$here/guest-init.sh" "$tmp/"

console=$tmp/console.log
: >"$console"
tailpid=
if [ -n "$verbose" ]; then tail -f "$console" >&2 & tailpid=$!; fi

# a stdio chardev would close the port when stdin ends, so use a FIFO
mkfifo "$tmp/so"
cat "$tmp/so" &
catpid=$!
timeout -k 5 "$limit" qemu-system-x86_64 $accel -smp "$ncpu" -m "$mem" \
	-nodefaults -no-user-config -display none -no-reboot \
	-kernel "$kernel" -initrd "$initrd" \
	-append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr vm_modules=$moddir" \
	-serial file:"$console" \
	-device virtio-rng-pci \
	-virtfs local,path=/,mount_tag=hostroot,security_model=none,readonly=on,multidevs=remap \
	-virtfs local,path="$tmp",mount_tag=rig,security_model=none,readonly=on \
	-virtfs local,path="$out",mount_tag=out,security_model=none \
	-device virtio-serial-pci \
	-chardev file,id=rc,path="$tmp/rc" -device virtserialport,chardev=rc,name=rc \
	-chardev file,id=so,append=on,path="$tmp/so" -device virtserialport,chardev=so,name=stdout \
	</dev/null 2>"$tmp/qemu.err"
qrc=$?
# if qemu never opened the FIFO, let cat go
if [ $qrc != 0 ]; then : <>"$tmp/so"; fi
wait "$catpid" 2>/dev/null
[ -z "$tailpid" ] || { sleep 0.3; kill "$tailpid" 2>/dev/null; }

if [ -s "$tmp/rc" ]; then
	rc=$(head -n1 "$tmp/rc")
	case $rc in ''|*[!0-9]*) ;; *) exit "$rc" ;; esac
fi
if [ $qrc = 124 ] || [ $qrc = 137 ]; then
	echo "vm: stopped after $limit s" >&2
	tail -n 5 "$console" >&2
	exit 124
fi
echo "vm: the guest ended without a result (qemu status $qrc)" >&2
cat "$tmp/qemu.err" >&2
tail -n 30 "$console" >&2
exit 201
