# Picks that the page's own measurements refute: the faster strategy and its time, against the pick's own times or its price.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
{ sed -n '/^#/p; /^collective,/p' validate/results/h200-x4/collectives.csv
  grep '^allreduce,library,[a-z_]*,1,4,1,\(1024\|65536\|1048576\),' validate/results/h200-x4/collectives.csv; } >"$dir/all.csv"
# One of the picks three times as slow, the other not measured where it is the pick, and a rival half as slow there.
awk -F, -v OFS=, '/^#|^collective/ { print; next } $3 == "gas_allgather" { $9 *= 3 } $3 == "gas_read" { $9 /= 2 } !($3 == "gas_split" && $7 == 1048576)' "$dir/all.csv" >"$dir/some.csv"
for file in all some; do
    portolan report --machine h200-x4 "$dir/$file.csv" --sliders 1 --out "$dir/page.html" --force >/dev/null
    python3 -B - "$dir/page.html" <<'PYTHON'
import json, re, sys
data = json.loads(re.search(r'id="data">\n(.*?)\n</script>', open(sys.argv[1]).read(), re.S)[1])
name = lambda strategy: data["strategies"][strategy]["name"]
for panel in data["panels"]:
    for row in panel["rows"]:
        for column, value in enumerate(panel["values"]):
            least = {}
            for strategy, at, seconds in row["measured"]:
                if at == value:
                    least[strategy] = min(seconds, least.get(strategy, 1))
            refuted = [f"{name(s)} took {t:.3g} s" for at, s, t in row["refuted"] if at == column]
            pick = row["picks"][column]
            print(value, name(pick), f"{least.get(pick, 0):.3g}", "fastest measured:", name(min(least, key=least.get)), "refuted:", refuted)
PYTHON
done
