# shellcheck shell=bash disable=SC2034 # for those who read this
# packages.sh, sourced: what the scripts of this folder share. They run outside CI and without portolan, on Debian 12
# (amd64). Packages are downloaded in exact versions and unpacked into a temporary folder; nothing is installed.
# Exit status of a script: 0 if the finding holds, 1 if it has changed, 77 if it cannot run here.
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
library=$root/usr/lib/x86_64-linux-gnu
failed=0

skip() {
    echo "cannot run: $*"
    exit 77
}

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || skip "not Debian on amd64"

# unpack PACKAGE=VERSION...: without dependencies
unpack() {
    mkdir -p "$work/debs" "$root"
    chmod 755 "$work" "$work/debs"
    (cd "$work/debs" && apt-get download -qq "$@" >"$work/download" 2>&1) ||
        skip "apt-get download $*: $(tail -1 "$work/download")"
    for package in "$work"/debs/*.deb; do
        dpkg -x "$package" "$root" || skip "dpkg -x ${package##*/}"
        rm "$package"
    done
}

# compile SOURCE PROGRAM [OPTION...]
compile() {
    local source=$1 program=$2
    shift 2
    cc -o "$program" "$source" -I"$root/usr/include" -I"$root/usr/include/x86_64-linux-gnu" "$@" \
        -L"$library" -Wl,-rpath,"$library" 2>"$work/compile" || skip "cc: $(tail -1 "$work/compile")"
}

# expect WHAT EXPECTED SEEN; what was seen may come from a subshell that called skip
expect() {
    if [[ $3 == *"cannot run: "* ]]; then
        echo "$1: $3"
        exit 77
    elif [ "$2" = "$3" ]; then
        echo "$1: $3"
    else
        echo "$1: $3, was $2"
        failed=1
    fi
}

# needs_gpus_and_torch GPUS
needs_gpus_and_torch() {
    [ "$(nvidia-smi -L 2>/dev/null | grep -c ^GPU)" -ge "$1" ] || skip "not $1 NVIDIA GPUs"
    python3 -c 'import torch' 2>/dev/null || skip "no PyTorch"
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1
    python3 -c 'import torch; print("PyTorch", torch.__version__, "NCCL", torch.cuda.nccl.version())'
}

# on_gpus PROCESSES SCRIPT: a process of PyTorch for each GPU
on_gpus() {
    local rank process status=0 processes=()
    export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000)) WORLD_SIZE=$1
    for ((rank = 0; rank < $1; rank++)); do
        RANK=$rank timeout 120 python3 "$2" 2>>"$work/log" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || status=$?; done
    return $status
}
