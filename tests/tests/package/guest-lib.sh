# What the scripts of operators share, in a fresh Debian that systemd has booted. Sourced by them.

failed() { # status, line, command
    echo "@@ $2: status $1: $3"
    systemctl --no-pager status sapphired || true
    journalctl --no-pager -n 50 -u sapphired || true
}
trap 'failed $? $LINENO "$BASH_COMMAND"' ERR
trap 'systemctl poweroff' EXIT

# A condition comes true within a minute, or the test fails.
within() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    echo "@@ not within a minute: $*"
    return 1
}

is() { # wanted, what it is
    [ "$1" = "$2" ] || { echo "@@ wanted: $1; is: $2"; return 1; }
}

ask() { sapphire query pr --via ring:/run/sapphire/example --slid 2 --dlid 9 --json; }

state() { systemctl show --value -p "$1" sapphired; }
