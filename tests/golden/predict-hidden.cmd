# Without --strategy, those that apply nowhere have no column but a reason below; named ones keep their column.
COLUMNS=200 portolan predict --machine summit-spectrum --collective allreduce --nodes 2 --bytes 64 | sed -n 's/\(# no column: gsb,\) .*\(: shares.*\)/\1 ...\2/p; s/^# Bytes .* gsb .*/gsb has a column/p'
portolan predict --machine summit-spectrum --collective allreduce --nodes 2 --bytes 64 --strategy three_step,gsb | tail -n 4
