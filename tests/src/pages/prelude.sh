# Before every document's script: the first command that fails ends it and is named with its line.
set -E -o pipefail
ALLOWED= SEEN= READY=0

failed() { # status, line, command
    SEEN="$SEEN $1"
    case " $ALLOWED " in *" $1 "*) return 0 ;; esac
    echo "@@ $2: status $1: $3" >&2
    exit 1
}
trap 'failed $? $LINENO "$BASH_COMMAND"' ERR

# Until `expected` commands may end so; if 0 is not among it, one must end otherwise.
expect() { ALLOWED=$*; SEEN=; }
expected() {
    case " $ALLOWED " in *" 0 "*) SEEN="$SEEN 0" ;; esac
    if [ -z "$SEEN" ]; then
        echo "@@ ${BASH_LINENO[0]}: status 0, not one of: $ALLOWED" >&2
        exit 1
    fi
    ALLOWED=
}

# Until the daemon that was started last answers.
until_ready() {
    local line=${BASH_LINENO[0]} tries
    READY=$((READY + 1))
    for ((tries = 0; tries < 600; tries++)); do
        if [ "$(awk '/^ready epoch=/ { n++ } END { print n + 0 }' "$SAID")" -ge "$READY" ]; then
            return 0
        fi
        if ! kill -0 $! 2>/dev/null; then
            break
        fi
        sleep 0.05
    done
    echo "@@ $line: the daemon does not answer" >&2
    exit 1
}

ended() {
    local all
    all=$(jobs -p)
    [ -z "$all" ] || kill $all 2>/dev/null || true
    wait || true
}
trap ended EXIT
