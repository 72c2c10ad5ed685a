#!/bin/sh
# SPDX-License-Identifier: MIT
#
# builds.sh   builds and runs README.md's first program in each way of docs/install.md and extras/packaging/PACKAGES.md
# whose tools are installed, with those pages' code blocks. A block's info string, after the language, names where it
# goes:
#
#     ```cmake builds/find_package/CMakeLists.txt    to that file of a scratch directory
#     ```sh builds/find_package                      commands that run there; the last line they print is a UUID
#
# There is no network: a repository made from this checkout replaces https://git.example/flake.git, and its commit
# replaces COMMIT. Ways that need an installation use one that was moved after it was made.
: "${CC:=cc}" "${MAKE:=make}"
pages="docs/install.md extras/packaging/PACKAGES.md"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 told=
judge() { # NAME COMMAND...: succeeds
    name=$1
    told="$told $1 "
    shift
    if said=$("$@" 2>&1); then
        echo "ok $name"
        passed=$((passed + 1))
    else
        printf 'FAIL %s\n%s\n' "$name" "$(printf '%s\n' "$said" | tail -n 20 | sed 's/^/     /')"
        failed=$((failed + 1))
    fi
}
skip() { # NAME: WHY
    echo "SKIPPED $1"
    told="$told ${1%%:*} "
}
. tests/scripts/commands.sh

# The user's own settings have no effect.
mkdir "$dir/home" "$dir/bin"
export HOME="$dir/home" CONAN_HOME="$dir/home/conan" VCPKG_FORCE_SYSTEM_BINARIES=1 VCPKG_DISABLE_METRICS=1
export VCPKG_BINARY_SOURCES=clear VCPKG_DOWNLOADS="$dir/home/vcpkg"
unset CMAKE_PREFIX_PATH PKG_CONFIG_PATH
# The page's cc is the requested compiler.
case $CC in *' '*) options=${CC#* } ;; *) options= ;; esac
printf '#!/bin/sh\nexec %s %s "$@"\n' "$(command -v "${CC%% *}")" "$options" > "$dir/bin/cc"
chmod +x "$dir/bin/cc"
export PATH="$dir/bin:$PATH"
has ninja && export CMAKE_GENERATOR=Ninja

# ---- inputs: a repository, and an installation ----

version=$(sed -n 's/^#define FLAKE_VERSION_STRING "\(.*\)"/\1/p' flake.h)
minor=${version%.*}
mkdir -p "$dir/repository/extras/etcd"
cp flake.h sno.h LICENSE "$dir/repository"
cp extras/etcd/flake_etcd.h "$dir/repository/extras/etcd"
cp -R extras/packaging "$dir/repository/extras"
repository() {
    cd "$dir/repository" && git init -q && git add . &&
        git -c user.name=- -c user.email=- commit -q -m - && git rev-parse HEAD > "$dir/commit"
}
commit=
if has git; then
    judge repository repository
    commit=$(cat "$dir/commit")
fi
install_headers() {
    $MAKE install-headers PREFIX=/opt/ids DESTDIR="$dir/root" && mkdir "$dir/moved" &&
        mv "$dir/root/opt" "$dir/moved/opt"
}
judge install_headers install_headers
ids=$dir/moved/opt/ids

# ---- the page's blocks ----

awk -v dir="$dir/" -v url="file://$dir/repository" -v commit="$commit" '
    /^```[a-z]+ builds\// {out = dir $2
        if ($1 == "```sh") out = out "/commands"
        folder = out
        sub("/[^/]*$", "", folder)
        system("mkdir -p \"" folder "\"")
        next}
    /^```/ {if (out) close(out); out = ""}
    out {gsub("https://git[.]example/flake[.]git", url); gsub(/COMMIT/, commit); print > out}' $pages
# The port and the recipe, as a project has them.
mkdir -p "$dir/builds/vcpkg/ports/flake" "$dir/builds/conan/recipe/test_package"
for file in vcpkg/portfile.cmake vcpkg/vcpkg.json vcpkg/usage conan/conanfile.py conan/test_package/conanfile.py \
    conan/test_package/CMakeLists.txt conan/test_package/test_package.c; do
    to=$dir/builds/$(echo $file | sed 's,^vcpkg/,vcpkg/ports/flake/,; s,^conan/,conan/recipe/,')
    sed "s|https://git[.]example/flake[.]git|file://$dir/repository|; s|COMMIT|$commit|" extras/packaging/$file > "$to"
done
# shellcheck disable=SC2086
judge four_times_the_version [ "$(cat $pages extras/packaging/vcpkg/vcpkg.json extras/packaging/conan/conanfile.py |
    grep -c "['\"/]$version\b")" = 4 ]
# README.md's first program; its header must not be found beside it.
awk '/^```c$/ {inside = 1; next} /^```/ {if (inside) exit} inside' README.md | sed 's/"flake.h"/<flake.h>/' > "$dir/app.c"

builds() { # FOLDER [VARIABLE=VALUE...]: its commands succeed, and the last thing that they say is a UUID
    cp "$dir/app.c" "$dir/builds/$1"
    (
        cd "$dir/builds/$1" && shift && limited env "$@" sh -e commands > log 2>&1 &&
            tail -n 1 log | grep -qE '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
    ) || { cat "$dir/builds/$1/log"; false; }
}
lacks() { # TOOL...: the first that is not here
    for tool; do has "$tool" || { echo "$tool"; return; }; done
}
try() { # FOLDER TOOLS [VARIABLE=VALUE...]
    folder=$1 tools=$2
    shift 2
    # shellcheck disable=SC2086
    missing=$(lacks $tools)
    if [ -n "$missing" ]; then skip "$folder: $missing is not installed"
    else judge "$folder" builds "$folder" "$@"; fi
}
variant() { # FOLDER NEW: a copy to change, of what is not built yet
    cp -R "$dir/builds/$1" "$dir/builds/$2"
}

try by_hand git
try pkg-config pkg-config PKG_CONFIG_PATH="$ids/share/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dir/moved"

# ---- CMake ----

cp "$dir/builds/find_package/commands" "$dir/builds/fetch_content"
# In a checkout, in C++; the target asks for C++11.
variant find_package subdirectory
cp -R "$dir/repository" "$dir/builds/subdirectory/flake"
cp "$dir/app.c" "$dir/builds/subdirectory/app.cc"
sed 's/(app C)/(app CXX)/; s/app\.c)/app.cc)/; s|find_package(.*)|add_subdirectory(flake/extras/packaging)|' \
    "$dir/builds/find_package/CMakeLists.txt" > "$dir/builds/subdirectory/CMakeLists.txt"
# Both headers in both languages, with standards that are too old for them.
variant find_package both
cat > "$dir/builds/both/CMakeLists.txt" << END_OF_FILE
cmake_minimum_required(VERSION 3.11)
project(both C CXX)
set(CMAKE_C_STANDARD 99)
set(CMAKE_CXX_STANDARD 98)
find_package(sno $minor REQUIRED)
find_package(flake $minor REQUIRED)
find_package(sno $minor REQUIRED)
add_executable(app app.cc other.c)
target_link_libraries(app PRIVATE flake::flake sno::sno)
END_OF_FILE
cp "$dir/app.c" "$dir/builds/both/app.cc"
cat > "$dir/builds/both/other.c" << END_OF_FILE
#include <flake.h>
#include <sno.h>
#if __STDC_VERSION__ < 201112L
#error "C before C11"
#endif
END_OF_FILE
# flake_etcd.h, installed and in a checkout.
cat > "$dir/builds/etcd/claims.c" << END_OF_FILE
#include <flake_etcd.h>
void (*destroys)(flake_etcd *) = flake_etcd_destroy;
END_OF_FILE
cp "$dir/builds/find_package/commands" "$dir/builds/etcd"
variant etcd etcd-subdirectory
cp -R "$dir/repository" "$dir/builds/etcd-subdirectory/flake"
sed 's|find_package(.*)|find_package(CURL REQUIRED)\nfind_package(Threads REQUIRED)\nadd_subdirectory(flake/extras/packaging)|' \
    "$dir/builds/etcd/CMakeLists.txt" > "$dir/builds/etcd-subdirectory/CMakeLists.txt"
try find_package cmake CMAKE_PREFIX_PATH="$ids"
if echo '#include <curl/curl.h>' | cc -E - > /dev/null 2>&1; then
    try etcd cmake CMAKE_PREFIX_PATH="$ids"
    try etcd-subdirectory cmake
else
    skip "etcd: libcurl is not installed"
    skip "etcd-subdirectory: libcurl is not installed"
fi
try fetch_content "cmake git"
try subdirectory cmake CXXFLAGS=-std=c++98
try both cmake CMAKE_PREFIX_PATH="$ids"
# Before 1.0 another minor version is another library.
mkdir "$dir/versions-of"
cat > "$dir/versions-of/CMakeLists.txt" << END_OF_FILE
cmake_minimum_required(VERSION 3.19)
project(versions LANGUAGES NONE)
foreach(name flake sno)
  foreach(version 99 ${minor%.*}.$((${minor#*.} + 1)) ${minor%.*}.$((${minor#*.} - 1)) $minor.999 0.0...<$minor 99...100)
    find_package(\${name} \${version} QUIET)
    if(\${name}_FOUND)
      message(SEND_ERROR "\${name} \${version} is found")
    endif()
  endforeach()
  foreach(version $minor $version 0.0...99 0.0...$version $version...<99)
    find_package(\${name} \${version} REQUIRED)
    if(NOT \${name}_VERSION STREQUAL "$version")
      message(SEND_ERROR "\${name} \${version} is \${\${name}_VERSION}")
    endif()
  endforeach()
  find_package(\${name} $version EXACT REQUIRED)
  find_package(\${name} REQUIRED)
  set(CMAKE_DISABLE_FIND_PACKAGE_CURL ON)
  find_package(\${name} QUIET COMPONENTS etcd)
  if(\${name}_FOUND)
    message(SEND_ERROR "\${name} has a component etcd without libcurl")
  endif()
  find_package(\${name} REQUIRED OPTIONAL_COMPONENTS etcd)
endforeach()
get_target_property(links sno::sno INTERFACE_LINK_LIBRARIES)
if(NOT links STREQUAL flake::flake)
  message(SEND_ERROR "sno::sno links \${links}")
endif()
END_OF_FILE
cmake_versions() { CMAKE_PREFIX_PATH=$ids cmake -S "$dir/versions-of" -B "$dir/versions-of/build"; }
if has cmake; then judge cmake_versions cmake_versions; else skip "cmake_versions: cmake is not installed"; fi

# ---- Meson ----

echo "dependency('sno')" >> "$dir/builds/meson/meson.build"
variant meson meson-installed
rm -r "$dir/builds/meson-installed/subprojects"
try meson "meson ninja git"
# Meson did not find a flake of this machine.
if [ -d "$dir/builds/meson/build" ]; then judge meson_by_its_wrap [ -e "$dir/builds/meson/subprojects/flake/flake.h" ]; fi
try meson-installed "meson ninja pkg-config" PKG_CONFIG_PATH="$ids/share/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dir/moved"

# ---- Bazel: Debian's, whose rules for C need adapting ----

rules=/usr/share/bazel/rules
fit_bazel() {
    cp -R $rules/cc "$dir/rules_cc" &&
        sed -i 's/, "use_cpp_toolchain"//; s|= use_cpp_toolchain()|= ["@bazel_tools//tools/cpp:toolchain_type"]|' \
            "$dir"/rules_cc/cc/private/rules_impl/*.bzl
    {
        echo "startup --batch --host_jvm_args=-XX:TieredStopAtLevel=1 --output_user_root=$dir/bazel"
        echo "build --override_repository=rules_cc=$dir/rules_cc"
        echo "build --override_repository=rules_java=$rules/java --override_repository=rules_proto=$rules/proto"
        echo "build --override_repository=platforms=/usr/share/bazel/platforms"
    } > "$HOME/.bazelrc"
}
if has bazel && [ -d $rules/cc ]; then
    fit_bazel
    try bazel "bazel git"
    chmod -R u+w "$dir/bazel" # so that it can be removed
else skip "bazel: the packages bazel-bootstrap and bazel-rules-cc are not installed"; fi

# ---- vcpkg, Conan ----

for folder in vcpkg conan; do cp "$dir/builds/find_package/CMakeLists.txt" "$dir/builds/$folder"; done
printf 'find_package(sno REQUIRED)\ntarget_link_libraries(app PRIVATE sno::sno)\n' >> "$dir/builds/vcpkg/CMakeLists.txt"
# Without vcpkg its port is run as a plain script.
cat > "$dir/port.cmake" << END_OF_FILE
function(vcpkg_from_git)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_SOURCE_PATH;URL;REF" "")
  execute_process(COMMAND git clone -q "\${arg_URL}" "$dir/port" RESULT_VARIABLE failed)
  execute_process(COMMAND git -C "$dir/port" checkout -q "\${arg_REF}" RESULT_VARIABLE failed_too)
  if(failed OR failed_too)
    message(FATAL_ERROR "no \${arg_REF} in \${arg_URL}")
  endif()
  set(\${arg_OUT_SOURCE_PATH} "$dir/port" PARENT_SCOPE)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL \${arg_FILE_LIST} DESTINATION "\${CURRENT_PACKAGES_DIR}/share/flake")
endfunction()
set(CURRENT_PACKAGES_DIR "$dir/package")
set(VERSION $version)
set(PORT flake)
include("$dir/builds/vcpkg/ports/flake/portfile.cmake")
END_OF_FILE
vcpkg_port() { cmake -P "$dir/port.cmake" && builds vcpkg VCPKG_ROOT=/ CMAKE_PREFIX_PATH="$dir/package"; }
if [ -x "$VCPKG_ROOT/vcpkg" ]; then try vcpkg "cmake git"
elif has cmake && has git; then
    skip "vcpkg: no VCPKG_ROOT; its port is run by cmake alone"
    sed 's/ -DCMAKE_TOOLCHAIN_FILE=.*//' "$dir/builds/vcpkg/commands" > "$dir/alone" && mv "$dir/alone" "$dir/builds/vcpkg/commands"
    judge vcpkg_port vcpkg_port
else skip "vcpkg: cmake or git is not installed"; fi
has conan && conan profile detect > /dev/null 2>&1
try conan "conan cmake git"

# Each way of the pages has been tried, or is listed as skipped.
each_is_tried() {
    for folder in "$dir"/builds/*; do
        case $told in *" $(basename "$folder") "*) ;; *) echo "$folder"; false ;; esac || return
    done
}
judge each_is_tried each_is_tried
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
