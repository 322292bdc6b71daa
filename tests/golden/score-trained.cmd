# A machine file says what its terms were fitted to (2 of the 2 and 4 nodes of this file): the rest is scored, beside
# baselines that learned from the 2 nodes. --in-sample scores all. --model-error is a key for another machine's file.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
measured=tests/fixtures/collectives.csv
portolan fit tests/fixtures/samples.csv --collectives $measured --train nodes=2 --node gpus=6,cores=40,sockets=2 --name m --out "$dir/fit.yaml"
cp scenarios/machines/summit-spectrum.yaml "$dir/m.yaml"
sed -n '/^fitted_to/,/digest/p' "$dir/fit.yaml" | tee -a "$dir/m.yaml"
score() { portolan score --machine "$dir/m.yaml" $measured "$@" | sed "s|$dir/||"; }
score | grep '^#' | head -7
score --baselines --format csv | grep ^all
score --in-sample | sed -n '/^# in sample/p; /^all$/,$p' | head -4
score --train nodes=2 --test nodes=2 --cells --format csv | cut -d, -f1-3,5,21-24 | sort -u
score --model-error
score --model-error --test nodes=4 2>&1 | head -1
