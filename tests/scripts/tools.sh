#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tools.sh   uses the command-line tools as a user would, built by the README's commands.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
here=$(pwd)
passed=0 failed=0
ok() {
    echo "ok $1"
    passed=$((passed + 1))
}
fail() { # NAME WHAT
    printf 'FAIL %s\n%s\n' "$1" "$2"
    failed=$((failed + 1))
}
same() { # NAME WANTED GOT
    if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "wanted: $2
got:    $3"; fi
}
says() { # NAME WANTED COMMAND...: prints just that, with status 0
    said_name=$1 wanted=$2
    shift 2
    said=$("$@" 2>&1) || said="status $?: $said"
    same "$said_name" "$wanted" "$said"
}
has() { # NAME PATTERN COMMAND...: prints a line that matches, with status 0
    said_name=$1 wanted=$2
    shift 2
    if said=$("$@" 2>&1) && printf '%s\n' "$said" | grep -q -e "$wanted"; then ok "$said_name"
    else fail "$said_name" "wanted a line with '$wanted': $said"; fi
}
refuses() { # NAME STATUS PATTERN COMMAND...: one line on stderr, nothing on stdout
    said_name=$1 status=$2 wanted=$3
    shift 3
    "$@" > "$dir/out" 2> "$dir/err"
    got=$?
    if [ $got -eq "$status" ] && [ ! -s "$dir/out" ] && [ "$(wc -l < "$dir/err")" -eq 1 ] &&
        grep -q -e "$wanted" "$dir/err"; then ok "$said_name"
    else fail "$said_name" "status $got, '$wanted' expected with $status: $(cat "$dir/out" "$dir/err")"; fi
}

# ---- built by the README's commands, and without a warning under strict flags ----

cp flake.h sno.h "$dir"
cp -r tools "$dir"
grep '^cc .* tools/' README.md > "$dir/commands"
same readme_has_two_commands 2 "$(wc -l < "$dir/commands" | tr -d ' ')"
command -v cc > /dev/null || sed -i "s|^cc |$CC |" "$dir/commands"
(cd "$dir" && sh -e ./commands) 2> "$dir/err" || { cat "$dir/err"; echo "0 passed, 1 failed"; exit 1; }
same readme_commands_build_silently "" "$(cat "$dir/err")"
flake=$dir/flake sno=$dir/sno
strict() { # COMPILER LANGUAGE
    # shellcheck disable=SC2086
    $1 $2 $WARN -I. -fsyntax-only tools/flake.c && $1 $2 $WARN -I. -fsyntax-only tools/sno.c
}
says strict_c11 "" strict "$CC" "-std=c11 -x c"
command -v "${CXX%% *}" > /dev/null && says strict_cxx11 "" strict "$CXX" "-std=c++11 -x c++"

# ---- plain `make`: needs only a C compiler, and prints one screen ----

first() { # ARGUMENT...: as from a prompt, and not from within make
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "$MAKE" CXX=no-such-compiler CFLAGS=-O0 BUILD="$dir/built" "$@" 2>&1
}
lines() { wc -l < "$1" | tr -d ' '; }
says make_tools_with_s_is_silent "" first -s tools
says make_with_s_is_silent "" first -s
mtime() { ls -l --full-time "$dir/built/flake" "$dir/built/sno" 2> /dev/null || ls -lT "$dir/built/flake" "$dir/built/sno"; }
built=$(mtime)
first > "$dir/screen"
same make_again_builds_nothing "$built" "$(mtime)"
same make_prints_one_screen yes "$([ "$(lines "$dir/screen")" -lt 24 ] && awk 'length > 110 {exit 1}' "$dir/screen" && echo yes)"
{ read -r id _; read -r uuid _; read -r new_sno _; } < "$dir/screen"
has make_shows_a_flake "^node  *7$" "$flake" inspect --layout=default "$id"
has make_shows_a_uuid "^layout  *uuid7:" "$flake" inspect "$uuid"
has make_shows_a_sno "^meta  *42" "$sno" inspect "$new_sno"
same make_decodes_the_flake "$("$flake" inspect --layout=default "$id")" "$(sed -n '/^id /,/unused = 0/p' "$dir/screen")"
for next in "make test" "make install" "flake help" README.md; do
    has "make_names_${next#* }" "  *.*$next  *[a-z]" sed -n '/^Next:/,$p' "$dir/screen"
done
first > "$dir/again"
same make_prints_it_again "$(lines "$dir/screen")" "$(lines "$dir/again")"
same make_shows_new_ids "" "$(grep -F -e "$id" -e "$uuid" -e "$new_sno" "$dir/again")"

first -s help > "$dir/help"
same make_help_fits_a_screen yes "$([ "$(lines "$dir/help")" -le 40 ] && awk 'length > 100 {exit 1}' "$dir/help" && echo yes)"
for target in all test check install fuzz bench; do
    has "make_help_names_$target" "^  $target[ ,]" cat "$dir/help"
done

# ---- common to all tools ----

for tool in flake sno; do
    version=$(sed -n 's/^#define [A-Z]*_VERSION_STRING "\(.*\)"/\1/p' $tool.h)
    says ${tool}_version "$tool $version" "$dir/$tool" version
    says ${tool}_version_as_option "$tool $version" "$dir/$tool" --version
    has ${tool}_help "^    $tool generate" "$dir/$tool" help
    has ${tool}_help_as_option "^    $tool inspect" "$dir/$tool" generate --help
    refuses ${tool}_alone 2 "$tool help" "$dir/$tool"
    refuses ${tool}_unknown_command 2 "no .$tool frobnicate." "$dir/$tool" frobnicate
    refuses ${tool}_unknown_option 2 "generate has no option --frob" "$dir/$tool" generate --frob=1
    refuses ${tool}_bad_count 2 "COUNT 'many' is not a whole number" "$dir/$tool" generate many
    refuses ${tool}_negative_count 2 "COUNT .-5. is not a whole number" "$dir/$tool" generate -5
    refuses ${tool}_two_counts 2 "one COUNT, not also '2'" "$dir/$tool" generate 1 2
    refuses ${tool}_json_with_a_value 2 "--json takes no value" "$dir/$tool" generate --json=1
    refuses ${tool}_inspect_nothing 2 "needs an ID" "$dir/$tool" inspect
    refuses ${tool}_bad_form 2 "none of" "$dir/$tool" generate --format=morse
    case $tool in flake) number=--node=7 ;; *) number=--partition=7 ;; esac
    for n in 0 1 7 10000; do
        same ${tool}_generate_$n $n "$("$dir/$tool" generate $number $n | wc -l | tr -d ' ')"
    done
    same ${tool}_no_count_is_one 1 "$("$dir/$tool" generate $number | wc -l | tr -d ' ')"
    "$dir/$tool" generate $number 20000 > "$dir/ids"
    same ${tool}_ids_differ 20000 "$(LC_ALL=C sort -u "$dir/ids" | wc -l | tr -d ' ')"
    case $tool in flake) by=-n ;; *) by= ;; esac # numbers may get one digit more
    LC_ALL=C sort $by -c "$dir/ids" 2> "$dir/err"
    same ${tool}_ids_rise "" "$(cat "$dir/err")"
    same ${tool}_billion_into_head 2 "$("$dir/$tool" generate $number 1000000000 2>&1 | head -n 2 | wc -l | tr -d ' ')"
    if [ -c /dev/full ]; then
        for words in "generate $number 5" "generate $number 100000" help version; do
            # shellcheck disable=SC2086
            full() { "$dir/$tool" $words > /dev/full; }
            refuses "${tool}_full_disk_${words%% *}_${words##* }" 1 "$tool: the output cannot be written: " full
        done
    fi
done
# A standard file that is closed is not replaced by one that a tool opens: no id is written to a number's file.
mkdir "$dir/closed"
claim="--node=0-9 --dir=$dir/closed"
for words in "flake generate --node=7 3" "flake generate $claim 3" "flake help" "flake version" "flake layouts" \
    "flake inspect 5" "flake nodes $dir/closed" "flake time $claim 10" "sno generate 3" "sno inspect xxxxxxxxj4fp2vgl"; do
    name=$(printf '%s' "$words" | sed "s|$dir||; s/ /_/g")
    # shellcheck disable=SC2086
    no_output() { "$dir"/$words >&-; }
    refuses "closed_output_$name" 1 "^${words%% *}: the standard output is closed" no_output
    # shellcheck disable=SC2086
    nothing_open() { "$dir"/$words <&- >&- 2>&-; }
    nothing_open
    same "all_closed_$name" 1 $?
done
same closed_output_claims_nothing "" "$(ls "$dir/closed")"
# shellcheck disable=SC2086
no_errors() { "$flake" generate $claim 3 <&- 2>&- | wc -l | tr -d ' '; }
says closed_input_and_errors_are_no_harm 3 no_errors
same closed_files_are_not_the_number_s "" "$(grep -h '^[0-9]' "$dir"/closed/*)"
for tool in flake sno; do
    no_input() { "$dir/$tool" inspect - <&-; }
    refuses "${tool}_closed_input_is_not_empty" 1 "^$tool: the standard input cannot be read: " no_input
done
# Where a broken pipe does not end a program, the tools still end.
(trap '' PIPE; "$flake" generate --node=7 1000000000 2> "$dir/err"; echo $? > "$dir/status") | head -n 1 > "$dir/out"
same broken_pipe_ignored "1 1 0" "$(cat "$dir/status") $(wc -l < "$dir/out" | tr -d ' ') $(wc -l < "$dir/err" | tr -d ' ')"
# Runs that follow one another never share a unit.
for count in 3 3 3 3 3 3 3 3; do "$flake" generate --node=7 $count; done > "$dir/ids"
same runs_do_not_meet 24 "$(sort -u "$dir/ids" | wc -l | tr -d ' ')"
for count in 1 1 1 1; do "$sno" generate --partition=3 $count; done > "$dir/ids"
same sno_runs_do_not_meet 4 "$(sort -u "$dir/ids" | wc -l | tr -d ' ')"
if command -v script > /dev/null && script -qec true /dev/null > /dev/null 2>&1; then
    script -qec "'$flake' generate --layout=sonyflake --node=7 40000 > '$dir/ids'" /dev/null > "$dir/out" < /dev/null
    same progress_leaves_ids_alone 40000 "$(wc -l < "$dir/ids" | tr -d ' ')"
    has progress_on_a_terminal "of 40000 (.*%).*a second.* left" cat "$dir/out"
    script -qec "'$flake' time --layout=sonyflake 40000" /dev/null > "$dir/out" < /dev/null
    has progress_of_time_on_a_terminal "of 40000 (.*%).*a second.* left" cat "$dir/out"
fi

# ---- round trips: inspect decodes what generate prints ----

field() { # NAME: that of the inspection on stdin, to the first blank
    sed -n "s/^$1  *\([^ ]*\).*/\1/p"
}
# test_tool_flake, which has its own clock, tests how the time of day affects the texts.
made_now() { # NAME MS: a time between those of the last call of begin_now and of this one
    if [ "$2" -ge "${begun}000" ] && [ "$2" -le "$(date +%s)999" ]; then ok "$1"; else fail "$1" "$2 is not now"; fi
}
begin_now() { begun=$(date +%s); }
unix_ms() { sed -n 's/.*(Unix ms \(.*\))$/\1/p' "$dir/out"; }
round_trip() { # LAYOUT NODE OPTIONS FORM...
    layout=$1 node=$2 options=$3
    shift 3
    for form; do
        case $form in default) format= ;; *) format=--format=$form ;; esac
        begin_now
        # shellcheck disable=SC2086
        id=$("$flake" generate --layout=$layout $options $format 2>&1)
        # shellcheck disable=SC2086
        "$flake" inspect --layout="$layout" $format "$id" > "$dir/out" 2>&1
        made="node $(grep -E '^(node|worker) ' "$dir/out" | field '[a-z]*'), sequence $(field sequence < "$dir/out")"
        same "round_trip_${layout}_$form" "node $node, sequence 0" "$made"
        made_now "round_trip_${layout}_${form}_time" "$(unix_ms)"
    done
}
forms="default dec hex bin bin4 base32 base36 base58 base62 zbase32 base36lower base58flickr"
# shellcheck disable=SC2086
{
    round_trip default 97 --node=97 $forms
    round_trip idgen 97 "--datacenter=3 --worker=1" $forms
    round_trip hazelcast 65535 --node=0xffff $forms
    round_trip uniqueid_ordered 32767 "--cluster=15 --generator=2047" $forms
    round_trip uniqueid-spread 3 "--cluster=3" $forms
    round_trip twitter 33 --node=33 $forms
    round_trip sonyflake 258 --node=258 $forms
    round_trip discord 34 --node=34 $forms
    round_trip instagram 8191 --node=8191 $forms
    round_trip mastodon "" "" $forms
    round_trip js53 31 --node=31 $forms
    round_trip boundary 171118573193570 --node=0x9ba1a5c50962 default dec hex bin uuid ulid base2 base7 base16 base35 base36 base58 base61 base62
}
# Of UUIDs and ULIDs the counter begins at random.
for layout in uuid7 uuid7_node uuid8 ulid; do
    case $layout in *node | uuid8) set -- --node=0x9ba1a5c50962 ;; *) set -- ;; esac
    for form in uuid ulid dec hex bin base36 base62; do
        begin_now
        id=$("$flake" generate --layout=$layout "$@" --format=$form)
        "$flake" inspect --layout=$layout --format=$form "$id" > "$dir/out" 2>&1
        made_now "round_trip_${layout}_${form}_time" "$(unix_ms)"
        [ $# -eq 0 ] || same "round_trip_${layout}_$form" 171118573193570 "$(field node < "$dir/out")"
    done
    "$flake" generate --layout=$layout "$@" 20000 > "$dir/ids"
    same "${layout}_ids_differ" 20000 "$(LC_ALL=C sort -u "$dir/ids" | wc -l | tr -d ' ')"
    LC_ALL=C sort -c "$dir/ids" 2> "$dir/err"
    same "${layout}_ids_rise" "" "$(cat "$dir/err")"
done
has uuid7_is_one '^[0-9a-f]\{8\}-[0-9a-f]\{4\}-7[0-9a-f]\{3\}-[89ab][0-9a-f]\{3\}-[0-9a-f]\{12\}$' "$flake" generate --layout=uuid7
has uuid8_is_one '^[0-9a-f]\{8\}-[0-9a-f]\{4\}-8[0-9a-f]\{3\}-[89ab][0-9a-f]\{3\}-00000000001f$' "$flake" generate --layout=uuid8 --node=0x1f
has ulid_is_one '^0[0-9A-HJKMNP-TV-Z]\{25\}$' "$flake" generate --layout=ulid
mkdir "$dir/uuids"
has uuid8_of_a_claimed_number '^.*-000000000000$' "$flake" generate --layout=uuid8 --node=0-9 --dir="$dir/uuids"
# An own layout needs its epoch for the way back.
begin_now
id=$("$flake" generate --layout=41-10-12 --epoch=1577836800000 --node=1023)
"$flake" inspect --layout=41-10-12 --epoch=2020-01-01 "$id" > "$dir/out"
made_now own_layout_and_epoch "$(unix_ms)"
has own_layout_has_its_name "^layout  *41-10-12: your own; units of 1 ms since 2020-01-01" cat "$dir/out"
# Bits, units and epoch of one's own, as options and as the words of a configuration.
begin_now
mine="--layout=39-8-16 --unit=10 --epoch=2020-01-01" words="layout=39-8-16 unit_ms=10 epoch_ms=1577836800000 node=200 dir=none"
# shellcheck disable=SC2086
id=$("$flake" generate $mine --node=200)
# shellcheck disable=SC2086
"$flake" inspect $mine "$id" > "$dir/out"
made_now own_units "$(unix_ms)"
has own_units_have_their_name "^layout  *39-8-16: your own; units of 10 ms since 2020-01-01" cat "$dir/out"
same own_units_node_and_sequence "200 0" "$(field node < "$dir/out") $(field sequence < "$dir/out")"
says own_units_by_a_configuration "$(cat "$dir/out")" "$flake" inspect --config="$words" "$id"
begin_now
id=$("$flake" generate --config="$words")
# shellcheck disable=SC2086
"$flake" inspect $mine "$id" > "$dir/out"
made_now own_units_generated_by_a_configuration "$(unix_ms)"
same own_units_of_a_configuration "200 0" "$(field node < "$dir/out") $(field sequence < "$dir/out")"
# shellcheck disable=SC2086
"$flake" generate --json $mine --node=200 3 | "$flake" inspect --json $mine - > "$dir/out"
same own_units_from_a_pipe 3 "$(grep -c '"layout":"39-8-16",.*"node":200,' "$dir/out")"
has known_layouts_may_have_other_units "units of 10 ms since 2010-11-04" "$flake" inspect --layout=twitter --unit=10 5
has units_of_a_day 1970-02-08T00:00:00.000Z "$flake" inspect --layout=41-10-12 --unit=86400000 $((38 << 22))
has a_range_in_other_units "^smallest *$((4 << 24))$" "$flake" range --layout=39-8-16 --unit=10 --from=1970-01-01T00:00:00.040 --to=1970-01-01T00:00:00.049
for value in 0 -1 x 4294967296; do refuses "unit_of_$value" 2 "^flake: --unit=$value" "$flake" inspect --unit=$value 5; done
refuses unit_of_a_uuid 2 "unit cannot be used with 128-bit" "$flake" inspect --layout=uuid7 --unit=10 017F22E2-79B0-7CC3-98C4-DC0C0C07398F
id=$("$flake" generate --layout=hazelcast-10-8 --node=255)
has hazelcast_with_other_bits "^node  *255" "$flake" inspect --layout=hazelcast-10-8 "$id"
for options in --layout=boundary --format=hex --layout=discord --layout=uuid7 --layout=ulid; do
    case $options in *uuid7 | *ulid) number= ;; *) number=--node=7 ;; esac
    "$flake" generate --json $options $number 3 | "$flake" inspect --json $options - > "$dir/out" 2>&1
    same "objects_from_a_pipe_$options" 3 "$(grep -c '^{"id":' "$dir/out")"
done
for form in text hex uuid; do
    id=$("$sno" generate --meta=42 --partition=4711 --format=$form)
    "$sno" inspect --format=$form "$id" > "$dir/out" 2>&1
    same "round_trip_sno_$form" "42 4711 0" "$(field meta < "$dir/out") $(field partition < "$dir/out") $(field sequence < "$dir/out")"
done

# ---- IDs of other makers ----

tab=$(printf '\t')
# idgen: now, epoch, datacenter, worker, counter, bytes, dec, hex, bin4
n=0 wrong=
while IFS=$tab read -r now epoch datacenter worker counter _ dec hex bin4; do
    n=$((n + 1))
    for id in "$dec" "--format=hex $hex" "0x$hex" "$bin4"; do
        case $id in --*) set -- "${id%% *}" "${id#* }" ;; *) set -- "$id" ;; esac
        "$flake" inspect --layout=idgen --epoch="$epoch" "$@" > "$dir/out" 2>&1
        grep -q "Unix ms $now)" "$dir/out" && grep -q "(datacenter $datacenter, worker $worker)" "$dir/out" &&
            grep -q "^sequence  *$counter$" "$dir/out" || wrong="$wrong $id"
    done
done < tests/vectors/idgen.tsv
same "idgen_vectors_$n" "" "$wrong"
# hazelcast: now, node, sequence, id
n=0 wrong=
while IFS=$tab read -r now node sequence id; do
    n=$((n + 1))
    "$flake" inspect --json --layout=hazelcast "$id" | grep -q "\"unix_ms\":$now,\"node\":$node,\"sequence\":$sequence}" || wrong="$wrong $id"
done < tests/vectors/hazelcast.tsv
same "hazelcast_vectors_$n" "" "$wrong"
has negative_is_of_64_bits '"dec":"9223372036854775808"' "$flake" inspect --json --layout=idgen -9223372036854775808
has negative_from_a_pipe '"dec":"18446744073709551615"' sh -c "echo -1 | $flake inspect --json --layout=idgen -"
# uniqueid: mode, time, sequence, generator, cluster, bytes
n=0 wrong=
while IFS=$tab read -r mode time sequence generator cluster hex; do
    n=$((n + 1))
    case $mode in SPREAD) layout=uniqueid_spread ;; *) layout=uniqueid_ordered ;; esac
    "$flake" inspect --json --layout=$layout "0x$hex" |
        grep -q "\"unix_ms\":$time,.*\"generator\":$generator,\"cluster\":$cluster,\"sequence\":$sequence}" || wrong="$wrong $hex"
done < tests/vectors/uniqueid.tsv
same "uniqueid_vectors_$n" "" "$wrong"
# boundary: time, worker, sequence, bytes, base 62, 36, 10
n=0 wrong=
while IFS=$tab read -r time worker sequence hex base62 base36 dec; do
    n=$((n + 1))
    for id in "--format=hex $hex" "0x$hex" "$base62" "--format=base36 $base36" "--format=dec $dec"; do
        case $id in --*) set -- "${id%% *}" "${id#* }" ;; *) set -- "$id" ;; esac
        "$flake" inspect --layout=boundary "$@" > "$dir/out" 2>&1
        grep -q "Unix ms $time)" "$dir/out" && grep -q "(0x$worker)" "$dir/out" &&
            grep -q "^sequence  *$sequence$" "$dir/out" || wrong="$wrong $*"
    done
done < tests/vectors/boundary.tsv
same "boundary_vectors_$n" "" "$wrong"
# sno: units, tick, meta, partition, sequence, bytes, text, time, JSON; all at once, through a pipe
cut -f 7 tests/vectors/sno_fields.tsv | "$sno" inspect --json - > "$dir/text"
cut -f 6 tests/vectors/sno_fields.tsv | "$sno" inspect --json - > "$dir/hex"
awk -F '\t' '{ printf "{\"id\":\"%s\",\"hex\":\"%s\" \"unix_ms\":%s,\"units\":%s,\"tick\":%s,\"meta\":%s,\"partition\":%s,\"sequence\":%s}\n",
    $7, $6, substr($8, 1, length($8) - 6), $1, $2, $3, $4, $5 }' tests/vectors/sno_fields.tsv > "$dir/wanted"
for form in text hex; do
    sed 's/,"uuid".*Z",/ /' "$dir/$form" | diff "$dir/wanted" - > "$dir/err"
    same "sno_vectors_in_$form" "" "$(cat "$dir/err")"
done

# ---- recognising ----

reads_as() { # FORM ID OPTION...
    form=$1 id=$2
    shift 2
    has "reads_${form}_$id" "^id  *$id ($form)$" "$flake" inspect "$@" "$id"
}
reads_as dec 5828128208445124608
reads_as dec 1234
reads_as dec 5300086112257234
reads_as hex 0x1f
reads_as hex 0x00000173cf50e1a49ba1a5c50962e183
reads_as bin 0b101
reads_as bin4 "0101 0000 1110 0001 1010 1011 1011 1010 0001 0001 1100 1110 0011 0000 0000 0000"
reads_as base62 9xv8qjj52HFsJhNZp5 --layout=boundary
reads_as base62 27BZCEPP30KLU1R2NCX37 --layout=boundary
for named in "hex 02308300cd461003" "hex 0230830000461003" "hex 5300086112257234" "hex 50E1ABBA11CE3000" \
    "hex e1abba11ce3000" "base62 6wWt7PwWTz6" "base32 51RDBQ88WWC00" "base36 18A230WYH57UO" \
    "base62 9xv8qjj52HFsJhNZp5" "base36 27BZCEPP30KLU1R2NCX37" "dec 29457809469459595947336165155203" \
    "hex 00000173cf50e1a49ba1a5c50962e183" "bin 0101000011100001101010111011101000010001110011100011000000000000"; do
    # shellcheck disable=SC2086
    reads_as $named --format=${named%% *}
done
reads_as uuid 017F22E2-79B0-7CC3-98C4-DC0C0C07398F
reads_as uuid 0b5b3f1e-79b0-8cc3-98c4-dc0c0c07398f
reads_as uuid 00000173-cf50-e1a4-9ba1-a5c50962e183 --layout=boundary
reads_as ulid 01ARZ3NDEKTSV4RRFFQ69G5FAV
reads_as ulid 01arz3ndektsv4rrffq69g5fav
reads_as ulid 01234567890123456789012345 --layout=ulid
# RFC 9562's and the ULID specification's.
has uuid7_of_the_rfc '"layout":"uuid7","hex":"017f22e279b07cc398c4dc0c0c07398f","time":"2022-02-22T19:22:22.000Z","unix_ms":1645557742000,"random":241944299518351,"counter":53532868}$' \
    "$flake" inspect --json 017F22E2-79B0-7CC3-98C4-DC0C0C07398F
has ulid_of_the_specification '"layout":"ulid","hex":"01563e3ab5d3d6764c61efb99302bd5b","time":"2016-07-30T23:54:10.259Z","unix_ms":1469922850259,"counter":"d6764c61efb99302bd5b"}$' \
    "$flake" inspect --json 01ARZ3NDEKTSV4RRFFQ69G5FAV
has uuid7_may_have_a_node "^or with  *--layout=uuid7_node  *2022-02-22T19:22:22.000Z, node 241944299518351, counter 53532868$" "$flake" inspect 017F22E2-79B0-7CC3-98C4-DC0C0C07398F
has uuid7_may_be_of_another_maker "^but only    the time, if flake.h did not generate it: other generators define the rest$" "$flake" inspect 017F22E2-79B0-7CC3-98C4-DC0C0C07398F
has uuid8_may_be_of_another_maker "^but only    if flake.h generated it: others define version 8 otherwise$" "$flake" inspect 2489E9AD-2EE2-8E00-8EC9-32D5F69181C0
same uuid8_that_is_named_has_no_doubt "" "$("$flake" inspect --layout=uuid8 2489E9AD-2EE2-8E00-8EC9-32D5F69181C0 2>&1 | grep "^but only\|^flake:")"
has hex_may_be_a_uuid "  --layout=uuid7  *2022-02-22T19:22:22.000Z, random 241944299518351" "$flake" inspect 0x017F22E279B07CC398C4DC0C0C07398F
has hex_may_be_a_ulid "  --layout=ulid  *2016-07-30T23:54:10.259Z, counter 0xd6764c61efb99302bd5b$" "$flake" inspect 0x01563E3AB5D3D6764C61EFB99302BD5B
wanted='id          017f22e2-79b0-7cc3-98c4-dc0c0c07398f (uuid)
layout      uuid7: UUID of version 7
time        2022-02-22T19:22:22.000Z (Unix ms 1645557742000)
random      241944299518351 (0xdc0c0c07398f)
counter     53532868
texts       ulid 01FWHE4YDGFK1SHH6W1G60EECF  hex 017f22e279b07cc398c4dc0c0c07398f
            dec 1989357241971137676463954034883508623  base36 36TWI214QWJ7MGSVQ83NM8WF  base62 2p5oQZoHTv0zeY5yG21K3

    000000010111111100100010111000100111100110110000 0111 110011000011
    |                                                |    counter = 3267  [75..64]
    |                                                version = 7  [79..76]
    time = 1645557742000  [127..80]

    10 01100011000100 110111000000110000001100000001110011100110001111
    |  |              random = 241944299518351  [47..0]
    |  counter = 6340  [61..48]
    variant = 2  [63..62]'
says uuid7_is_drawn "$wanted" "$flake" inspect --layout=uuid7 017f22e2-79b0-7cc3-98c4-dc0c0c07398f
has ulid_is_drawn '^    000000010101011000111110001110101011010111010011 1101011001110110$' "$flake" inspect 01ARZ3NDEKTSV4RRFFQ69G5FAV
refuses uuid_of_version_4 2 "is a UUID of version 4 (random bits), but only versions 7 and 8 can be decoded. If it is another ID in UUID form, name its layout: --layout=boundary, or " "$flake" inspect 919108f7-52d1-4320-9bac-f847db4148a8
# The first line that cannot be read ends it, and those before it are told.
printf '7\n919108f7-52d1-4320-9bac-f847db4148a8\n8\n' | "$flake" inspect --json - > "$dir/out" 2> "$dir/err"
same status_of_a_uuid_of_version_4_among_others 2 $?
same ids_before_it_are_told 7 "$(sed 's/^{"id":"\([0-9]*\)".*/\1/' "$dir/out")"
refuses uuid_of_version_1 2 "is a UUID of version 1 (time in steps of 100 ns, and a MAC address), but only" "$flake" inspect C232AB00-9414-11EC-B3C8-9E6BDECED846
refuses uuid_of_microsoft 2 "its variant is Microsoft's" "$flake" inspect 919108f7-52d1-7320-dbac-f847db4148a8
refuses uuid_7_is_no_8 2 "is a UUID of version 7: --layout=uuid7$" "$flake" inspect --layout=uuid8 017F22E2-79B0-7CC3-98C4-DC0C0C07398F
refuses nil_uuid 2 "the nil UUID" "$flake" inspect 00000000-0000-0000-0000-000000000000
refuses ulid_too_large 2 "is not an ID" "$flake" inspect 8ZZZZZZZZZZZZZZZZZZZZZZZZZ
refuses uuid_without_a_hyphen 2 "is not an ID" "$flake" inspect 017F22E2-79B0-7CC3-98C4+DC0C0C07398F
refuses uuid_for_64_bits 2 "is for 128-bit IDs: add --layout=uuid7" "$flake" generate --format=uuid
refuses ulid_for_64_bits 2 "is for 128-bit IDs: add --layout=ulid" "$flake" generate --layout=twitter --format=ulid
# A text that fits several forms is not guessed.
needs() { # OPTIONS ID [OPTION]
    refuses "needs_a_form_$2" 2 "'$2' is not a .*: name its format with $1$" "$flake" inspect ${3:+"$3"} "$2"
}
needs --format=hex 50e1abba11ce3000
needs "--format=base58 or --format=base62 or --format=base58flickr" 6wWt7PwWTz6
needs "--format=base32 or --format=base36" 51RDBQ88WWC0
needs --format=bin 0101000011100001101010111011101000010001110011100011000000000000
needs "--layout=boundary --format=base62" 9xv8qjj52HFsJhNZp5
needs "--layout=boundary --format=dec or --layout=boundary --format=hex" 29457809469459595947336165155203
needs "--format=dec or --format=hex" 29457809469459595947336165155203 --layout=boundary
needs "--format=bin or --format=ulid" 00101010101010101010101010
has other_forms_are_shown "^or with  *--format=hex it is 5980789518157312564" "$flake" inspect 5300086112257234
has other_layouts_are_shown "layout=twitter  *2054-11-15T15:23:40.936Z, node 227, sequence 0" "$flake" inspect 5828128208445124608
refuses a_sno_has_its_tool 2 "is not a decimal number.*or .sno inspect." "$flake" inspect xxxxxxxxj4fp2vgl
refuses a_flake_has_its_tool 2 "not a sno.*flake inspect" "$sno" inspect 5828128208445124608
refuses a_sno_in_another_form 2 "is not a sno in --format=hex" "$sno" inspect --format=hex xxxxxxxxj4fp2vgl
has names_the_form "^id  *EXepkGjrPP5 (base58)$" "$flake" inspect --format=base58 EXepkGjrPP5
# bwmarrin's Base32, Base36 and Base58 of an ID.
while read -r id zbase32 base36 base58; do
    for text in "zbase32 $zbase32" "base36lower $base36" "base58flickr $base58"; do
        same "${text%% *}_of_$id" "$id" "$("$flake" inspect --layout=twitter --json --format=${text% *} ${text#* } | sed -n 's/.*"dec":"\([0-9]*\)".*/\1/p')"
    done
done << END
$(awk -F '\t' '$1 > 2 ^ 60 && $1 < 2 ^ 62 {print $1, $3, $4, $5}' tests/vectors/bwmarrin.tsv)
END
refuses zbase32_is_for_64_bits 2 "zbase32 is none of" "$flake" generate --layout=boundary --format=zbase32
same base58_is_the_same_id 5828128208445124608 "$("$flake" inspect --format=base58 EXepkGjrPP5 | sed -n 's/.*dec \([0-9]*\).*/\1/p')"
sed -n '/^\$ \.\/flake inspect/,/^```/p' README.md | sed '/^[$`]/d' > "$dir/wanted"
says readme_shows_what_it_prints "$(cat "$dir/wanted")" "$flake" inspect --layout=idgen 5828128208445124608
same several_ids 3 "$("$flake" inspect 1 0x2 3 | grep -c '^id ')"
same ids_from_a_pipe 4 "$(printf '1\n\n2\r\n3\n' | "$flake" inspect 0 - | grep -c '^id ')"
# A line is one ID, however long: the rest of it is not taken for another.
long_line() { printf "{\"id\":\"%s\",\"rest\":\"$1\"}\n7\n" 5 5 | "$flake" inspect --json -; }
same long_lines 2 "$(long_line %0400d | grep -c '"id":"[57]"')"
refuses too_long_a_line 2 "^flake: line 1 of the standard input: longer than 4095 characters$" long_line %09000d
# Bytes that no text has, and objects that are cut off, do not hide after an ID.
for tool in flake sno; do
    case $tool in flake) id=7530733197374521344 ;; *) id=xxxxxxxxj4fp2vgl ;; esac
    piped() { # FORMAT: the line that printf makes of it and the ID, after one that is read
        # shellcheck disable=SC2059
        { echo "$id"; printf "$1" "$id"; } | "$dir/$tool" inspect --json - > "$dir/told" 2> "$dir/complaint"
        status=$?
        cat "$dir/complaint" >&2
        [ "$(grep -c "^{\"id\":\"$id\"" "$dir/told")" -eq 1 ] && [ "$(wc -l < "$dir/told")" -eq 1 ] || return 3
        return $status
    }
    refused() { # NAME FORMAT WHY
        refuses "${tool}_refuses_$1" 2 "^$tool: line 2 of the standard input: $3" piped "$2"
    }
    for line in '%s\0garbage\n' '%s\rgarbage\n' '%s\r' '%s\r\r\n' '\0garbage\n' '\0' '%s\0' '\t%s\n' '%s\177\n'; do
        refused "the_line_$line" "$line" "control character"
    done
    zeros() { head -c 100000 /dev/zero | "$dir/$tool" inspect -; }
    refuses "${tool}_refuses_zeros" 2 "^$tool: line 1 of the standard input: control character" zeros
    for line in '{"id":"%s' '{"id":"%s"' '{"id":"%s" nonsense' '{"id":"%s"} nonsense' '{"id":"%s","a"}' '{"id":"%s",}' '{' '{}' \
        '{"id":"%s","a":b}' '{"id":"%s","id":"%s"}' '{"a":"%s"}' '{"id":5}' '{"id":"%s","a":"\\n"}' '{5:"%s"}' '{"id" "%s"}'; do
        refused "the_object_$line" "$line" "not an object that .$tool generate --json. or .$tool inspect --json. prints"
    done
    refused an_id_that_is_none '%sx' "'${id}x' is not a "
    has "${tool}_reads_other_programs_objects" '"id":"'$id'"' sh -c "echo ' { \"a\" : -1.5e3, \"id\" : \"$id\" } ' | sed 's/^ //' | $dir/$tool inspect --json -"
done
# An object names its layout and its form: what inspect writes, it reads back.
for options in --layout=twitter --format=hex "--layout=discord --format=base58" --layout=41-1-20 --layout=uniqueid-spread \
    --layout=uuid8 "--layout=uuid7_node --format=hex" "--layout=boundary --format=base35" "--layout=ulid --format=uuid"; do
    # shellcheck disable=SC2086
    case $options in *=ulid*) number= ;; *) number=--node=1 ;; esac
    # shellcheck disable=SC2086
    "$flake" generate $options $number 3 | "$flake" inspect --json $options - > "$dir/told"
    told=$(cat "$dir/told")
    says "object_names_its_own_$options" "$told" "$flake" inspect --json - < "$dir/told"
    # shellcheck disable=SC2086
    says "object_agrees_with_$options" "$told" "$flake" inspect --json $options - < "$dir/told"
done
object() { # OBJECT OPTION...
    object=$1
    shift
    echo "$object" | "$flake" inspect --json "$@" -
}
twitter='{"id":"1741610183685046272","format":"dec","layout":"twitter","unix_ms":1704067200000}'
refuses object_of_another_layout 2 "line 1 of .*: the object has layout twitter, which differs from --layout=idgen" object "$twitter" --layout=idgen
refuses object_in_another_form 2 "the object has format dec, which differs from --format=hex" object "$twitter" --format=hex
refuses object_of_another_epoch 2 "the object has unix_ms 1704067200000, but the ID has 415232225343 .* --epoch" object "$twitter" --epoch=0
refuses object_of_an_unknown_layout 2 "layout=snow is not a layout" object '{"id":"5","layout":"snow"}'
refuses object_of_an_unknown_format 2 "format=morse is none of" object '{"id":"5","format":"morse"}'
flake_object() { echo '{"id":"2345678923456789","format":"hex","layout":"idgen"}' | "$sno" inspect -; }
refuses a_flake_s_object_has_its_tool 2 "line 1 of .*: the object has layout idgen, .* .flake inspect." flake_object
refuses too_large_a_number 2 "is not an ID" "$flake" inspect --layout=idgen 18446744073709551616
refuses no_id 2 "is not an ID" "$flake" inspect 'what?'
refuses no_id_of_the_layout 2 "not an ID of layout twitter" "$flake" inspect --layout=twitter 18446744073709551615
refuses no_negative_id_of_the_layout 2 "not an ID of layout twitter" "$flake" inspect --layout=twitter -1
refuses negative_of_65_bits 2 "is not an ID in any format" "$flake" inspect -9223372036854775809
refuses negative_hex 2 "is not an ID in --format=hex" "$flake" inspect --format=hex -5
refuses negative_of_128_bits 2 "is not an ID in --format=dec" "$flake" inspect --layout=boundary --format=dec -5
refuses wrong_mode 2 "not an ID of layout uniqueid_spread" "$flake" inspect --layout=uniqueid_spread 4096
refuses not_in_that_form 2 "not an ID in --format=base58" "$flake" inspect --format=base58 0OIl
refuses too_long_an_id 2 "is not an ID" "$flake" inspect "$(printf '%0300d' 7)"
refuses too_late_for_boundary 2 "later than" "$flake" inspect 0xffffffffffffffffffffffffffffffff
has end_of_boundary "+292278994-08-17T07:12:55.807Z" "$flake" inspect 0x7fffffffffffffff0000000000000000
refuses sno_too_short 2 "is not a sno" "$sno" inspect 22222223ikb5vnw
refuses sno_upper_case 2 "is not a sno" "$sno" inspect XXXXXXXXj4fp2vgl
has sno_bits_are_drawn '^    111111111111111111111111111111111111111 1 10001000 1001101101110000$' "$sno" inspect xxxxxxxxj4fp2vgl
has sno_in_quotes "^meta  *136$" "$sno" inspect '"xxxxxxxxj4fp2vgl"'

# ---- time ----

at() { # MS: the ISO time of a mastodon id of that ms
    "$flake" inspect --layout=48-0-16 --epoch="${2:-0}" $(($1 * 65536)) | field time
}
same epoch_is_shown 1970-01-01T00:00:00.000Z "$(at 0)"
same leap_day 2024-02-29T23:59:59.999Z "$(at 1709251199999)"
same day_after_leap_day 2024-03-01T00:00:00.000Z "$(at 1709251200000)"
same century_without_leap_day 2100-03-01T00:00:00.000Z "$(at 4107542400000)"
same far_year +10000-01-01T00:00:00.000Z "$(at 0 253402300800000)"
same before_1970 1969-12-31T23:59:59.999Z "$(at 0 -1)"
same year_zero 0000-02-29T12:00:00.000Z "$(at 0 -62162078400000)"
same year_before_zero -0001-12-31T00:00:00.000Z "$(at 0 -62167305600000)"

range() { "$flake" range --layout=mastodon --from="$1" --to="${2:-$1}" | field smallest; }
same unix_seconds $((1700000000000 * 65536)) "$(range 1700000000)"
same unix_ms $((1700000000123 * 65536)) "$(range 1700000000123)"
same a_date $((1704153600000 * 65536)) "$(range 2024-01-02)"
same date_and_time $((1704164645678 * 65536)) "$(range 2024-01-02T03:04:05.678Z)"
same without_seconds $((1704164640000 * 65536)) "$(range '2024-01-02 03:04')"
same with_a_zone $((1704157445000 * 65536)) "$(range 2024-01-02T03:04:05+02:00)"
same with_a_western_zone $((1704184445000 * 65536)) "$(range 2024-01-02T03:04:05-0530)"
for time in 2024-13-01 2024-02-30 2023-02-29 2024-01-00 2024-1-1 2024-01-02T24:00 2024-01-02T00:00:00.Z 2024-01-02X yesterday "" 2024-01-02T00:00+2; do
    refuses "no_time_$time" 2 "from" "$flake" range --from="$time" --to=2024-01-03
done

# ---- range ----

wanted='layout      twitter
from        2024-01-01T00:00:00.000Z
smallest    1741610183685046272
to          2024-01-31T23:59:59.999Z
largest     1752844207518646271'
says range_of_twitter "$wanted" "$flake" range --layout=twitter --from=2024-01-01 --to=2024-01-31T23:59:59.999
says range_in_json '{"layout":"boundary","from":"2020-08-08T18:24:11.172Z","min":"00000173cf50e1a40000000000000000","to":"2020-08-08T18:24:11.172Z","max":"00000173cf50e1a4ffffffffffffffff"}' \
    "$flake" range --json --layout=boundary --format=hex --from=1596911051172 --to=1596911051172
wanted='layout      uuid7
from        2024-01-01T00:00:00.000Z
smallest    018cc251-f400-7000-8000-000000000000
to          2024-01-31T00:00:00.000Z
largest     018d5cd0-bc00-7fff-bfff-ffffffffffff'
says range_of_uuid7 "$wanted" "$flake" range --layout=uuid7 --from=2024-01-01 --to=2024-01-31
says range_of_ulid '{"layout":"ulid","from":"2024-01-01T00:00:00.000Z","min":"01HK153X000000000000000000","to":"2024-01-31T00:00:00.000Z","max":"01HNED1F00ZZZZZZZZZZZZZZZZ"}' \
    "$flake" range --json --layout=ulid --from=2024-01-01 --to=2024-01-31
refuses range_of_uuid8_before_1970 2 "the range of layout uuid8: 1970-01-01T00:00:00.000Z to +10889-08-02T05:31:50.655Z" "$flake" range --layout=uuid8 --from=1969-12-31 --to=2024-01-31
from=$(date -u +%Y-%m-%dT%H:%M:%SZ)
id=$("$flake" generate --layout=twitter --node=7)
"$flake" range --layout=twitter --from="$from" --to="$(($(date +%s) + 1))" > "$dir/out"
smallest=$(field smallest < "$dir/out") largest=$(field largest < "$dir/out")
if [ "$smallest" -lt "$id" ] && [ "$id" -lt "$largest" ]; then ok new_id_is_in_range; else fail new_id_is_in_range "$smallest $id $largest"; fi
refuses range_backwards 2 "swap them" "$flake" range --from=2024-01-02 --to=2024-01-01
refuses range_half 2 "needs --from=TIME and --to=TIME" "$flake" range --from=2024-01-02
refuses range_before_the_epoch 2 "the range of layout twitter: 2010-11-04T01:42:54.657Z to 2080" "$flake" range --layout=twitter --from=2009-01-01 --to=2024-01-01
refuses range_of_spread 2 "not ordered by time" "$flake" range --layout=uniqueid_spread --from=2024-01-01 --to=2024-01-02
refuses range_with_a_count 2 "takes no '5'" "$flake" range --from=2024-01-01 --to=2024-01-02 5

# ---- node numbers ----

missing="node is missing: --node=7, or --node=0-99 --dir=DIR to claim a free one"
for layout in default twitter boundary uuid8 uuid7_node 41-10-12 hazelcast-10-8; do
    refuses "node_missing_for_$layout" 2 "^flake: $missing$" "$flake" generate --layout=$layout
done
for layout in uuid7 ulid mastodon 48-0-16; do
    same "node_needless_for_$layout" 1 "$("$flake" generate --layout=$layout | wc -l | tr -d ' ')"
done
refuses node_too_large 2 "node=1024 is not a number from 0 to 1023, the range of layout default" "$flake" generate --node=1024
refuses node_negative 2 "node=-18446744073709551611 is not a number from 0 to 1023" "$flake" generate --node=-18446744073709551611
refuses node_without_a_value 2 "needs a value: --node=N" "$flake" generate --node 5
refuses node_with_an_empty_value 2 "an empty value: write --node=N" "$flake" generate --node=
refuses node_twice 2 "both set" "$flake" generate --node=5 --worker=1
refuses node_for_mastodon 2 "mastodon has no bits for a node number" "$flake" generate --layout=mastodon --node=1
refuses node_for_uuid7 2 "uuid7 has no bits for a node number" "$flake" generate --layout=uuid7 --node=1
refuses interface_for_ulid 2 "ulid has no bits for a node number" "$flake" generate --layout=ulid --interface
refuses node_too_large_for_uuid8 2 "not a number from 0 to 281474976710655, the range of layout uuid8" "$flake" generate --layout=uuid8 --node=0x1000000000000
refuses datacenter_too_large 2 "datacenter=32 is not a number from 0 to 31" "$flake" generate --layout=idgen --datacenter=32
refuses worker_for_hazelcast 2 "hazelcast has no datacenter and worker" "$flake" generate --layout=hazelcast --worker=1
refuses cluster_for_default 2 "default has no cluster and generator" "$flake" generate --cluster=1
refuses low_bits_alone 2 "needs --interface or --ip" "$flake" generate --low-bits
refuses meta_too_large 2 "meta=256 is not a number from 0 to 255" "$sno" generate --meta=256
refuses partition_too_large 2 "partition=65536 is not a number from 0 to 65535" "$sno" generate --partition=65536
refuses no_such_layout 2 "flake layouts. lists them" "$flake" generate --layout=snowflake
refuses layout_too_large 2 "does not fit 64 bits" "$flake" generate --layout=41-20-12
refuses epoch_for_boundary 2 "begins in 1970" "$flake" generate --layout=boundary --epoch=5
refuses epoch_to_come 1 "begins at 2200-01-01" "$flake" generate --node=7 --epoch=2200-01-01
refuses epoch_far_to_come 1 "begins at 3000-01-01" "$flake" generate --node=7 --epoch=3000-01-01
refuses layout_that_has_ended 1 "another --epoch or --layout" "$flake" generate --node=7 --layout=30-10-12
refuses option_of_another_command 2 "inspect has no option --node" "$flake" inspect --node=1 5
refuses base7_is_wide 2 "none of dec, hex" "$flake" generate --format=base7

# The number is in the ID.
made_by() { # LAYOUT ID...: their nodes, or workers
    who_layout=$1
    shift
    "$flake" inspect --layout="$who_layout" "$@" | sed -n 's/^\(node\|worker\)  *//p' | paste -sd' ' -
}
who() { # LAYOUT OPTION...: the node of an id that is drawn so, or why there is none
    who_layout=$1
    shift
    who_id=$("$flake" generate --layout="$who_layout" "$@" 2>&1) || { echo "$who_id"; return; }
    made_by "$who_layout" "$who_id"
}
says hostname_has_the_number 3 who hazelcast --hostname=web-3
says hostname_in_full 4711 who hazelcast --hostname=web-4711.shop.example
refuses hostname_without_a_number 1 "^flake: --hostname: web: does not end in -NUMBER" "$flake" generate --hostname=web
refuses hostname_beyond_the_layout 2 "node is 32, but layout js53 allows 0 to 31" "$flake" generate --layout=js53 --hostname=web-32
export TOOLS_NODE=517 TOOLS_EMPTY=
says env_has_the_number 517 who hazelcast --env=TOOLS_NODE
refuses env_that_is_not_set 1 "^flake: --env: TOOLS_NOWHERE: " "$flake" generate --env=TOOLS_NOWHERE
refuses env_that_is_empty 1 "^flake: --env: TOOLS_EMPTY: " "$flake" generate --env=TOOLS_EMPTY

# Two runs at once claim two numbers. Each waits, with its number, for somebody to read its next ids.
mkdir "$dir/numbers"
mkfifo "$dir/run0" "$dir/run1"
numbers="--layout=41-1-20 --node=0-1 --dir=$dir/numbers"
# shellcheck disable=SC2086
{
    "$flake" generate $numbers 1000000000 > "$dir/run0" 2> "$dir/runs" &
    "$flake" generate $numbers 1000000000 > "$dir/run1" 2>> "$dir/runs" &
}
exec 3< "$dir/run0" 4< "$dir/run1"
read -r id0 <&3
read -r id1 <&4
same numbers_of_two_runs_differ "0 1" "$(made_by 41-1-20 "$id0" "$id1" | tr ' ' '\n' | sort | paste -sd' ' -)"
# shellcheck disable=SC2086
refuses numbers_all_taken 1 "^flake: $dir/numbers: all numbers of the range are in use$" "$flake" generate $numbers
refuses number_taken 1 "^flake: $dir/numbers/1.slot: is in use" "$flake" generate --layout=41-1-20 --node=1 --dir="$dir/numbers"
exec 3<&- 4<&-
wait
same numbers_are_claimed_silently "" "$(cat "$dir/runs")"
refuses numbers_without_a_parent 1 "^flake: $dir/nosuch/ids: cannot be created: " "$flake" generate --node=0-9 --dir="$dir/nosuch/ids"
refuses numbers_without_a_range 2 "^flake: $missing$" "$flake" generate --dir="$dir/numbers"
refuses numbers_without_a_directory 2 "^flake: --node=0-9: a range needs --dir=DIR" "$flake" generate --node=0-9
for range in 9-0 0-1024; do
    refuses "range_of_numbers_$range" 2 "^flake: --node=$range is not a range from 0 to 1023, the lowest number first" \
        "$flake" generate --node=$range --dir="$dir/numbers"
done
for range in 0- -9 5-x; do
    refuses "range_of_numbers_$range" 2 "^flake: --node=$range is not a number from 0 to 1023" "$flake" generate --node=$range --dir="$dir/numbers"
done
refuses directory_for_uuid7 2 "uuid7 has no bits for a node number: remove --dir" "$flake" generate --layout=uuid7 --dir="$dir/numbers"
says hostname_and_directory 3 who hazelcast --hostname=web-3 --dir="$dir/numbers"

# ---- nodes: the numbers of a directory, and their holders ----

# slots inherit DIR NUMBER   claims it, forks a child that has it until the input ends, and exits
# slots version2 DIR NUMBER  a file as version 0.3 writes it, without pid and start
cat > "$dir/slots.c" << 'END'
#define _DEFAULT_SOURCE
#include "flake.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static flake_gen ids;
int main(int count, char **words) {
    flake_why why;
    if (count != 4) return 2;
    const uint64_t number = strtoull(words[3], NULL, 10);
    if (flake_init(&ids, flake_node_fixed(words[2], number), NULL, &why) != FLAKE_OK)
        return (void)fprintf(stderr, "%s\n", why.text), 1;
    if (strcmp(words[1], "inherit") == 0) {
        const pid_t child = fork();
        if (child > 0) (void)printf("%ld\n", (long)getpid());
        else if (child == 0 && fclose(stdout) == 0) (void)getchar();
        return child < 0;
    }
    flake_i_record r;
    uint8_t bytes[FLAKE_I_FILE] = FLAKE_I_MAGIC;
    memset(&r, 0, sizeof r);
    r.number = 1;
    r.horizon_ns = r.written_ns = INT64_C(1700000000000000000);
    r.node = number;
    flake_i_record_put(&r, bytes + flake_i_record_at(1));
    bytes[11] = 2;
    if (!flake_i_write_at(ids.claim.file.fd, 0, bytes, sizeof bytes)) return 1;
    (void)puts("held"); /* until the input ends */
    if (fflush(stdout) != 0) return 1;
    return getchar() != EOF;
}
END
# shellcheck disable=SC2086
$CC -std=c11 $WARN -I. "$dir/slots.c" -o "$dir/slots" || fail "slots.c does not compile" ""
nodes=$dir/nodes
refuses nodes_without_a_directory 2 "^flake: nodes needs one directory" "$flake" nodes
refuses nodes_of_two_directories 2 "^flake: nodes needs one directory" "$flake" nodes "$nodes" "$nodes"
refuses nodes_of_no_directory 1 "^flake: $nodes: No such file" "$flake" nodes "$nodes"
mkdir "$nodes"
says nodes_of_an_empty_directory "$nodes is empty: no number was claimed in it" "$flake" nodes "$nodes"
says nodes_of_an_empty_directory_as_json "" "$flake" nodes --json "$nodes"
node() { "$flake" nodes "$nodes" | sed -n "s/^$1  *//p" | tr -s ' '; } # NUMBER: its line, without the number
now="[0-9T:.-]*Z"
# free: closed. The next holder need not wait.
"$flake" generate --node=0-9 --dir="$nodes" > "$dir/out"
has nodes_free "^free [0-9]* $now $now [0-9]* s ago$" node 0
# held: by the process that the shell started
mkfifo "$dir/run2" "$dir/run3"
"$flake" generate --node=1-9 --dir="$nodes" 1000000000 > "$dir/run2" 2> "$dir/err" &
holder=$!
exec 3< "$dir/run2"
read -r id0 <&3
same nodes_held_has_the_first_of_its_range 1 "$(made_by default "$id0" | tr -d ' ')"
has nodes_held "^held $holder $now $now [0-9]* s ago$" node 1
has nodes_held_as_json "^{\"node\":1,\"state\":\"held\",\"pid\":$holder,\"since\":\"$now\",\"horizon\":\"$now\",\"age_ms\":[0-9]*}$" "$flake" nodes --json "$nodes"
# While it is listed all the time, nothing else fails: the list keeps no lock.
(for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "$flake" nodes "$nodes" > /dev/null || echo "nodes failed"; done) > "$dir/listed" 2>&1 &
lister=$!
for _ in 1 2 3 4 5; do
    "$flake" generate --node=2 --dir="$nodes" > "$dir/out" 2> "$dir/err" || fail nodes_takes_no_lock "$(cat "$dir/err")"
done
wait $lister
same nodes_beside_claims "" "$(cat "$dir/listed")"
# crashed: the number is free, and its horizon is to come
kill -9 $holder
wait $holder 2> /dev/null
exec 3<&-
has nodes_crashed "^free $holder $now $now [0-9]* s ago its next holder waits [0-9]* ms$" node 1
# held by a forked child, whose parent has ended
exec 4<> "$dir/run3"
parent=$("$dir/slots" inherit "$nodes" 3 < "$dir/run3" 4>&-)
has nodes_inherited "^held $parent $now $now [0-9]* s ago no process $parent here: a start that waits has the number, a forked child of it, or another container$" node 3
exec 4>&-
# of version 0.3, free and held
(echo | "$dir/slots" version2 "$nodes" 4 > /dev/null)
has nodes_of_version_2 "^free - - 2023-11-14T22:13:20.000Z [0-9]* days ago$" node 4
exec 4<> "$dir/run3"
"$dir/slots" version2 "$nodes" 4 < "$dir/run3" > "$dir/run2" 2> "$dir/err" 4>&- &
exec 3< "$dir/run2"
read -r id0 <&3
has nodes_of_version_2_held "^held - - 2023-11-14T22:13:20.000Z [0-9]* days ago$" node 4
exec 3<&- 4>&-
# unusable and foreign
: > "$nodes/5.slot"
cp "$nodes/0.slot" "$nodes/6.slot"
mkdir "$nodes/7.slot"
ln -s 0.slot "$nodes/8.slot"
echo "a text, and of no number" > "$nodes/9.slot"
: > "$nodes/05.slot"
: > "$nodes/notes.txt"
: > "$nodes/10.slot.new"
: > "$nodes/10.slot.new.old"
printf 'quote "\\ end' > "$dir/out"
: > "$nodes/$(cat "$dir/out")"
has nodes_cut_short "^unusable 5.slot: is cut short or damaged$" node 5
has nodes_of_another_number "^unusable 6.slot: is of another number$" node 6
has nodes_directory "^unusable 7.slot: cannot be read: Is a directory$" node 7
has nodes_link "^unusable 8.slot: cannot be opened: " node 8
has nodes_text "^unusable 9.slot: is not of a number, or of an earlier version$" node 9
has nodes_foreign "^ *foreign *notes.txt: not the file of a number$" "$flake" nodes "$nodes"
has nodes_starting "^ *starting *10.slot.new: waits in init, or was killed while it did$" "$flake" nodes "$nodes"
has nodes_foreign_by_its_end "^ *foreign *10.slot.new.old: not" "$flake" nodes "$nodes"
has nodes_foreign_by_its_zero "^ *foreign *05.slot: not" "$flake" nodes "$nodes"
has nodes_foreign_with_a_quote "^{\"file\":\"quote ?? end\",\"state\":\"foreign\",\"why\":\"[a-z ]*\"}$" "$flake" nodes --json "$nodes"
says nodes_in_order "0 1 2 3 4 5 6 7 8 9" sh -c "'$flake' nodes '$nodes' | sed -n 's/^\([0-9][0-9]*\) .*/\1/p' | paste -sd' ' -"

refuses interface_that_is_not_there 1 "^flake: --interface: nosuch: no interface of this name" "$flake" generate --layout=boundary --interface=nosuch
macs=$(cat /sys/class/net/*/address 2> /dev/null | grep -v '^00:00:00:00:00:00$' | tr -d :)
worker_of() { who boundary "$@" | sed 's/.*(0x\(.*\))/\1/'; }
for device in /sys/class/net/*/device; do
    grep -q '^..:..:..:..:..:..$' "${device%device}address" 2> /dev/null || continue
    interface=$(basename "${device%/device}")
    says "interface_$interface" "$(tr -d : < "${device%device}address")" worker_of --interface="$interface"
    refuses "interface_${interface}_is_longer_than_a_node" 2 "low-bits" "$flake" generate --interface="$interface"
    one_of_this_host() { printf '%s\n' "$macs" | grep -x "$(worker_of --interface)"; }
    has interface_of_its_choice . one_of_this_host
    break
done
# The last 16 bits of a private address of this host, if it has one.
addresses=$( (hostname -I || ip -o -4 address | sed 's/.* inet \([0-9.]*\).*/\1/') 2> /dev/null | tr ' ' '\n')
private=$(printf '%s\n' "$addresses" | grep -E '^(10|172\.(1[6-9]|2[0-9]|3[01])|192\.168)\.' | awk -F. '{print $3 * 256 + $4}')
one_of_the_private() { printf '%s\n' "$private" | grep -x -e "$(who sonyflake --ip)"; }
if [ -n "$private" ]; then has ip_of_this_host . one_of_the_private
elif [ -n "$addresses" ] || ! "$flake" generate --layout=sonyflake --ip > "$dir/out" 2> /dev/null; then
    refuses ip_of_no_private_address 1 "^flake: --ip: this machine: no interface has a private IPv4 address" "$flake" generate --layout=sonyflake --ip
fi

# ---- --config, the words of a configuration file ----

config="twitter node=33 dir=none lanes=2 clock=fast"
id=$("$flake" generate --config="$config")
has config_generates "^node  *33 (datacenter 1, worker 1)" "$flake" inspect --config="$config" "$id"
has config_of_128_bits '^.*-8[0-9a-f]\{3\}-.*-00000000001f$' "$flake" generate --config="uuid8 node=31 dir=none"
has config_without_a_node '^.*-7[0-9a-f]\{3\}-.*$' "$flake" generate --config=uuid7
"$flake" generate --config="$config" 20000 > "$dir/ids"
same config_lanes_differ 20000 "$(LC_ALL=C sort -u "$dir/ids" | wc -l | tr -d ' ')"
"$flake" generate --config="layout=idgen node=5 dir=\"$dir/my ids\" max_ahead_ms=5" 20000 > "$dir/ids"
"$flake" generate --config="layout=idgen node=5 dir=\"$dir/my ids\" max_ahead_ms=5" 20000 >> "$dir/ids"
same config_has_a_directory 40000 "$(LC_ALL=C sort -u "$dir/ids" | wc -l | tr -d ' ')"
same config_claims_a_node 9 "$(made_by default "$("$flake" generate --config="node=9-99 dir=$dir/config")")"
unnamed="config: node is missing: node=7, or node=0-1023 to claim a free one; and dir=DIR, or dir=none if nothing is to check it"
refuses config_without_a_node 2 "^flake: $unnamed$" "$flake" generate --config="twitter clock=fast"
for command in "inspect 5" "time 5" "range --from=2025-01-01 --to=2025-01-02"; do
    # shellcheck disable=SC2086
    has "config_without_a_node_$command" "^layout  *twitter" "$flake" $command --config="twitter clock=fast"
    # shellcheck disable=SC2086
    refuses "config_with_half_a_node_$command" 2 "^flake: config: node is unchecked: add dir=DIR" "$flake" $command --config="twitter node=7"
done
refuses config_that_nothing_checks 2 "^flake: config: node is unchecked: add dir=DIR, or dir=none if nothing is to check it$" "$flake" generate --config=node=7
refuses config_of_a_range_without_a_directory 2 "^flake: config: node: a range needs dir=DIR$" "$flake" generate --config="node=0-9 dir=none"
for word in state=x state_dir=x exclusive_dir=x start_next_unit; do
    refuses "config_of_0.3_$word" 2 "^flake: config: ${word%=x}: " "$flake" generate --config="node=7 dir=none $word"
done
refuses config_with_a_wrong_word 2 "^flake: config: nod: no such option" "$flake" generate --config=nod=7
refuses config_beyond_the_layout 2 "^flake: node: 1024 is above 1023, the layout's last node$" "$flake" generate --config="node=1024 dir=none"
for option in --layout=idgen --epoch=0 --unit=10; do
    refuses "config_and_$option" 2 "and ${option%=*} a word of it: use one of them" "$flake" inspect --config=mastodon $option 5
done
for option in --node=7 --dir="$dir/config" --hostname=web-3 --worker=1; do
    refuses "config_and_${option%%=*}" 2 "^flake: --config and ${option%%=*} both set the node" "$flake" generate --config="node=7 dir=none" "$option"
    refuses "config_without_a_node_and_${option%%=*}" 2 "^flake: --config and ${option%%=*} both set the node" "$flake" generate --config="lanes=8" "$option"
done
sno_of() { "$sno" inspect "$("$sno" generate --config="$1")"; }
refuses config_with_a_partition 2 "config: partition: no such option" "$flake" generate --config=partition=7
refuses config_ahead_without_a_directory 2 "max_ahead_ms: needs dir=DIR" "$flake" generate --config="node=7 dir=none max_ahead_ms=7"
refuses config_of_time_with_lanes 2 "remove lanes" "$flake" time --config="node=7 dir=none lanes=2" 100
has sno_config_generates "^partition  *7$" sno_of "node=7 dir=none single_thread clock=coarse"
has sno_config_of_any_partition "^sequence  *0$" sno_of "clock=coarse"
has sno_config_with_bounds "^sequence  *99$" sno_of "node=7 dir=none seq_min=99 seq_max=999"
has sno_config_with_bounds_alone "^sequence  *99$" sno_of "seq_min=99 seq_max=999"
"$sno" generate --config="node=0 dir=none lanes=2 clock=fast" 20000 > "$dir/ids"
same sno_config_lanes_differ 20000 "$(LC_ALL=C sort -u "$dir/ids" | wc -l | tr -d ' ')"
has sno_config_has_a_directory "^partition  *0$" sno_of "node=0 dir=$dir/snos"
has sno_config_claims_a_partition "^partition  *65535$" sno_of "node=65535-65535 dir=$dir/snos"
refuses sno_config_claims_no_partition 2 "node: exceeds 65535, the largest of a sno" "$sno" generate --config="node=0-65536 dir=$dir/snos"
refuses sno_config_with_a_wrong_word 2 "^sno: config: part: no such option" "$sno" generate --config=part=7
refuses sno_config_with_a_layout 2 "^sno: config: layout: a sno has its own" "$sno" generate --config=twitter
refuses sno_config_that_nothing_checks 2 "^sno: config: node is unchecked: add dir=DIR" "$sno" generate --config=node=7
refuses sno_config_and_partition 2 "both set" "$sno" generate --config="clock=fast" --partition=7
refuses sno_config_of_inspect 2 "inspect has no option --config" "$sno" inspect --config=node=7 xxxxxxxxj4fp2vgl

# ---- time COUNT, layouts, --json ----

"$flake" time 30000 > "$dir/out"
has time_explains_the_limit 'ids/s  *[0-9]* (the layout has 4096000: faster draws wait for its next unit)' cat "$dir/out"
same time_counts "30000 0" "$(field ids < "$dir/out") $(field duplicates < "$dir/out")"
has time_of_spread '"ids":5000,.*"duplicates":0}' "$flake" time --json --layout=uniqueid_spread --cluster=1 5000
has time_of_boundary '"layout":"boundary","ids":100000,.*"capacity_per_second":65536000,"duplicates":0}' "$flake" time --json --layout=boundary 100000
has time_of_uuid7 '"layout":"uuid7","ids":100000,.*"capacity_per_second":65536000,"duplicates":0}' "$flake" time --json --layout=uuid7 100000
refuses time_of_nothing 2 "COUNT of at least 1" "$flake" time 0
# Without COUNT: the three clocks, and the advice that follows from their figures.
"$flake" time --layout=twitter > "$dir/out"
has time_has_the_limit '^limit  *4096000 ids/s$' cat "$dir/out"
same time_has_three_clocks "exact coarse fast" "$(awk '$2 > 0 && $3 > 0 && NF == 4 { printf "%s%s", n++ ? " " : "", $1 }' "$dir/out")"
has time_names_the_word '^write  *clock=\(exact, .*FLAKE_CLOCK_EXACT\|fast, .*FLAKE_CLOCK_FAST, the default\)$' cat "$dir/out"
"$flake" time --json --layout=uuid7 > "$dir/out"
has time_of_clocks_in_json '^{"layout":"uuid7","capacity_per_second":65536000,"clocks":\[{"clock":"exact",.*"write":"clock=[a-z]*"}$' cat "$dir/out"
# shellcheck disable=SC2016
same time_advises_by_its_figures "$(sed 's/.*"write":"clock=\([a-z]*\)".*/\1/' "$dir/out")" "$(tr '{}' '\n\n' < "$dir/out" | awk -F '[:,]' '
    /"clock":/ { gsub(/"/, "", $2); busy[$2] = $4; rare[$2] = $8 }
    END { print busy["fast"] <= 1.25 * busy["exact"] && rare["fast"] <= 1.25 * rare["exact"] ? "fast" : "exact" }')"
same all_layouts 16 "$("$flake" layouts | grep -c '^[a-z]')"
has uuid7_shows_its_bits "time 48, version 4, counter 12, variant 2, counter 14, random 48" "$flake" layouts
has ulid_shows_its_bits "time 48, counter 80$" "$flake" layouts
has layouts_show_their_bits "time 42, sequence 6, generator 3, mode 1, generator 8, cluster 4" "$flake" layouts
{
    "$flake" generate --json --node=7 3
    "$flake" generate --json --layout=boundary --node=7 3
    "$flake" layouts --json
    "$flake" inspect --json --layout=idgen 5828128208445124608 0x1f
    "$flake" inspect --json 0x00000173cf50e1a49ba1a5c50962e183
    "$flake" inspect --json 017F22E2-79B0-7CC3-98C4-DC0C0C07398F 01ARZ3NDEKTSV4RRFFQ69G5FAV
    "$flake" time --json 100
    "$flake" time --json
    "$flake" range --json --from=2025-01-01 --to=2026-01-01
    "$sno" generate --json --format=uuid 3
    "$sno" generate 3 | "$sno" inspect --json -
} > "$dir/json"
same json_lines 36 "$(wc -l < "$dir/json" | tr -d ' ')"
if command -v python3 > /dev/null; then
    says json_parses "36 2014-01-12T13:40:46.279Z 5828128208445124608" python3 -c '
import json, sys
objects = [json.loads(line) for line in open(sys.argv[1])]
assert all(isinstance(o.get("id", ""), str) for o in objects)
inspected = [o for o in objects if o.get("dec") == "5828128208445124608"][0]
print(len(objects), inspected["time"], inspected["id"])' "$dir/json"
else
    same json_parses "" "$(grep -v '^{".*}$' "$dir/json")"
fi
cd "$here" || exit 1
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
