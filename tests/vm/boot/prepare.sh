# Sourced by boot.sh: fetches the kernel and busybox, builds the initramfs.
# Sets vmlinuz, vmlinux, initrd, moddir. Defines probe_kvm.

need() { command -v "$1" >/dev/null 2>&1; }

install_pkgs() {
	[ "$(id -u)" = 0 ] || cannot "needs package(s) $* and this user is not root"
	need apt-get || cannot "needs package(s) $* and there is no apt-get"
	apt-get install -y -qq --no-install-recommends "$@" >>"$cache/apt.log" 2>&1 && return
	apt-get update -qq >>"$cache/apt.log" 2>&1
	apt-get install -y -qq --no-install-recommends "$@" >>"$cache/apt.log" 2>&1 ||
		cannot "apt-get install $* failed (see $cache/apt.log)"
}

need qemu-system-x86_64 || install_pkgs qemu-system-x86
need ip || install_pkgs iproute2

# $1 package, $2 directory to unpack into
fetch_deb() {
	local d=$cache/deb.$$
	rm -rf "$d"; mkdir -p "$d" || cannot "cannot write $cache"
	(cd "$d" && apt-get download -qq "$1") >>"$cache/apt.log" 2>&1 || {
		apt-get update -qq >>"$cache/apt.log" 2>&1
		(cd "$d" && apt-get download -qq "$1") >>"$cache/apt.log" 2>&1
	} || cannot "cannot download Debian package $1 (see $cache/apt.log)"
	mkdir -p "$2" && dpkg-deb -x "$d"/*.deb "$2" || cannot "cannot unpack $1"
	rm -rf "$d"
}

kdir=$cache/kernel
if [ ! -e "$kdir/.done" ]; then
	rm -rf "$kdir"
	if [ -n "${SAPPHIRE_VM_KERNEL_DEB:-}" ]; then
		mkdir -p "$kdir" && dpkg-deb -x "$SAPPHIRE_VM_KERNEL_DEB" "$kdir" || cannot "cannot unpack $SAPPHIRE_VM_KERNEL_DEB"
	else
		pkg=${SAPPHIRE_VM_KERNEL_PKG:-}
		if [ -z "$pkg" ]; then
			# the meta package names the current image package
			pkg=$(apt-cache depends linux-image-amd64 2>/dev/null |
				sed -n 's/^ *Depends: *\(linux-image-[0-9].*amd64\).*/\1/p' | head -n1)
			[ -n "$pkg" ] || { apt-get update -qq >>"$cache/apt.log" 2>&1
				pkg=$(apt-cache depends linux-image-amd64 2>/dev/null |
				sed -n 's/^ *Depends: *\(linux-image-[0-9].*amd64\).*/\1/p' | head -n1); }
			[ -n "$pkg" ] || cannot "apt knows no linux-image-amd64 package"
		fi
		fetch_deb "$pkg" "$kdir"
	fi
	touch "$kdir/.done"
fi
vmlinuz=$(ls "$kdir"/boot/vmlinuz-* 2>/dev/null | head -n1)
[ -n "$vmlinuz" ] || cannot "the kernel package holds no vmlinuz"
kver=${vmlinuz##*/vmlinuz-}
if [ -d "$kdir/usr/lib/modules/$kver" ]; then modroot=$kdir/usr; else modroot=$kdir; fi
moddir=$modroot/lib/modules/$kver
[ -d "$moddir/kernel" ] || cannot "the kernel package holds no modules"

# Under emulation the image takes seconds to unpack itself; unpacked here it starts at once (PVH).
vmlinux=$kdir/vmlinux-$kver
if [ ! -s "$vmlinux" ] && need xz; then
	for at in $(LC_ALL=C grep -obUaP '\xfd7zXZ\x00' "$vmlinuz" | cut -d: -f1); do
		# more follows, and not all that looks like the beginning is it
		tail -c+$((at + 1)) "$vmlinuz" | xz -dc --single-stream >"$vmlinux.tmp" 2>/dev/null
		[ "$(head -c 4 "$vmlinux.tmp" | tail -c 3)" = ELF ] && mv "$vmlinux.tmp" "$vmlinux" && break
	done
	rm -f "$vmlinux.tmp"
fi
[ -s "$vmlinux" ] || vmlinux=$vmlinuz

bb=$cache/bb/bin/busybox
[ -x "$bb" ] || fetch_deb busybox-static "$cache/bb"
[ -x "$bb" ] || bb=$cache/bb/usr/bin/busybox
[ -x "$bb" ] || cannot "busybox-static holds no busybox"

[ -e "$moddir/modules.dep" ] || "$bb" depmod -b "$modroot" "$kver" ||
	cannot "depmod failed"

# Modules the initramfs loads itself; everything else is read over 9p.
boot_mods="virtio_pci virtio_console 9pnet_virtio 9p overlay virtio-rng ib_umad"
initrd=$cache/initrd.$kver.$(cat "$here/initrd-init.sh" "$here/prepare.sh" | sha1sum | cut -c1-12)
if [ ! -s "$initrd" ]; then
	i=$cache/ird.$$
	rm -rf "$i"; mkdir -p "$i"/bin "$i"/mod "$i"/proc "$i"/sys "$i"/dev "$i"/lower "$i"/upper "$i"/new
	cp "$bb" "$i/bin/busybox"; ln -s busybox "$i/bin/sh"
	cp "$here/initrd-init.sh" "$i/init"; chmod 755 "$i/init"
	: >"$i/mod/order"
	add_mod() { # $1 path relative to moddir; its dependencies first
		local rel=$1 d
		grep -qx "$(basename "$rel")" "$i/mod/order" && return
		for d in $(sed -n "s|^$rel:||p" "$moddir/modules.dep"); do add_mod "$d"; done
		cp "$moddir/$rel" "$i/mod/" || cannot "module $rel is missing"
		basename "$rel" >>"$i/mod/order"
	}
	for m in $boot_mods; do
		p=$(sed -n "s|^\([^:]*/$m\.ko\):.*|\1|p" "$moddir/modules.dep" | head -n1)
		[ -n "$p" ] || { [ "$m" = virtio-rng ] && continue; grep -q "/$m.ko" "$moddir/modules.builtin" && continue
			cannot "module $m is not in the kernel package"; }
		add_mod "$p"
	done
	(cd "$i" && find . | "$bb" cpio -o -H newc 2>/dev/null | gzip -1) >"$initrd.tmp" && mv "$initrd.tmp" "$initrd" ||
		cannot "cannot build the initramfs"
	rm -rf "$i"
fi

# Does a guest really run? The initramfs restarts (and so ends) at once when
# told to. The answer is kept per boot of this host.
probe_kvm() {
	local id f=$cache/kvm-probe log
	id="$1 $(qemu-system-x86_64 --version | head -n1) $kver $(cat /proc/sys/kernel/random/boot_id)"
	grep -qxF "ok $id" "$f" 2>/dev/null && return 0
	grep -qxF "no $id" "$f" 2>/dev/null && return 1
	log=$(timeout -k 2 8 qemu-system-x86_64 -accel kvm -cpu "$1" -smp 1 -m 256 \
		-nodefaults -no-user-config -display none -no-reboot -kernel "$vmlinuz" -initrd "$initrd" \
		-append "console=ttyS0 quiet panic=-1 vm_probe" -serial stdio </dev/null 2>&1)
	case $log in
	*VM-PROBE-OK*) echo "ok $id" >>"$f"; return 0 ;;
	esac
	echo "no $id" >>"$f"
	return 1
}
