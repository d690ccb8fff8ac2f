#!/usr/bin/env bash
# Stands for cargo where documents are run: what it would build is there already, built for the tests.
set -euo pipefail
verb=$1
shift
package= program=sapphire profile=release
while [ $# -gt 0 ]; do
    case $1 in
        --release | --locked | --quiet) ;;
        --profile) profile=$2; shift ;;
        -p) package=$2; shift ;;
        --bin) program=$2; shift ;;
        --) shift; break ;;
        *) echo "this cargo does not know $1" >&2; exit 99 ;;
    esac
    shift
done
if [ -n "$package" ] && ! grep -qsx "name = \"$package\"" Cargo.toml */Cargo.toml */*/Cargo.toml */*/*/Cargo.toml; then
    echo "there is no package $package" >&2
    exit 101
fi
case $verb in
    run) exec "$BUILT/$program" "$@" ;;
    build) mkdir -p target && ln -sfn "$BUILT" "target/$profile" ;;
    *) echo "this cargo does not $verb" >&2; exit 99 ;;
esac
