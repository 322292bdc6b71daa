dir=$(mktemp -d)
printf 'machine: mine\nsource: two machines\nnode: h200-x2\nnetwork: summit-spectrum\n' >$dir/mine.yaml
printf 'machine: faster\nsource: mine with a faster network\ninherits: mine.yaml\ninjection:\n  gpu: {s_per_byte: 50 GB/s}\n' >$dir/faster.yaml
portolan predict --machine $dir/faster.yaml --collective allreduce --nodes 4 --procs-per-gpu 1 --bytes 1MiB --strategy cuda_aware --explain | sed "s,$dir,DIR,g"
printf 'machine: loop\nsource: x\ninherits: ./loop.yaml\n' >$dir/loop.yaml
printf 'machine: none\nsource: x\nnode: nowhere\n' >$dir/none.yaml
for name in loop none; do portolan predict --machine $dir/$name.yaml --collective allreduce --nodes 2 --bytes 4 2>&1 | sed "s,$dir,DIR,g"; done
# A fit names what it inherits from the folder of the file that it writes.
mkdir $dir/m
portolan fit tests/fixtures/samples.csv --name root --out $dir/m/root.yaml
(cd $dir && portolan fit "$OLDPWD/tests/fixtures/samples.csv" --name below --inherits mine.yaml --out m/below.yaml && portolan fit "$OLDPWD/tests/fixtures/samples.csv" --name beside --inherits m/root.yaml --out m/beside.yaml && portolan fit "$OLDPWD/tests/fixtures/samples.csv" --name above --inherits m/root.yaml --out above.yaml)
grep -h '^inherits' $dir/m/below.yaml $dir/m/beside.yaml $dir/above.yaml
for name in m/below m/beside above; do portolan predict --machine $dir/$name.yaml --collective allreduce --nodes 2 --procs-per-node 1 --memory host --bytes 1KiB | grep KiB; done
rm -r $dir
