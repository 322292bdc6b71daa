# Files that nobody meant as rules, and rules that were cut: --check says what is wrong, and where.
export SOURCE_DATE_EPOCH=0
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
machine="--machine lassen-spectrum-refit --nodes 2 --gpus-per-node 1 --collective allreduce"
portolan export --for openmpi-4.1 $machine --bytes 4:64KiB --out "$dir/openmpi-4.1"
portolan export --for mpich-4.0 $machine --bytes 4:64KiB --out "$dir/mpich-4.0" 2>/dev/null
portolan export --for nccl --machine h200-x4 --nodes 2 --out "$dir/nccl"
portolan export --for ucc --machine h200-x2 --nodes 1 --out "$dir/ucc"
portolan export --for cray --machine lassen-spectrum-refit --nodes 2 --out "$dir/cray"
: >"$dir/empty"
printf '\n\n \t\n' >"$dir/blank"
printf '1\000\n2\n' >"$dir/zeros"
printf '\177ELF\002\001\001\000' >"$dir/program"
printf '\377\376{\000' >"$dir/utf-16"
printf '1\n99999999999999999999\n' >"$dir/huge-number"
head -c 17000000 /dev/zero | tr '\0' '1' >"$dir/huge"
head -c 100000 /dev/zero | tr '\0' '[' >"$dir/deep"
mkdir "$dir/folder"
check() { # TARGET FILE
    portolan export --for "$1" $machine --bytes 64KiB --check "$dir/$2" 2>&1 | sed "s|$dir/||"
    return "${PIPESTATUS[0]}"
}
for target in openmpi-4.1 mpich-4.0 ucc cray; do
    echo "= $target"
    for file in empty blank zeros program utf-16 huge-number huge deep folder missing openmpi-4.1 mpich-4.0 nccl ucc cray; do
        [ $file = $target ] || check $target $file || [ $? = 1 ] || echo "exit $?"
    done
done
# The beginning of a file, cut anywhere, is an error with its line. Comments, and values that are cut between two
# settings or numbers, are not.
for target in openmpi-4.1 mpich-4.0 ucc cray; do
    size=$(wc -c <"$dir/$target") accepted=0 refused=0 other=0
    for ((end = 1; end < size; end += 1 + size / 40)); do
        head -c $end "$dir/$target" >"$dir/cut"
        text=$(check $target cut)
        case $? in
        0) accepted=$((accepted + 1)) ;;
        1) if [[ $text =~ ^cut:[0-9]+:[0-9]+:\  ]]; then refused=$((refused + 1)); else echo "$text"; fi ;;
        *) other=$((other + 1)) ;;
        esac
    done
    echo "= $target, cut $((refused + accepted + other)) times: $refused refused with a line, $accepted taken, $other crashed"
done
