#!/bin/sh
# First process in the guest: mount the host's root read-only over 9p, put a
# tmpfs overlay on it, and go on with guest-init.sh there.
B=/bin/busybox
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t devtmpfs dev /dev
if $B grep -q vm_probe /proc/cmdline; then
	echo VM-PROBE-OK >/dev/ttyS0
	$B sleep 0.2
	$B reboot -f
fi
die() { echo "vm initramfs: $*" >/dev/ttyS0; $B sleep 0.3; $B reboot -f; }
for m in $($B cat /mod/order); do
	$B insmod /mod/$m || echo "insmod $m failed" >/dev/ttyS0
done
opts=trans=virtio,version=9p2000.L,msize=512000
$B mount -t 9p -o ro,$opts,cache=loose hostroot /lower || die "no 9p host root"
$B mount -t tmpfs -o size=60% tmpfs /upper
$B mkdir -p /upper/u /upper/w
$B mount -t overlay -o lowerdir=/lower,upperdir=/upper/u,workdir=/upper/w overlay /new || die "no overlay"
for d in proc sys dev tmp run; do $B mkdir -p /new/$d; done
$B mount -t tmpfs tmpfs /new/run
$B mkdir -p /new/run/rig /new/run/bb /new/out
$B cp /bin/busybox /new/run/bb/busybox
$B mount -t 9p -o ro,$opts rig /new/run/rig || die "no rig share"
$B mount -t 9p -o rw,$opts out /new/out || die "no out share"
for d in proc sys dev; do $B mount -o move /$d /new/$d; done
exec $B switch_root /new /bin/bash /run/rig/guest-init.sh
