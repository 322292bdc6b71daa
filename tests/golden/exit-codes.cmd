# 2 is wrong usage of an option; 1 is what failed: a file, a machine that cannot price it, or a full disk. By command,
# with the first words of what is not as listed.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
printf 'a: [\n' >"$dir/bad.yaml"; printf 'x,y\n1\n' >"$dir/bad.csv"
cat >"$dir/poor.yaml" <<'END'
machine: poor
source: a machine whose messages have no costs
node: {sockets: 1, gpus: 6, cores: 48}
END
asked="--collective alltoall --nodes 2 --bytes 1KiB" summit="--machine summit-spectrum" poor="--machine $dir/poor.yaml"
code() { "$@" >"$dir/out" 2>"$dir/err"; code=$?; }
# expect CODE WHAT COMMAND ARGUMENT...
expect() {
    local wanted=$1 what=$2; shift 2
    code portolan "$@"
    [[ $code == "$wanted" ]] && [[ $wanted == 0 || -s $dir/err ]] || echo "$1: $what: exit $code, not $wanted: $(head -1 "$dir/err")"
    seen="$seen $what $code,"
}
# try COMMAND ANSWERABLE WRONG-VALUE MISSING-FILE UNPARSABLE-FILE UNPRICEABLE, each a list of arguments; -: there is none
try() {
    local command=$1 seen=""
    expect 0 answered $command $2
    expect 2 "unknown option" $command $2 --nonsense
    [[ $7 == - ]] || expect 2 "missing value" $command $2 $7
    [[ $3 == - ]] || expect 2 "wrong value" $command $3
    [[ $4 == - ]] || expect 1 "missing file" $command $4
    [[ $5 == - ]] || expect 1 "unparsable file" $command $5
    [[ $6 == - ]] || expect 1 "nothing priceable" $command $6
    portolan $command $2 >/dev/full 2>"$dir/err"; code=$?
    [[ $code == 1 ]] || echo "$command: full disk: exit $code: $(head -1 "$dir/err")"
    echo "$command:$seen full disk $code"
}
of() { try "$1" "$summit $asked $2" "$summit $asked $2 $3" "no/such.yaml $2" "$dir/bad.yaml $2" "$poor $asked $2" --machine; }
of predict "" "--bytes 1KX"
of pick "" "--by speed"
of check "--strategy three_step" "--limit 0" | sed 's/ nothing priceable [01],//' # a proof needs no costs
of plan "--strategy three_step" "--rank 72"
of simulate "" "--strategy three_stpe"
of sensitivity "" "--gpus-per-node 7"
of upgrade "" "--only warp"
of traffic "--strategy three_step" "--what-if nodes=0"
of report "--out -" "--library brucks"
try map "$summit --collective alltoallv --counts skew:0.5:1 --nodes 2 --bytes 1KiB" "$summit $asked --with gready" no/such.yaml "$dir/bad.yaml" "$summit $asked" --hosts
fft=scenarios/workloads/fft-3d.yaml
try step $fft "$fft --nodes 2:4" no/such.yaml "$dir/bad.yaml" "$fft $poor" --machine
try replay "tests/fixtures/osu-h200-x2.txt --machine h200-x2 --nodes 1 --gpus-per-node 2" "tests/fixtures/osu-h200-x2.txt --machine h200-x2 --what-if warp=1" "no.txt --machine h200-x2" "$dir/bad.csv --machine h200-x2" "tests/fixtures/osu-h200-x2.txt $poor --nodes 1 --gpus-per-node 2" --from
try tune "--machine h200-x2 --bytes 64KiB" "--machine h200-x2 --procs-per-gpu 1" "--machine no/such.yaml" "--machine $dir/bad.yaml" "$poor" --bytes
try score "$summit tests/fixtures/collectives.csv" "$summit tests/fixtures/collectives.csv --by size" "$summit no.csv" "$summit $dir/bad.csv" "$poor tests/fixtures/collectives.csv" --skip
rules="--for openmpi-4.1 --nodes 2 --bytes 4:64"
try export "$rules --machine lassen-spectrum-refit" "$rules $summit --gpus-per-node 7" "$rules --machine no/such.yaml" "$rules --machine $dir/bad.yaml" "$rules $poor" --out
try fit "tests/fixtures/samples.csv --report" "tests/fixtures/samples.csv --node x" "no.csv --report" "$dir/bad.csv --report" - --out
try machine "new --name mine --cores 8" "new --name mine --cores 8 --host-memory 64" - - - --nic
try topology dgx-1 "dgx-1 --format xml" no/such.yaml "$dir/bad.yaml" - --machine
try list strategies strategy - - - -
PORTOLAN_DATA=$dir; export PORTOLAN_DATA; mkdir "$dir/machines"; cp "$dir/bad.yaml" "$dir/machines"
expect 1 "unparsable file" list machines
unset PORTOLAN_DATA
try completion bash fish - - - -
code portolan run $summit -- false; echo "run: what the program exits with: $code"
expect 2 "wrong value" run $summit --strategy nope -- true
expect 2 "no command" run $summit
expect 1 "missing file" run --machine no/such.yaml -- true
expect 1 "missing program" run $summit -- no-such-program
