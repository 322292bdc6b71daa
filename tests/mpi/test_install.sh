#!/usr/bin/env bash
# An installed copy, used from outside the tree: programs that find their machines wherever the copy is moved to,
# programs built against it with pkg-config, with shared and with static libraries, and uninstalling.
# The five examples build and run.
# BUILD: where everything was built (default build). MPICC, MPIRUN: as in `make` (default mpicc, mpirun).
# Exits 77 where pkg-config or mpirun is missing.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
: "${BUILD:=build}" "${MPICC:=mpicc}" "${MPIRUN:=mpirun}"
needs "$MPIRUN" pkg-config
tree=$PWD
run_check() { quietly "$@"; }
make_() { env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory BUILD="$BUILD" MPICC="$MPICC" "$@"; }

# --- installing

prefix=$work/prefix
cp -r "$BUILD/flags" "$work/flags"
check "it installs after a plain build" make_ install PREFIX="$prefix"
cp "$work/stdout" "$work/install.log"
rebuilt() {
    grep -m 15 -E '^  (CC|LD|NVCC|AR) ' "$work/install.log" && diff -r "$work/flags" "$BUILD/flags" # perhaps the reason
}
check "another prefix rebuilds nothing" fails rebuilt
compiles() { make_ -n "$@" build | grep -c ' -c model/.*\.c '; } # how many of the library's files
check "changed flags rebuild" test "$(compiles CFLAGS=-O0)" -gt 50
check "and the same ones nothing" test "$(compiles || true)" -eq 0
check "DESTDIR stages the same files" make_ install PREFIX="$prefix" DESTDIR="$work/stage"
check "and no others" diff <(cd "$prefix" && find . | sort) <(cd "$work/stage$prefix" && find . | sort)
check "LIBDIR places the libraries" make_ install PREFIX="$work/multi" LIBDIR="$work/multi/lib/here"
check "and their .pc files say so" grep -qx 'libdir=${prefix}/lib/here' "$work/multi/lib/here/pkgconfig/portolan-exec-mpi.pc"
for program in "$prefix"/bin/*; do
    check "${program##*/} has a man page" test -e "$prefix/share/man/man1/${program##*/}.1"
done
for page in man3/libportolan.3 man7/libportolan-mpi.7 man7/libportolan-profile.7 man7/libportolan-nccl-tuner.7; do
    check "$page is installed" test -e "$prefix/share/man/$page"
done

# --- machines are found from the program's own path

knows() { (cd / && "$1/bin/portolan" list machines) | grep "^    $1/share/portolan/machines/h200-x4.yaml"; }
check "the installed program finds its machines from any folder" knows "$prefix"
mv "$prefix" "$work/moved"
check "and after it was moved" knows "$work/moved"
mv "$work/moved" "$prefix"
built_knows() { (cd / && "$(readlink -f "$tree/$BUILD")/portolan" list machines) | grep -q '^    .*/scenarios/machines/h200-x4.yaml'; }
if [ "$(readlink -f "$BUILD/..")" = "$tree" ]; then
    check "the program in the tree finds the tree's from any folder" built_knows
fi
mkdir -p "$work/data/machines"
sed 's/^name: .*/name: mine/' scenarios/machines/h200-x4.yaml >"$work/data/machines/mine.yaml"
named() { (cd / && PORTOLAN_DATA=$work/data "$prefix/bin/portolan" pick --machine mine --collective allreduce --nodes 1 --bytes 64); }
check "PORTOLAN_DATA adds a folder of machines" named

# --- scenarios and workloads by name; what help, man pages and the README tell to run, in an empty folder

mkdir "$work/empty"
for file in share/bash-completion/completions/portolan share/bash-completion/completions/portolan-validate \
    share/zsh/site-functions/_portolan share/doc/portolan/how-to/open-mpi.md; do
    check "$file is installed" test -s "$prefix/$file"
done
# Continued lines are joined. What starts MPI programs, or reads files that the reader is to have, is left out.
told() {
    {
        for command in $("$prefix/bin/portolan" --help | awk '/^commands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }'); do
            "$prefix/bin/portolan" help "$command"
        done
        "$prefix/bin/portolan" --help
        sed 's/\\e$/\\/; s/\\-/-/g' "$prefix"/share/man/man*/*
        sed 's/^\$ //; s,^build/,,' "$tree/README.md"
    } | awk '{ while (sub(/\\$/, "") && (getline more) > 0) $0 = $0 more } 1' |
        sed -n 's/^ *\(portolan [a-z].*\)/\1/p' | grep -E "^portolan [a-z]+ ([a-z0-9-]+|--machine [a-z0-9-]+) ?([^<|>]*)$" |
        grep -vE '^portolan (run|fit|replay|score|completion) |mine|my-cluster|MACHINE|NAME|[a-z]\.(yaml|csv|json)|offers|^portolan [a-z]+ +[A-Z]| \.\.\.' | sort -u
}
told >"$work/told"
check "they tell to run a lot" test "$(wc -l <"$work/told")" -ge 25
while IFS= read -r line; do
    works() { (cd "$work/empty" && PATH=$prefix/bin:$PATH patiently 120 bash -c "$line"); }
    check "$line" works
done <"$work/told"

# --- the how-tos: their links lead to what is installed, and their commands run beside them

how_to=$prefix/share/doc/portolan/how-to
linked() { grep -ohE '\]\([^)#]*' "$how_to"/*.md | sed 's/^](//' | grep -v '^https\?:' | sort -u; }
gone() { linked | while IFS= read -r file; do [ -e "$how_to/$file" ] || echo "$file"; done; }
check "links of how-tos lead to files" test -z "$(gone)"
check "one, at least" test -n "$(linked)"
# But for the one that is shown with its refusal.
sed -n 's/^\$ //p' "$how_to"/*.md | grep -v 'cpu-2x64-200g .*--gpus-per-node' >"$work/shown"
check "how-tos show commands" test "$(wc -l <"$work/shown")" -ge 12
while IFS= read -r line; do
    works() { (cd "$how_to" && PATH=$prefix/bin:$PATH patiently 120 bash -c "$line"); }
    check "$line" works
done <"$work/shown"

# --- building against it

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# A copy without shared libraries, so that the linker takes the static ones.
cp -r "$prefix" "$work/static"
rm "$work"/static/lib/*.so*
sed -i "s|^prefix=.*|prefix=$work/static|" "$work"/static/lib/pkgconfig/*.pc

build() { # OUTPUT COMPILER SOURCE PACKAGE
    # shellcheck disable=SC2046
    "$2" -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags "$4") "$3" -o "$1" $(pkg-config --libs "$4")
}
build_static() {
    local -x PKG_CONFIG_PATH=$work/static/lib/pkgconfig
    # shellcheck disable=SC2046
    "$2" -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags "$4") "$3" -o "$1" $(pkg-config --static --libs "$4")
}
run() { # PROCESSES PROGRAM ARGUMENTS...
    local processes=$1 oversubscribe=(--oversubscribe)
    shift
    "$MPIRUN" --version 2>/dev/null | grep -q 'Open MPI' || oversubscribe=()
    LD_LIBRARY_PATH=$prefix/lib patiently 120 "$MPIRUN" -n "$processes" "${oversubscribe[@]}" "$@"
}
no_ours() { ! ldd "$1" | grep -q portolan; }

says() { run "$1" "${@:4}" | tee /dev/stderr | grep -c -- "$2" | grep -qx "$3"; } # PROCESSES PATTERN LINES PROGRAM ...

# example NAME PACKAGE COMPILER PROCESSES PATTERN LINES ARGUMENT...
example() {
    local name=$1 package=$2 compiler=$3 source=$tree/docs/examples/$1.c
    shift 3
    check "$name builds against the shared libraries" build "$work/$name" "$compiler" "$source" "$package"
    check "and does what it says" says "$1" "$2" "$3" "$work/$name" "${@:4}"
    check "$name builds against the static libraries" build_static "$work/$name-static" "$compiler" "$source" "$package"
    check "and needs no shared library of ours" no_ours "$work/$name-static"
    check "and does what it says" says "$1" "$2" "$3" "$work/$name-static" "${@:4}"
}
machines=$(pkg-config --variable=machinesdir portolan)
cd "$work"
example predict portolan "${CC:-cc}" 1 '^cuda_aware: 570.5 us$' 1 "$machines/summit-spectrum.yaml"
example forked portolan-exec "${CC:-cc}" 1 ': 10$' 4
example allreduce portolan-exec-mpi "$MPICC" 3 ': 6$' 3
example execute portolan-exec-mpi "$MPICC" 3 ': 6$' 3 "$machines/h200-x4.yaml"
example stream portolan-exec-mpi "$MPICC" 3 '^6$' 3 "$machines/h200-x4.yaml" host
example strategy portolan-exec-mpi "$MPICC" 3 'rank [012]: right$\|^proved: 4 stages; price: [0-9.]* us; simulated: [1-9][0-9.]* us$\|copy to pageable memory$' 5 \
    "$machines/h200-x4.yaml"
cd "$tree"

# --- what the installed headers keep to themselves

compile() { printf '#include <portolan/pick.h>\n%s\n' "$1" | "${CC:-cc}" -std=c11 -fsyntax-only "-I$prefix/include" -x c - 2>"$work/stderr"; }
check "an installed machine is a pointer" compile 'pto_machine_t *machine;'
no_size() { ! compile 'int size[sizeof(pto_machine_t)];' && grep -q incomplete "$work/stderr"; }
check "and its structure is not to be seen" no_size

# --- what the shared libraries export: what the installed headers declare, what the executor needs besides, and nothing else

undeclared() {
    local symbol
    nm -D --defined-only "$prefix/lib/libportolan.so" "$prefix"/lib/libportolan-{fit,exec,exec-mpi}.so | awk 'NF == 3 { print $3 }' |
        while read -r symbol; do
            grep -qrw -- "$symbol" "$prefix/include/portolan" model/internal/portolan/{lines,policy}.h || echo "$symbol is exported, and no header declares it"
        done
}
nothing_undeclared() { undeclared | tee /dev/stderr | wc -l | grep -qx 0; }
check "the shared libraries export what headers declare alone" nothing_undeclared
check "and pto_plan_create is among them" grep -qx pto_plan_create <(nm -D --defined-only "$prefix/lib/libportolan.so" | awk '{ print $3 }')

# --- the Python module with the installed library

in_python() { (cd / && PORTOLAN_LIBRARY=$prefix/lib/libportolan.so.0 PYTHONPATH=$tree/python python3 -B -c "$1"); }
if command -v python3 >/dev/null; then
    check "Python finds the installed machines" in_python 'import portolan; portolan.Machine("h200-x4").group()'
    check "and the fit" in_python "import portolan; portolan.fit('$tree/tests/fixtures/samples.csv')"
fi

# --- uninstalling

check "it uninstalls" make_ uninstall PREFIX="$prefix"
check "and leaves no file" test -z "$(find "$prefix" -type f -o -type l)"

finish
