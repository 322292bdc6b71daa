# Fits of made-up samples of all benchmarks, whose costs tests/made_samples.py says: with little noise, with much, and by
# the minima of each size. A job that is slow is left out.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
fit() { portolan fit "$dir/$1.csv" --name m --out "$dir/m.yaml" --force --report --all "${@:2}" | sed 's/ *$//'; }
python3 -B tests/made_samples.py 1 0.02 >"$dir/little.csv"
fit little
sed -n '/^reduce/,$p' "$dir/m.yaml"
python3 -B tests/made_samples.py 2 0.25 >"$dir/much.csv"
fit much
python3 -B tests/made_samples.py 3 0.05 | awk -F, -v OFS=, '$1 == "ping_pong" && $8 == 4 { $9 = $9 * 1.4 } { print }' >"$dir/slow.csv"
fit slow | sed -n '/job/,/messages.cpu.off_node/p'
fit slow --minima --breaks cpu.off_node=512,16384 --breaks cpu.on_socket=4096
