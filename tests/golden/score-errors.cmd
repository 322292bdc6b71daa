# Wrong arguments and wrong files: the error on standard error, nothing on standard output, and the exit code.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
good=$PWD/tests/fixtures/collectives.csv
try() {
    local out status=0
    out=$(portolan score "$@" 2>"$dir/err") || status=$?
    sed "s|$dir/||" "$dir/err"; echo "  exit $status, ${#out} bytes on standard output"
}
try "$good"
try --machine summit-spectrum
try --machine no/such/machine.yaml "$good"
try --machine summit-spectrum "$good" --statistic mean
try --machine summit-spectrum "$good" --min-bytes 1KX
try --machine summit-spectrum "$good" --min-bytes 1GiB
try --machine summit-spectrum "$good" --skip three_step
try --machine summit-spectrum "$good" --skip mpi:three_step
try --machine summit-spectrum "$good" --skip library:three_stpe
try --machine summit-spectrum "$good" --by bytes
try --machine summit-spectrum "$good" --format xml
try --machine summit-spectrum "$good" --colour
try --machine summit-spectrum "$good" --cells --statistic
try --machine summit-spectrum no-such.csv
bad() { sed "$1" "$good" >"$dir/bad.csv"; try --machine summit-spectrum "$dir/bad.csv"; }
bad '9s/,[^,]*$//'
bad '9s/,[^,]*$/,soon/'
bad '9s/,[^,]*$/,0/'
bad '9s/alltoall/alltoal/'
bad '9s/library/pairwise/'
bad '4s/,run//'
bad '4s/$/,extra/'
bad '2s/.*/# datatype=quarter/'
sed 's/machine=made-up/machine=another/' "$good" >"$dir/other.csv"
try --machine summit-spectrum "$good" "$dir/other.csv"
sed '/^alltoall,/!b; 9q' "$good" >"$dir/few.csv"
try --machine summit-spectrum "$dir/few.csv" --model-error
try --machine summit-spectrum "$good" --test nodes=3
try --machine summit-spectrum "$good" --train nodes=2,4
