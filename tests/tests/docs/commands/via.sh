#!/usr/bin/env bash
# Stands before sapphire where a document's fabric is simulated: the simulator takes the HCA's place.
set -euo pipefail
arguments=() via=no
while [ $# -gt 0 ]; do
    case $1 in
        --via | --sa)
            case $2 in
                umad*) arguments+=("$1" ibsim:H1_1_1_0) ;;
                *) arguments+=("$1" "$2") ;;
            esac
            via=yes
            shift
            ;;
        *) arguments+=("$1") ;;
    esac
    shift
done
case "${arguments[0]-} ${arguments[1]-}" in
    "query services") ;;
    query* | load* | "fabric read") [ $via = yes ] || arguments+=(--via ibsim:H1_1_1_0) ;;
esac
# The simulator carries no reply of more than one MAD. OpenSM's own dumps of the fabric are the same bytes, as the VM
# tests show.
if [ "${arguments[0]-} ${arguments[1]-}" = "fabric read" ]; then
    while [ "${arguments[0]}" != -o ]; do arguments=("${arguments[@]:1}"); done
    mkdir -p "${arguments[1]}"
    cp "$DUMPS"/opensm-*.dump "$DUMPS/opensm-subnet.lst" "${arguments[1]}"
    echo 'Default=0x7fff, ipoib : ALL=full;' >"${arguments[1]}/partitions.conf"
    exit
fi
exec "$BUILT/sapphire" "${arguments[@]}"
