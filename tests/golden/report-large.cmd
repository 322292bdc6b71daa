# Strategies whose prices would take too long are left out, with the reason on the page; no page if no other applies.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
page() {
    portolan report --machine summit-spectrum --collective alltoallv --implementation isend_irecv --nodes 2 --procs-per-gpu 6 --bytes 1KiB:16KiB:4 --counts skew:0.5:1 "$@" --out "$dir/page.html" --force 2>&1 || return
    python3 -B - "$dir/page.html" <<'PYTHON'
import json, re, sys
data = json.loads(re.search(r'id="data">\n(.*?)\n</script>', open(sys.argv[1]).read(), re.S)[1])
print(*data.get("notes", ["nothing is left out"]))
print(" ", *(strategy["name"] for strategy in data["strategies"]))
PYTHON
}
for limit in 100 400000 1000000 100000000; do page --limit $limit; done; page --limit 1000000 --strategy three_step,extra_message
