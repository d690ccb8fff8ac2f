#!/bin/bash
# What an operator does with the RPM: install, start, ask, upgrade, remove. In a Debian that has rpm, so that the
# scriptlets are run by a real rpm under a real systemd; what they require is not asked for.
set -Eeuo pipefail
cd /check
. ./lib.sh

# By their versions, which have the time of the commit.
rpms=(sapphire-*.rpm)
is 2 "${#rpms[@]}"

echo "== install"
rpm --install --nodeps "${rpms[0]}"
for unit in sapphired.service sapphired-local.service sapphired-local.socket; do
    is disabled "$(systemctl is-enabled $unit || true)"
done
is inactive "$(state ActiveState)"
is 'sapphire sapphire 755' "$(stat -c '%U %G %a' /run/sapphire)"
is 'sapphire sapphire 700' "$(stat -c '%U %G %a' /var/lib/sapphire)"
rpm --verify --nodeps sapphire

echo "== the configuration as it was installed"
runuser -u sapphire -- sapphired --config /etc/sapphire/sapphired.toml --check
mkdir -p /run/systemd/system/sapphired.service.d
# No HCA here.
printf '[Unit]\nConditionPathExists=\n' >/run/systemd/system/sapphired.service.d/try.conf
systemctl daemon-reload
timeout 60 systemctl start sapphired
old=$(state MainPID)
is sapphire "$(stat -c %U /proc/"$old")"
ask

echo "== upgrade: what runs is started anew, the operator's line stays"
echo '# mine' >>/etc/sapphire/sapphired.toml
rpm --upgrade --nodeps "${rpms[1]}"
grep -q '^# mine$' /etc/sapphire/sapphired.toml
within ask
is active "$(state ActiveState)"
new=$(state MainPID)
[ "$old" != "$new" ]
is disabled "$(systemctl is-enabled sapphired.service || true)"

echo "== remove: what runs is stopped, what the operator wrote stays"
rpm --erase sapphire
within test ! -e /proc/"$new"
grep -q '^# mine$' /etc/sapphire/sapphired.toml.rpmsave
test ! -e /usr/bin/sapphired
test -d /var/lib/sapphire
echo "all held"
