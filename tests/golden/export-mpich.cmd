# Selection files for MPICH 4.0: what they add to MPICH's own tree, and trees that it would abort on.
export SOURCE_DATE_EPOCH=0
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
own=scenarios/libraries/mpich-4.0/generic.json
ask() { portolan export --for mpich-4.0 --machine lassen-spectrum-refit "$@" 2>&1 | sed "s/cksum [0-9]*/cksum .../;s|$dir/||"; }
ask --nodes 2:4 --gpus-per-node 4 --bytes 4:4MiB --out "$dir/rules"
ask --nodes 8 --gpus-per-node 1 --collective allreduce --bytes 4:4MiB --out "$dir/rules" --force
tr -d ' \n' <$own >"$dir/own"
tr -d ' \n' <"$dir/rules" | sed 's/"collective=/\n&/g' | diff - <(sed 's/"collective=/\n&/g' "$dir/own")
ask --nodes 8 --gpus-per-node 1 --collective allreduce --bytes 4:256KiB:4 --check "$dir/rules"
ask --nodes 8 --gpus-per-node 1 --collective allreduce --bytes 4:256KiB:4 --check $own
ask --nodes 1 --gpus-per-node 4 --collective allreduce --bytes 1KiB --check $own
# The limit of `comm_size<8` in alltoall holds for 8 ranks too; sizes whose totals exceed an int.
ask --nodes 8 --gpus-per-node 1 --collective alltoall --bytes 64:512:2 --check $own
ask --nodes 2 --gpus-per-node 4 --collective alltoall --bytes 1MiB:8GiB --out "$dir/rules" --force | grep bytes:
grep -c 'avg_msg_size<2147483647"' "$dir/rules"
# In this tree the limit of 8 would begin to hold for 8 ranks if the branch moved.
sed '/collective=allgather"/,/comm_type=inter/{s/comm_size=pow2/comm_size<8/;/comm_size</,/comm_size=any/s/ring/brucks/}' $own >"$dir/generic"
ask --nodes 8 --gpus-per-node 1 --collective allgather --generic "$dir/generic" --out "$dir/rules" --force | tail -1
wrong() { # SED'S COMMAND
    sed "$1" $own >"$dir/rules"
    ask --nodes 2 --gpus-per-node 1 --collective broadcast --bytes 64 --check "$dir/rules"
}
wrong 's/comm_size<8/comm_size<eight/'
wrong 's/comm_size<8/comm_avg_ppn<8/'
wrong 's/avg_msg_size<=12288/avg_msg_size<=99999999999/'
wrong 's/algorithm=MPIR_Bcast_intra_smp/algorithm=Bcast/'
wrong 's/comm_type=inter/comm_type=intra/'
wrong 's/collective=scan"/collective=prefix"/'
wrong '0,/is_commutative=no/s//is_node_consecutive=no/'
wrong '0,/avg_msg_size=any/s//avg_msg_size<9/'
wrong '0,/"algorithm=MPIR_Bcast_intra_smp":{}/s///'
wrong '20q'
echo '[]' >"$dir/list"
ask --nodes 2 --check "$dir/list"
ask --nodes 2 --generic "$dir/list"
ask --nodes 2 --generic "$dir/none"
