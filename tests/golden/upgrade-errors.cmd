w=scenarios/workloads/fft-3d.yaml
portolan upgrade
portolan upgrade $w --upgrades /nonexistent.yaml
for text in 'upgrades: 3' 'upgrades: [{name: x}]' 'upgrades: [{name: x, what_if: []}]' 'upgrades: [{name: x, what_if: a=1, cost: -1}]' 'upgrade: []' 'upgrades: []'; do
    printf '%s\n' "$text" | portolan upgrade $w --upgrades /dev/stdin
done
