#!/usr/bin/env bash
# deps.sh check|install DIR SET... : find the dependencies of each set. `check` reports missing packages and how
# to install them, and exits 1; `install` installs them with apt-get, as root or through sudo. DIR, if not empty,
# contains unpacked Debian packages. Sets: build, test, check, mpi; optional ones are map (the mapper of SCOTCH), page
# (a browser for the tests of reports) and wheel (the Python module's).
set -euo pipefail

action=$1 unpacked=$2
shift 2

include=()
[[ -n $unpacked ]] && include=(-isystem "$unpacked/usr/include")

has_program() { command -v "$1" >/dev/null 2>&1; }
has_header() { printf '#include <stdio.h>\n#include <stdint.h>\n#include <%s>\n' "$1" | cc -E "${include[@]}" -o /dev/null - >/dev/null 2>&1; }
has_module() { python3 -c "import $1" 2>/dev/null; }
has_protoc_c() { has_program protoc-c || [[ -n $unpacked && -x $unpacked/usr/bin/protoc-c ]]; }
# cmocka.h does not include the headers that it needs.
has_cmocka() {
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n' |
        cc -E "${include[@]}" -o /dev/null - >/dev/null 2>&1
}

missing=()
need() { # PACKAGE TEST...
    local package=$1
    shift
    "$@" || missing+=("$package")
}

need_set() {
    case $1 in
    build)
        need gcc has_program cc
        need libc6-dev has_header stdlib.h
        need libyaml-dev has_header yaml.h
        need libgsl-dev has_header gsl/gsl_version.h
        need libjansson-dev has_header jansson.h
        need zlib1g-dev has_header zlib.h
        need libexpat1-dev has_header expat.h
        need libprotobuf-c-dev has_header protobuf-c/protobuf-c.h
        need protobuf-c-compiler has_protoc_c
        ;;
    test)
        need g++ has_program "${CXX:-c++}"
        need libcmocka-dev has_cmocka
        need python3 has_program python3
        need python3-jsonschema has_module jsonschema
        need gnuplot-nox has_program gnuplot
        need zsh has_program zsh
        ;;
    check)
        need clang has_program clang
        need clang-format has_program clang-format
        need clang-tidy has_program clang-tidy
        need cppcheck has_program cppcheck
        ;;
    mpi)
        need libopenmpi-dev has_program mpicc
        need openmpi-bin has_program mpirun
        need libhwloc-dev has_header hwloc.h
        need pkg-config has_program pkg-config
        ;;
    map)
        need libscotch-dev has_header scotch/scotch.h
        ;;
    page)
        need chromium has_program chromium
        ;;
    wheel)
        need python3-setuptools has_module setuptools
        need python3-wheel has_module wheel
        ;;
    *)
        echo "deps.sh: unknown set: $1" >&2
        exit 2
        ;;
    esac
}

for set in "$@"; do need_set "$set"; done
((${#missing[@]} == 0)) && exit 0

if [[ $action == check ]]; then
    echo "Missing: ${missing[*]} (names of Debian packages). \`make deps\` installs them." >&2
    exit 1
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
    if has_program sudo; then as_root=(sudo); fi
fi

if ! has_program apt-get || [[ $(id -u) -ne 0 && ${#as_root[@]} -eq 0 ]]; then
    {
        echo "These Debian packages (or what your system calls them) are missing; please install them:"
        printf '    %s\n' "${missing[@]}"
        echo "Without root: unpack them into a folder (apt-get download, dpkg -x) and give it as DEPS=DIR."
    } >&2
    exit 1
fi

echo "Installing what is missing: ${missing[*]}"
echo "    ${as_root[*]:+${as_root[*]} }apt-get install --yes --no-install-recommends ${missing[*]}"
"${as_root[@]}" apt-get update --quiet=2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --quiet=2 --no-install-recommends "${missing[@]}" >/dev/null
