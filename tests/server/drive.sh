# SPDX-License-Identifier: MIT
#
# Sourced: start_server OPTION... (of node 5), stop_server.   They use $port, $server and the directory $dir.
start_server() {
    : > "$dir/out"
    "$build/server" --node=5 "$@" > "$dir/out" &
    server=$!
    local deadline=$((SECONDS + 60))
    until port=$(sed -n 's/^port //p' "$dir/out") && [ -n "$port" ]; do
        kill -0 $server 2> /dev/null && [ $SECONDS -lt $deadline ] || return 1
    done
}

stop_server() {
    kill "$server" && wait "$server"
    local code=$?
    server=
    return $code
}
