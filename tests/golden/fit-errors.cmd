# Samples that are wrong or too few: file:line:column: message, exit 1, nothing on standard output, no machine file.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cp tests/fixtures/samples.csv "$dir/good.csv"
try() {
    local out status=0
    out=$(cd "$dir" && portolan fit "$@" --name m --out m.yaml --report 2>err) || status=$?
    cat "$dir/err"; echo "  exit $status, ${#out} bytes on standard output, $(ls "$dir" | grep -c '^m\.yaml') machine files"
}
bad() { sed "$1" tests/fixtures/samples.csv >"$dir/bad.csv"; try bad.csv; }
bad '9s/,[^,]*$//'
bad '9s/,[^,]*$/,fast/'
bad '9s/,\([^,]*\)$/,-\1/'
bad '9s/,[^,]*$/,0/'
bad '9s/,[^,]*$/,inf/'
bad '9s/cpu/tpu/'
bad '9s/off_node/far/'
bad '9s/$/,7/'
bad '5s/,run//'
bad '5s/procs/processes/'
bad '5s/$/,extra/'
bad '5d'
bad '5q'
sed 's/machine=made-up/machine=another/' tests/fixtures/samples.csv >"$dir/other.csv"
try good.csv other.csv
sed 's/mpi=none/mpi=another/' tests/fixtures/samples.csv >"$dir/other.csv"
try good.csv other.csv
try gone.csv
# Too little: of messages, and of what a node is.
bad '/ping_pong/d'
bad '/^# node=/d'
bad 's/4 GPUs, //'
try good.csv --breaks cpu.off_node=600,700
# Without any cost of messages, an error that names it.
sed '/^injection\|^ping_pong,gpu\|^ping_pong,.*,on_/d' tests/fixtures/samples.csv >"$dir/few.csv"
try few.csv --breaks cpu.off_node=600,700
# A machine file that exists stays as it is without --force.
echo 'mine' >"$dir/m.yaml"
try good.csv
cat "$dir/m.yaml"
# A file of what differs takes no collectives, and needs no messages.
try good.csv --inherits h200-x2 --collectives good.csv
(cd "$dir" && portolan fit few.csv --breaks cpu.off_node=600,700 --name m --inherits h200-x2 --out - | grep -c '^inherits: "h200-x2"$')
