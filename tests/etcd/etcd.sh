#!/bin/sh
# SPDX-License-Identifier: MIT
#
# etcd.sh run DIR EXAMPLE PROGRAM... -- [NAME...]  starts etcd members on free ports of the loopback, with all
#                                    their files in DIR, runs the programs' tests whose names contain one of
#                                    the words, and kills the members in any case; 75: the members don't run,
#                                    or don't answer
# etcd.sh start DIR MEMBER           starts one member (again); its process ID is in DIR/MEMBER.pid
#
# Members 0 to 2 are a cluster; 3 is a cluster of its own, and speaks https.
set -u
here=$(cd "$(dirname "$0")" && pwd)
dir=$2
unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY

url() { # MEMBER client|peer
    port=$((base + 2 * $1))
    [ "$2" = client ] || port=$((port + 1))
    scheme=http
    if [ "$1" = 3 ] && [ "$2" = client ]; then scheme=https; fi
    echo "$scheme://127.0.0.1:$port"
}

# The shortest lease that etcd grants is 1.5 elections: 1 s here.
start() {
    base=$(cat "$dir/base")
    if [ "$1" = 3 ]; then
        cluster="m3=$(url 3 peer)"
        tls="--cert-file $dir/server.pem --key-file $dir/server.key"
    else
        cluster="m0=$(url 0 peer),m1=$(url 1 peer),m2=$(url 2 peer)"
        tls=
    fi
    # shellcheck disable=SC2086
    etcd --name "m$1" --data-dir "$dir/m$1" --heartbeat-interval 50 --election-timeout 500 \
        --listen-client-urls "$(url "$1" client)" --advertise-client-urls "$(url "$1" client)" \
        --listen-peer-urls "$(url "$1" peer)" --initial-advertise-peer-urls "$(url "$1" peer)" \
        --initial-cluster "$cluster" $tls >> "$dir/m$1.log" 2>&1 < /dev/null &
    echo $! > "$dir/$1.pid"
}

all_run() {
    for pid in "$dir"/*.pid; do
        kill -0 "$(cat "$pid")" 2> /dev/null || return 1
    done
}

stop_all() {
    for pid in "$dir"/*.pid; do
        [ -e "$pid" ] && kill -KILL "$(cat "$pid")" 2> /dev/null
    done
}

certify() {
    cat > "$dir/server.ext" << END
subjectAltName = IP:127.0.0.1
END
    for name in ca other; do
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$name" \
            -keyout "$dir/$name.key" -out "$dir/$name.pem" 2> /dev/null || return 1
    done
    openssl req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout "$dir/server.key" \
        -out "$dir/server.csr" 2> /dev/null &&
        openssl x509 -req -in "$dir/server.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" \
            -CAcreateserial -days 2 -extfile "$dir/server.ext" -out "$dir/server.pem" 2> /dev/null
}

case $1 in
start) start "$3" ;;
run)
    example=$3 programs=
    shift 3
    for program; do
        shift
        [ "$program" != -- ] || break
        programs="$programs $program"
        case $program in *test_claims) client=$program ;; esac # its libcurl is real
    done
    trap stop_all EXIT
    trap 'exit 1' HUP INT TERM
    for try in 1 2 3 4 5; do
        rm -rf "$dir"
        mkdir -p "$dir"
        echo $((20000 + ($$ * 16 + try * 1000) % 12000)) > "$dir/base"
        certify || { echo "openssl makes no certificates"; exit 75; }
        for member in 0 1 2 3; do start $member; done
        base=$(cat "$dir/base")
        if "$client" --ready "$(url 0 client),$(url 1 client),$(url 2 client),$(url 3 client)" "$dir"; then
            said=$("$example" "$(url 0 client),$(url 1 client)") || { echo "FAIL example"; example=; }
            export ETCD_DIR="$dir" ETCD_SH="$here/etcd.sh" ETCD_BASE="$base"
            code=0 ran=0
            for program in $programs; do
                "$program" "$@"
                case $? in
                0) ran=1 ;;
                77) [ $# -gt 0 ] || code=1 ;; # it has no test of these names
                *) ran=1 code=1 ;;
                esac
            done
            [ $code -eq 0 ] && [ $ran -eq 1 ] && [ -n "$example" ] && [ -n "$said" ]
            exit
        fi
        if all_run; then
            echo "etcd runs, and does not answer"
            break
        fi
        stop_all
        echo "etcd does not run, its ports may be taken: once more"
    done
    for log in "$dir"/m*.log; do tail -n 3 "$log"; done
    echo "0 passed, 1 failed"
    exit 75
    ;;
*)
    sed -n '4,10p' "$0"
    exit 2
    ;;
esac
