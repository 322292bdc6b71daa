# A strategy has its colour on every page, whichever others are there; what gnuplot gets, without gnuplot.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
printf '#!/bin/sh\ncat >>%s/scripts; echo drawn\n' "$dir" >"$dir/gnuplot"
chmod +x "$dir/gnuplot"
PATH=$dir:$PATH
here="--machine h200-x4 --collective allreduce --bytes 1KiB:64MiB:16"
portolan predict $here --nodes 1 --plot "$dir/a.svg" >/dev/null
portolan predict $here --nodes 1 --strategy nccl,gas_split,cuda_aware --plot "$dir/a.svg" >/dev/null
portolan predict $here --nodes 1 --strategy cuda_aware,gas_read --bytes 1KiB --plot "$dir/a.svg" >/dev/null
portolan predict $here --nodes 1:2 --plot "$dir/a.svg" >/dev/null
portolan predict --machine summit-spectrum --collective alltoall --nodes 4 --bytes 1KiB:64KiB:4 --plot "$dir/a.svg" >/dev/null
portolan report $here --nodes 1 --out "$dir/a.html"
portolan report $here --nodes 1 --strategy gas_split,nccl --out "$dir/b.html"
{
    sed -n "s/.* lc rgb '\(#[0-9A-F]*\)' title '\([a-z][a-z_]*\)'.*/\2 \1/p" "$dir/scripts"
    cat "$dir"/*.html | grep -o '"name": "[a-z_]*", "what": "[^"]*", "color": "#[0-9A-F]*"' | sed 's/"name": "\([a-z_]*\)".*"color": "\(.*\)"/\1 \2/'
} | sort >"$dir/all"
uniq -c "$dir/all" | awk '{ print ($1 > 1 ? "several times" : "once"), $2, $3 }'
echo "two colours:" $(sort -u "$dir/all" | cut -d ' ' -f 1 | uniq -d)
echo "the same colour:" $(sort -u "$dir/all" | cut -d ' ' -f 2 | sort | uniq -d)
