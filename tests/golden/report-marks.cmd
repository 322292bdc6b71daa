# What the page of a workload says of its picks: near-tie and cost that is lacking of the cheapest of each call alone;
# what the step takes, what makes that unsure, and whether it was chosen together with other calls; what is extrapolated.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
printf 'workload: one call\nlayout: {nodes: 2}\nstep:\n  - {collective: allreduce, bytes: 1MiB}\n' >"$dir/one.yaml"
marks() {
    portolan report "$@" --out "$dir/page.html" --force >/dev/null
    python3 -B - "$dir/page.html" <<'PYTHON'
import json, re, sys
data = json.loads(re.search(r'id="data">\n(.*?)\n</script>', open(sys.argv[1]).read(), re.S)[1])
name = lambda strategy: data["strategies"][strategy]["name"]
for panel in data["panels"]:
    row = panel["rows"][0]
    for value, call, said in zip(panel["values"], row["calls"], row["ranges"]):
        route, unsure, together = call["route"]
        print(f"{value}: {said[:3]}, lacks {said[4]}; {name(route)}, lacks {unsure}, together {together};",
              "extrapolated", sorted({cell["x"] for cell in call["cells"] if "x" in cell}))
PYTHON
}
for workload in fft-3d stencil-cg fsdp; do marks scenarios/workloads/$workload.yaml --sliders 1; done
for machine in dgx-h100 "h200-x2 --what-if injection.gpu.s_per_byte=2e-11"; do marks "$dir/one.yaml" --machine $machine --sliders 1; done
