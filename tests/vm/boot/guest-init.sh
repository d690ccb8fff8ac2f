#!/bin/bash
# Runs as PID 1 in the guest after the root is set up.
B=/run/bb/busybox
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
port() { # device node of the virtio port called $1
	local p
	for p in /sys/class/virtio-ports/*; do
		[ "$(cat "$p/name" 2>/dev/null)" = "$1" ] && { echo "/dev/${p##*/}"; return; }
	done
}
mount -t tmpfs tmpfs /dev/shm 2>/dev/null || { mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm; }
mkdir -p /dev/pts; mount -t devpts devpts /dev/pts 2>/dev/null
ln -sf /proc/self/fd /dev/fd 2>/dev/null
echo vm >/proc/sys/kernel/hostname

mods=$(sed -n 's/.*vm_modules=\([^ ]*\).*/\1/p' /proc/cmdline)
kver=$(uname -r)
mkdir -p /lib/modules
# a host with this kernel's headers package has a real directory here (this is
# the overlay, the host keeps its own)
[ -L "/lib/modules/$kver" ] || rm -rf "/lib/modules/$kver"
ln -sfn "$mods" "/lib/modules/$kver"
# For the kernel's request_module and for the checks. A modprobe of the host gives way (again only in
# the overlay): kmod wants an index in its own format, and prepare.sh makes busybox's.
rm -f /usr/sbin/modprobe
printf '#!/bin/sh\nexec /run/bb/busybox modprobe "$@"\n' >/usr/sbin/modprobe
chmod 755 /usr/sbin/modprobe
echo /usr/sbin/modprobe >/proc/sys/kernel/modprobe
ip link set lo up
for m in ib_core ib_umad; do [ -e /sys/module/$m ] || modprobe $m; done

so=$(port stdout); rcp=$(port rc)
/bin/bash /run/rig/cmd.sh </dev/null >"$so" 2>&1
rc=$?
echo "$rc" >"$rcp"
sync
sleep 0.2
$B reboot -f
