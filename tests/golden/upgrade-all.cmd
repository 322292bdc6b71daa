# Every machine that ships: what a second NIC and a faster network save, or what its file lacks.
for file in scenarios/machines/*.yaml; do
    machine=$(basename "$file" .yaml)
    [ "$machine" = host-nodes-tcp ] && one="--procs-per-node 1" || one=
    for collective in allreduce alltoall broadcast; do
        out=$(portolan upgrade --machine "$machine" $one --collective $collective --nodes 4 --bytes 1MiB --format csv 2>&1) && status=0 || status=$?
        if [ $status = 0 ]; then
            [ "$(awk -F, '/^(twice the NICs|network twice as fast),/ && $2 > 0 && $5 >= 0' <<<"$out" | wc -l)" = 2 ] ||
                echo "$machine $collective: no price: $out"
        elif grep -q 'off_node:' "$file" || ! grep -q "machine $machine has no network (messages.cpu.off_node" <<<"$out"; then
            echo "$machine $collective: not refused for want of a network: $out"
        fi
    done
done
portolan upgrade --machine dgx-h100 --collective broadcast --nodes 4 --bytes 1MiB | grep -v '^# machine\|^# layout\|^# library'
portolan upgrade --machine abci-a --collective broadcast --nodes 4 --bytes 1MiB | grep -v '^# machine\|^# layout\|^# library'
portolan upgrade --machine h200-x2-graph --collective allreduce --nodes 4 --bytes 1MiB 2>&1
