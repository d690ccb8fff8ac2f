#!/bin/bash
# What an operator does with the packages, in a fresh Debian that systemd has booted: install, try, start, ask,
# upgrade while a client asks, remove, purge. Runs in the container, as root; what it says goes to the test.
set -Eeuo pipefail
export DEBIAN_FRONTEND=noninteractive
cd /check
. ./lib.sh

files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /check \) -prune -o -print |
        LC_ALL=C sort
    find /run -maxdepth 1 -name 'sapphire*'
}

echo "== install, from files alone"
files >before
apt-get install -y -o Dpkg::Use-Pty=0 ./*.deb
for unit in sapphired.service sapphired-local.service sapphired-local.socket; do
    is disabled "$(systemctl is-enabled $unit || true)"
done
is inactive "$(state ActiveState)"
is 'sapphire sapphire 755' "$(stat -c '%U %G %a' /run/sapphire)"
is 'sapphire sapphire 700' "$(stat -c '%U %G %a' /var/lib/sapphire)"
ldconfig -p | grep -q 'libsapphire_sa.so.0 '
test -z "$(LD_PRELOAD=/usr/lib/sapphire/libsapphire_split.so /bin/true 2>&1)"
for unit in sapphired.service sapphired-local.service; do
    systemd-analyze security --no-pager --threshold=21 $unit >/dev/null
done
systemd-analyze verify sapphired.service sapphired-local.service sapphired-local.socket

echo "== the configuration as it was installed"
runuser -u sapphire -- sapphired --config /etc/sapphire/sapphired.toml --check
# No HCA here, so the unit does not start; with one it would.
systemctl start sapphired
is no "$(state ConditionResult)"
mkdir -p /run/systemd/system/sapphired.service.d
printf '[Unit]\nConditionPathExists=\n' >/run/systemd/system/sapphired.service.d/try.conf
systemctl daemon-reload
timeout 60 systemctl start sapphired
is active "$(state ActiveState)"
old=$(state MainPID)
is sapphire "$(stat -c %U /proc/"$old")"
sapphire status
ask
runuser -u nobody -- sapphire status && { echo "@@ nobody may ask"; exit 1; }

echo "== upgrade while a client asks; the operator's line stays"
echo '# mine' >>/etc/sapphire/sapphired.toml
dpkg-deb -R sapphire_*.deb newer
sed -i 's/^\(Version: .*\)/\1+newer/' newer/DEBIAN/control
rm sapphire_*.deb
dpkg-deb -Znone -b newer sapphire_newer.deb >/dev/null
(
    while [ ! -e stop ]; do
        if ask >/dev/null 2>&1; then echo answered; else echo refused; fi
    done >asked
) &
client=$!
within grep -q answered asked
apt-get install -y -o Dpkg::Use-Pty=0 ./sapphire_newer.deb
grep -q '^# mine$' /etc/sapphire/sapphired.toml
within ask
is active "$(state ActiveState)"
[ "$old" != "$(state MainPID)" ]
lines=$(wc -l <asked)
within sh -c "tail -n +$((lines + 1)) asked | grep -q answered"
touch stop
wait "$client"
echo "the client: $(sort asked | uniq -c | xargs)"
is disabled "$(systemctl is-enabled sapphired.service || true)"

echo "== remove: what runs is stopped, the configuration stays"
new=$(state MainPID)
apt-get remove -y -o Dpkg::Use-Pty=0 sapphire
within test ! -e /proc/"$new"
test -f /etc/sapphire/sapphired.toml
test ! -e /usr/bin/sapphired

echo "== purge: nothing is left"
apt-get purge -y -o Dpkg::Use-Pty=0 sapphire libsapphire-sa0 libsapphire-sa-dev
rm -r /run/systemd/system/sapphired.service.d
systemctl daemon-reload
files >after
# What Debian itself keeps: its logs and lists, and copies of the accounts before there was a user.
diff before after | grep '^[<>]' |
    grep -vE '^> /(etc/(passwd|group|shadow|gshadow)-|etc/\.pwd\.lock|var/(log|cache)/.*|var/lib/(apt|dpkg)/.*)$' >left || true
if [ -s left ]; then echo "@@ left or gone:"; cat left; exit 1; fi
echo "all held"
