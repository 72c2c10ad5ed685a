#!/bin/sh
# SPDX-License-Identifier: MIT
#
# install.sh PART...     installs those parts of the manifest, headers or all
# install.sh uninstall   removes all of them
#
# From the environment: BUILD, PREFIX, DESTDIR, LIBDIR. For headers it needs only sed and install.
set -eu
here=extras/packaging
version=$(sed -n 's/^#define FLAKE_VERSION_STRING "\(.*\)"/\1/p' flake.h)
so=.so.${version%.*}

place() { # DESTINATION: its path
    case $1 in
    lib/*) path=$DESTDIR$LIBDIR/${1#lib/} ;;
    *) path=$DESTDIR$PREFIX/$1 ;;
    esac
}
fill() { # TEMPLATE DESTINATION: for the header that the destination is named after
    name=${2##*/} requires=
    name=${name%%.*}
    name=${name%Config*}
    name=${name#lib}
    header=$name.h
    [ -e "$header" ] || header=extras/etcd/$header
    description=$(sed -n '1s/^[^:]*: *//p' "$header")
    requires=$(sed -n "s/^#include \"\(.*\)\.h\"\$/\1 = $version/p" "$header")
    sed -e "s|@name@|$name|g; s|@version@|$version|g; s|@prefix@|$PREFIX|; s|@libdir@|$LIBDIR|" \
        -e "s|@description@|$description|; s|@requires@|$requires|; s|@include@|../../../include|" "$1"
}
put() { # DESTINATION MODE SOURCE
    place "$1"
    echo "$path"
    install -d "${path%/*}"
    case $2/$3 in
    link/*) ln -sf "$3" "$path" ;;
    *.in) fill "$3" "$1" > "$path" ;;
    *) install -m "$2" "$3" "$path" ;;
    esac
}
remove() { # DESTINATION
    place "$1"
    rm -f "$path"
    case $1 in share/cmake/*) rmdir "${path%/*}" 2> /dev/null || : ;; esac
}

for_call() { echo "$1" | sed "s|@call@|$call|"; } # TEXT

# A line with @call@ counts once for each call of the headers.
sed -e '/^#/d; /^$/d' -e "s|@so@|$so|g; s|@build@|$BUILD|" $here/manifest | while read -r part to mode from; do
    case " $* " in *" uninstall "* | *" $part "*) ;; *) continue ;; esac
    calls=none
    case $to in *@call@*) calls=$(awk -f tools/roff.awk -f tools/calls.awk -v form=names flake.h sno.h extras/etcd/flake_etcd.h) ;; esac
    for call in $calls; do
        case " $* " in
        *" uninstall "*) remove "$(for_call "$to")" ;;
        *) put "$(for_call "$to")" "$mode" "$(for_call "$from")" ;;
        esac
    done
done
