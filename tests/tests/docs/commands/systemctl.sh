#!/usr/bin/env bash
# Stands for systemctl, udevadm and journalctl, by whose name it is called. Starts what sapphired's unit says, as the
# user and with the directories that it says; looks whether OpenSM would find what its drop-in names.
set -euo pipefail
unit=/etc/systemd/system/sapphired.service
value() { sed -n "s/^$1=//p" "$unit"; }
dropin=/etc/systemd/system/opensm@.service.d/sapphire.conf
words=()
for word in "$@"; do
    case $word in -*) ;; *) words+=("$word") ;; esac
done
case ${0##*/} in
    udevadm) grep -q 'GROUP="sapphire"' /etc/udev/rules.d/91-sapphire.rules; getent group sapphire >/dev/null; exit ;;
    journalctl) echo "sapphire: read methods of the SA can be split off; socket /run/sapphire/opensm.sock"; exit ;;
esac
case ${words[0]} in
    daemon-reload | cat) ;;
    restart)
        library=$(sed -n 's/^Environment=LD_PRELOAD=//p' "$dropin")
        test -f "$library"
        # The dynamic linker would only warn.
        test -z "$(LD_PRELOAD=$library /bin/true 2>&1)"
        getent group "$(sed -n 's/^Environment=SAPPHIRE_SPLIT_GROUP=//p' "$dropin")" >/dev/null
        ;;
    start | enable)
        if [ -f /run/started ] && kill -0 "$(cat /run/started)" 2>/dev/null; then exit 0; fi
        user=$(value User)
        test "$(value Group)" = "$user"
        install -d -o "$user" -g "$user" "/run/$(value RuntimeDirectory)" "/var/lib/$(value StateDirectory)"
        read -ra program <<<"$(value ExecStart)"
        setpriv --reuid "$user" --regid "$user" --init-groups "${program[@]}" >/run/printed 2>&1 </dev/null &
        echo $! >/run/started
        for ((tries = 0; tries < 400; tries++)); do
            [ ! -S /run/sapphire/control.sock ] || exit 0
            kill -0 "$(cat /run/started)" 2>/dev/null || break
            sleep 0.05
        done
        cat /run/printed >&2
        exit 1
        ;;
    stop | disable)
        kill "$(cat /run/started)"
        rm /run/started
        ;;
    *) exit 99 ;;
esac
