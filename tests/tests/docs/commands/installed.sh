#!/usr/bin/env bash
# Stands for the package where a document is run: its files lie where the package has them (tests/tests/package looks
# that it does). Runs what follows.
set -euo pipefail
mkdir -p /usr/share/doc/sapphire /etc/sapphire /usr/lib/sapphire
install -m 755 "$BUILT/sapphire" "$BUILT/sapphired" /usr/bin/
install -m 644 "$BUILT/libsapphire_split.so" /usr/lib/sapphire/
cp -r docs/examples /usr/share/doc/sapphire/
cp tools/package/sapphired.toml /etc/sapphire/
cp docs/examples/sapphired-local-service.toml /etc/sapphire/sapphired-local.toml
cp docs/examples/systemd/sapphired.service /etc/systemd/system/
systemd-sysusers "$PWD/tools/package/debian/sapphire.sysusers"
systemd-tmpfiles --create "$PWD/tools/package/debian/sapphire.tmpfiles"
exec "$@"
