# Cells of a halo are scored by the grid of each row; rows without one are left out.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
halo=validate/results/h200-x2/halo.csv
portolan score --machine h200-x2 $halo
portolan score --machine h200-x2 validate/results/h200-x2/halo-rings.csv --cells
portolan score --machine h200-x2 $halo --cells --format csv | head -3
sed 's/,grid$//; s/,dims=.*//' $halo >"$dir/halo.csv"; portolan score --machine h200-x2 "$dir/halo.csv" 2>&1
sed 's/extent=16x4/extent=16/' $halo >"$dir/halo.csv"; portolan score --machine h200-x2 "$dir/halo.csv" 2>&1 | sed "s,$dir/,,"
