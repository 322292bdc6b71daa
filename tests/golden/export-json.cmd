# Open MPI 6.0's rules, read back: its own file says what the classic one does, and what it would ignore is an error.
export SOURCE_DATE_EPOCH=0
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
machine="--machine lassen-spectrum-refit --nodes 1:4"
for target in openmpi-4.1 openmpi-6; do
    for collective in allgather alltoall allreduce; do
        portolan export --for $target $machine --collective $collective --bytes 4:4MiB --out "$dir/$target" --force 2>/dev/null
        portolan export --for $target $machine --collective $collective --bytes 4:4MiB --check "$dir/$target"
    done | grep -v '^# portolan' >"$dir/$target.checked"
done
cmp "$dir/openmpi-4.1.checked" "$dir/openmpi-6.checked" && grep -c . "$dir/openmpi-6.checked"
check() { # TEXT [COLLECTIVE] [BYTES] [NODES]
    printf '%s' "$1" >"$dir/rules"
    portolan export --for openmpi-6 --machine lassen-spectrum-refit --nodes "${4:-2}" --collective "${2:-allreduce}" \
        --bytes "${3:-1KiB:1MiB:32}" --check "$dir/rules" 2>&1 | sed "s|$dir/||"
}
file() { # COLLECTIVE COMMUNICATORS [VERSION]
    echo "{\"rule_file_version\": ${3:-3}, \"module\": \"tuned\", \"collectives\": {\"$1\": [$2]}}"
}
# The first range that holds; numbers and names; no rule; segments; an algorithm without a price.
check "$(file allreduce '{"rules": [{"msg_size_max": 1024, "alg": 4}, {"msg_size_min": 32768, "msg_size_max": 32768, "alg": "recursive_doubling"}, {"msg_size_min": 2000, "msg_size_max": "inf", "alg": "rabenseifner", "seg_size": 4096}]}')"
check "$(file allreduce '{"rules": [{"msg_size_min": 1025, "msg_size_max": 1048575, "alg": "nonoverlapping"}, {"alg": 7}]}')"
# Sizes of all ranks' blocks: 8 of them, up to 1 KiB each, and one byte of it more or less.
for most in 8191 8192 8199; do
    for bytes in 1024 1025; do
        echo "$most: $(check "$(file alltoall "{\"rules\": [{\"msg_size_max\": $most, \"alg\": \"linear\"}, {\"alg\": \"pairwise\"}]}")" alltoall $bytes | grep '%$')"
    done
done
# Communicators: the first one that holds, by number of ranks and by distribution.
check "$(file allreduce '{"comm_size_max": 7, "rules": [{"alg": 4}]}, {"comm_rank_distribution": "single-node", "rules": [{"alg": 4}]}, {"comm_size_min": 8, "comm_rank_distribution": "any", "rules": [{"alg": 3}]}, {"rules": [{"alg": 6}]}')" allreduce 1KiB
check "$(file allreduce '{"comm_rank_distribution": "single-node", "rules": [{"alg": 3}]}')" allreduce 1KiB 1
check "$(file bcast '{"rules": [{"alg": "binomial"}]}')" allreduce 1KiB
# What it would ignore.
check "$(file reducescatter '{"rules": [{"alg": 3}]}')"
check "$(file allreduce '{"rules": [{"alg": 3, "segsize": 4096}]}')"
check "$(file allreduce '{"comm_rank_distribution": "one", "rules": [{"alg": 3}]}')"
check "$(file allreduce '{"rules": []}')"
check "$(file allreduce '{"rules": [{"msg_size_min": 9, "msg_size_max": 8, "alg": 3}]}')"
check "$(file allreduce '{"rules": [{"msg_size_max": "all", "alg": 3}]}')"
check "$(file allreduce '{"rules": [{"msg_size_max": 8}]}')"
check "$(file allreduce '{"rules": [{"alg": "\u001b[2J"}]}')"
check "$(file allreduce '7')"
check "$(file allreduce '{"rules": [{"alg": 3}]}' 2)"
check '{"rule_file_version": 3, "module": "han", "collectives": {}}'
check '{"rule_file_version": 3, "module": "tuned"}'
check '{"rule_file_version": 3, "module": "tuned",
 "collectives": {'
# Algorithms that Open MPI does not have: 6.0 ignores the rule, 4.1 fails in the call. Allgather's bruck has another name in 6.0.
check "$(file allreduce '{"rules": [{"alg": "recursive_doublin"}]}')"
check "$(file allreduce '{"rules": [{"alg": 8}]}')"
check "$(file allgather '{"rules": [{"alg": "bruck"}]}')" allgather
check "$(file allgather '{"rules": [{"alg": "bruck-k-fanout"}]}')" allgather 1KiB
portolan export --for openmpi-6 --machine lassen-spectrum-refit --nodes 12 --gpus-per-node 1 --collective allgather --bytes 4 --out "$dir/bruck" 2>/dev/null && grep -o '"alg.*' "$dir/bruck"
for target in openmpi-4.1 openmpi-5.0; do
    for algorithm in 7 8; do
        printf '1\n2\n1\n8\n1\n0 %d 0 0\n' $algorithm >"$dir/rules"
        portolan export --for $target --machine lassen-spectrum-refit --nodes 2 --collective allreduce --bytes 1KiB --check "$dir/rules" 2>&1 | sed "s|$dir/||" | grep -v '^# '
    done
done
