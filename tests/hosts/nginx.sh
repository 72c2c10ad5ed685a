#!/bin/bash
# SPDX-License-Identifier: MIT
#
# nginx.sh   nginx.c as a module of Debian's nginx: the ids of four workers, over a reload, over kill -9 of
# the worker that holds the node and of the master, beside a second nginx, over an upgrade and back, and when the
# clock is put back.
host=nginx
. tests/hosts/drive.sh
nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || skip nginx
sources=/usr/share/nginx/src
[ -x $sources/configure ] || skip nginx-dev
master='' first='' successor=
stop_host() {
    [ -z "$master" ] || { kill "$master" && wait "$master"; }
    # shellcheck disable=SC2086
    [ -z "$first" ] || kill -9 $first $successor $(children "$first") $(children "$successor") 2> "$dir/gone"
}

# As the recipe says, and once more with all warnings.
cp -r $sources "$dir/src"
folder=$PWD/$module
made() {
    (cd "$dir/src" && ./configure --with-compat --add-dynamic-module="$folder" && make -f objs/Makefile modules) > "$dir/log" 2>&1 ||
        { tail -n 5 "$dir/log"; false; }
}
of_nginx() { printf -- '-isystem %s ' "$dir"/src/src/{core,event,event/modules,os/unix,http,http/modules} "$dir/src/objs"; }
judge "nginx: the module is made from nginx's sources" made || close_with_counts
judge "nginx: fewer than 225 lines" is_short nginx.c
# shellcheck disable=SC2046
judge "nginx: compiles without a warning" compile "$module/nginx.c" "$dir/module.o" -c $(of_nginx)
judge "the clock that can be put back compiles" compile_clock_back || close_with_counts

port=$(free_port)
configure() { # DIRECTIVE
    cat > "$dir/nginx.conf" << END
load_module $dir/src/objs/ngx_http_flake_module.so;
$([ "$(id -u)" != 0 ] || echo "user $(id -un) $(id -gn);")
worker_processes 4;
daemon off;
pid $dir/pid;
error_log $dir/error.log;
events { worker_connections 64; }
http {
    $1
    access_log off;
    keepalive_requests 100000;
    $(printf '%s_temp_path '"$dir"'/temp; ' client_body proxy fastcgi uwsgi scgi)
    server {
        listen 127.0.0.1:$port;
        location / { add_header X-Request-Id \$flake_id; return 200 "\$flake_id \$uuid7 \$pid\n"; }
    }
}
END
}
request() { printf 'GET / HTTP/1.1\r\nHost: here\r\n%s\r\n' "${1-}"; }
# So many requests over one connection, none waiting for an answer. A line each: the id in the head, and the body. A
# worker that ends may cut its last answer short, which has no line.
pipeline() { # COUNT
    local i
    { exec 3<> "/dev/tcp/127.0.0.1/$port"; } 2> /dev/null || return
    { for ((i = 1; i < $1; i++)); do request; done; request $'Connection: close\r\n'; } >&3 &
    tr -d '\r' <&3 2> /dev/null | awk '/^HTTP/ {head = ""} /^X-Request-Id/ {head = $2} / .*-.*-.* [0-9]+$/ && !/:/ {print head " " $0}'
    wait $!
    exec 3>&-
}
answers() { pipeline 1 > /dev/null; }
# All have an id, the same wherever it stands in a request, and none has one twice.
are_good() { # COUNT FILE
    [ "$(awk '$1 == $2 && NF == 4' "$2" | wc -l)" -eq "$1" ] || { echo "  $(awk '$1 != $2 || NF != 4' "$2" | head -n 1)"; return 1; }
    cut -d' ' -f1 "$2" > "$dir/ids"
    cut -d' ' -f3 "$2" > "$dir/uuids"
    are_unique "$1" "$dir/ids" && are_unique "$1" "$dir/uuids"
}
connections=12 requests=1000
many() { # COMMAND...: while twelve connections send requests. A command that ends workers cuts connections short
    local jobs=() came
    for ((n = 0; n < connections; n++)); do
        pipeline $requests > "$dir/answers.$n" &
        jobs+=($!)
    done
    "$@" || return 1
    wait "${jobs[@]}"
    cat "$dir"/answers.* > "$dir/answers"
    came=$(wc -l < "$dir/answers")
    [ "$came" -eq $((connections * requests)) ] || { [ "$1" != true ] && [ "$came" -gt 0 ]; } ||
        { echo "  $came answers"; return 1; }
    are_good "$came" "$dir/answers"
}
each_connection_rises() {
    local n
    for ((n = 0; n < connections; n++)); do
        cut -d' ' -f1 "$dir/answers.$n" > "$dir/ids"
        rise "$dir/ids" || return 1
    done
}
several_workers() { # sooner or later: a busy machine may run one of them alone
    for _ in {1..50}; do
        many true || return 1
        [ "$(awk '{print $4}' "$dir/answers" | sort -u | wc -l)" -eq 1 ] || return 0
    done
    false
}

three="flake_config \"node=3 dir=$dir/nodes\";"

refuses() { # WHY TEXT...: each alone
    local why=$1 text
    shift
    for text; do
        configure "flake_config \"$text\";"
        says "flake_config: $why" timeout $patience "$nginx" -t -p "$dir" -e "$dir/error.log" -c "$dir/nginx.conf" || return 1
    done
}
judge "nginx: a node too large is refused, and why" refuses '.*above 1023' "node=1024 dir=none"
judge "nginx: no number is no node" refuses 'config: node: "one" is neither a number nor a range' 'clock=fast node=one'
judge "nginx: what is not for it" refuses 'takes no |.*lanes is missing|.*with shared_memory' "${refused_words[@]}" "node=1 dir=none single_thread" \
    "node=1 dir=none max_ahead_ms=1" "node=1 dir=$dir/nodes horizon_ms=5000"
judge "nginx: a trial of the configuration leaves the directory alone" [ ! -e "$dir/nodes" ]
judge "nginx: a configuration without a node is refused" refuses "config: $no_node" clock=fast
judge "nginx: a node that nothing checks, unless the text says so" refuses "$unchecked" node=7
configure "$three"
"${with_clock_back[@]}" "$nginx" -p "$dir" -e "$dir/error.log" -c "$dir/nginx.conf" > "$dir/log" 2>&1 &
master=$!
judge "nginx: starts with the module" eventually answers || { cat "$dir/log" "$dir/error.log"; close_with_counts; }
judge "nginx: four workers give no id twice" many true
judge "nginx: the requests of a connection have ids that rise" each_connection_rises
judge "nginx: more than one worker gives them" several_workers
judge "nginx: they are of the node" [ $(($(head -n 1 "$dir/ids") >> 12 & 1023)) = 3 ]

worker_of() { awk '{print $NF}' < <(pipeline 1); }
reload() { # until a worker answers that was not there, and those that were, who cut connections, are gone
    local old
    old=$(children "$master")
    kill -HUP "$master" && eventually is_none_of "$old" && eventually are_gone "$old"
}
are_gone() { ! grep -qxF "$1" < <(children "$master"); } # PIDS
is_none_of() { # PIDS
    local pid
    pid=$(worker_of)
    [ -n "$pid" ] && ! grep -qx "$pid" <<< "$1"
}
before=$(sort -n "$dir/answers" | tail -n 1)
judge "nginx: nor while it is told to reload" many reload
judge "nginx: and goes on behind the ids from before that" [ "$(sort -n "$dir/answers" | head -n 1 | cut -d' ' -f1)" -gt "${before%% *}" ]
holder() { # the worker whose open file the node's is
    local pid
    for pid in $(children "$master"); do
        ! ls -l "/proc/$pid/fd" 2> /dev/null | grep -qF "$dir/nodes/$1.slot" || echo "$pid"
    done
}
has_one_holder() { [ "$(holder 3 | wc -w)" -eq 1 ]; }
kill_the_holder() {
    local old
    old=$(holder 3)
    kill -9 "$old" && eventually has_one_holder && [ "$(holder 3)" != "$old" ]
}
idle() { sleep 3; } # longer than the horizon
before=$(sort -n "$dir/answers" | tail -n 1)
judge "nginx: one worker holds the node" eventually has_one_holder
judge "nginx: it is killed with kill -9, and another takes over" kill_the_holder
judge "nginx: longer than the horizon that the first one wrote" idle
judge "nginx: no id comes twice" many true
judge "nginx: nor from before that" [ "$(sort -n "$dir/answers" | head -n 1 | cut -d' ' -f1)" -gt "${before%% *}" ]

# A second nginx with the same directory, then its only one when the first is killed but for its workers.
second() { # FILE COMMAND...: with another port
    local port=$other
    "${@}"
}
start_another() { # TEXT
    (port=$other && mkdir -p "$dir/other" && configure "flake_config \"$1\";" &&
        sed "s|pid $dir/pid|pid $dir/other/pid|; s|$dir/error.log|$dir/other/error.log|" "$dir/nginx.conf" > "$dir/other/nginx.conf")
    "${with_clock_back[@]}" "$nginx" -p "$dir/other" -e "$dir/other/error.log" -c "$dir/other/nginx.conf" > "$dir/log" 2>&1 &
    another=$!
    eventually second answers
}
end_another() { kill "$another" && wait "$another"; }
other=$(free_port)
id_of() { pipeline 1 | cut -d' ' -f1; } # of $port
node_is() { # NODE
    local id
    id=$(id_of) && [ -n "$id" ] && [ $((id >> 12 & 1023)) = "$1" ]
}
judge "nginx: a second one with this node starts" start_another "node=3 dir=$dir/nodes"
judge "nginx: without ids, but with UUIDs" says '^  .*-.*-7' second pipeline 1
judge "nginx: and its log says why" grep -qE "\[crit\].*flake_config: $is_taken" "$dir/other/error.log"
judge "nginx: the first has ids" node_is 3
judge "nginx: the second ends" end_another
judge "nginx: it starts with a range" start_another "node=3-4 dir=$dir/nodes"
judge "nginx: and has the other node" eventually second node_is 4
judge "nginx: it ends" end_another
kill_the_master() { # the workers live on, and hold the node
    orphans=$(children "$master")
    kill -9 "$master" && { wait "$master"; } 2> /dev/null
    master=
    [ -n "$orphans" ] && node_is 3
}
judge "nginx: the master is killed with kill -9: its workers go on" kill_the_master
last=$(id_of)
judge "nginx: another one with this node starts" start_another "node=3 dir=$dir/nodes"
judge "nginx: which is in use" says '^  .*-.*-7' second pipeline 1
end_orphans() { kill $orphans; }
judge "nginx: the workers end" end_orphans
judge "nginx: then it has the node" eventually second node_is 3
judge "nginx: after all ids of before" [ "$(second id_of)" -gt "$last" ]
judge "nginx: it ends" end_another

# An upgrade: USR2 starts a successor, a child of the master, which accepts connections of the same sockets. nginx does
# that as a daemon alone.
start_daemon() { # TEXT
    configure "flake_config \"$1\";"
    sed -i 's/daemon off/daemon on/' "$dir/nginx.conf"
    "$nginx" -p "$dir" -e "$dir/error.log" -c "$dir/nginx.conf" > "$dir/log" 2>&1 && eventually node_is 3 && first=$(cat "$dir/pid")
}
once() { # COMMAND...: no id comes twice, meanwhile and since the start
    many "$@" && cut -d' ' -f1 "$dir/answers" >> "$dir/all" && are_unique "$(wc -l < "$dir/all")" "$dir/all"
}
nodes() { while read -r id _; do echo $((id >> 12 & 1023)); done < "$dir/answers" | sort -un | xargs; }
comes_to() { # NODE...: of the ids of all connections, sooner or later: a busy machine may run one master's workers alone
    for _ in {1..50}; do
        once true || return 1
        [ "$(nodes)" != "$*" ] || return 0
    done
    echo "  nodes $(nodes)"
    false
}
upgrade() { kill -USR2 "$first" && eventually has_successor; }
has_successor() { [ -e "$dir/pid.oldbin" ] && successor=$(cat "$dir/pid") && [ "$(children "$successor" | wc -l)" -ge 4 ]; }
end_workers() { kill -WINCH "$first" && eventually has_no_workers; }
has_no_workers() { [ "$(children "$first")" = "$successor" ]; }
end_one() { kill -QUIT "$1" && eventually is_gone "$1"; } # PID
judge "nginx: a daemon with a range starts" start_daemon "node=3-4 dir=$dir/upgraded"
judge "nginx: with the first number" comes_to 3
judge "nginx: USR2: a successor starts beside it, and no id comes twice" once upgrade
judge "nginx: which has the other number" comes_to 3 4
judge "nginx: the first one's workers end, and no id comes twice" once end_workers
judge "nginx: the successor's are left" comes_to 4
judge "nginx: back: the first one has workers again, and no id comes twice" once kill -HUP "$first"
judge "nginx: they take over their number" comes_to 3 4
judge "nginx: the successor ends, and no id comes twice" once end_one "$successor"
judge "nginx: the first one's are left" comes_to 3
judge "nginx: longer than the horizon of the successor" idle
judge "nginx: USR2 once more, and no id comes twice" once upgrade
judge "nginx: the first one ends, and no id comes twice" once end_one "$first"
judge "nginx: its successor is left" comes_to 4
judge "nginx: it ends" end_one "$successor"
judge "nginx: a daemon with a single number starts" start_daemon "node=3 dir=$dir/single"
judge "nginx: USR2: a successor starts beside it" upgrade
judge "nginx: and logs that the number is in use" eventually grep -q '\[crit\].*single/3.slot: is in use' "$dir/error.log"
has_last_id() { last=$(id_of) && [[ $last =~ ^[0-9]+$ ]]; }
judge "nginx: the first one has ids" eventually has_last_id
judge "nginx: it ends" end_one "$first"
judge "nginx: then the successor has the number" eventually node_is 3
judge "nginx: after all ids of before" [ "$(id_of)" -gt "$last" ]
judge "nginx: it ends" end_one "$successor"
start_again() {
    configure "$three"
    "${with_clock_back[@]}" "$nginx" -p "$dir" -e "$dir/error.log" -c "$dir/nginx.conf" > "$dir/log" 2>&1 &
    master=$!
    eventually node_is 3
}
judge "nginx: the first starts again" start_again

refuses_another_node() {
    configure "flake_config \"node=4 dir=$dir/nodes\";"
    kill -HUP "$master" && eventually grep -q 'flake_config changes with a restart' "$dir/error.log" && answers &&
        many true && [ $(($(head -n 1 "$dir/ids") >> 12 & 1023)) = 3 ]
}
judge "nginx: another node by a reload is refused, and the workers go on" refuses_another_node

put_clock_back 10000
configure "$three"
judge "nginx: the clock put back by 10 s: no id, but a UUID" says '^  .*-.*-7' pipeline 1
judge "nginx: and the log says why" grep -q '\[error\].*no id: .*clock' "$dir/error.log"
judge "nginx: a reload meanwhile" reload
judge "nginx: has the same generator: no id, but a UUID" says '^  .*-.*-7' pipeline 1
put_clock_back 0
judge "nginx: the clock right again" many true
put_clock_back -2207520000000
judge "nginx: a clock past the layout's end: no id" says '^  ' pipeline 1
judge "nginx: which the log has for the operator" grep -q '\[crit\].*no id: ' "$dir/error.log"

put_clock_back 0
restart_without_a_node() {
    kill "$master" && wait "$master"
    configure ''
    "$nginx" -p "$dir" -e "$dir/error.log" -c "$dir/nginx.conf" > "$dir/log" 2>&1 &
    master=$!
    eventually answers
}
judge "nginx: starts without a configuration" restart_without_a_node
judge "nginx: then there is no id, but a UUID" says '^  .*-.*-7' pipeline 1
judge "nginx: and the log says why" grep -q "\[crit\].*no id: flake_config: config: $no_node" "$dir/error.log"
close_with_counts
