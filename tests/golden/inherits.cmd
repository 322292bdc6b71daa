dir=$(mktemp -d)
printf 'machine: mine\nsource: two machines\nnode: h200-x2\nnetwork: summit-spectrum\n' >$dir/mine.yaml
printf 'machine: faster\nsource: mine with a faster network\ninherits: mine.yaml\ninjection:\n  gpu: {s_per_byte: 50 GB/s}\n' >$dir/faster.yaml
portolan predict --machine $dir/faster.yaml --collective allreduce --nodes 4 --procs-per-gpu 1 --bytes 1MiB --strategy cuda_aware --explain | sed "s,$dir,DIR,g"
printf 'machine: loop\nsource: x\ninherits: ./loop.yaml\n' >$dir/loop.yaml
printf 'machine: none\nsource: x\nnode: nowhere\n' >$dir/none.yaml
for name in loop none; do portolan predict --machine $dir/$name.yaml --collective allreduce --nodes 2 --bytes 4 2>&1 | sed "s,$dir,DIR,g"; done
rm -r $dir
