portolan upgrade scenarios/workloads/fft-3d.yaml
portolan upgrade scenarios/workloads/fft-3d.yaml --upgrades tests/fixtures/upgrades.yaml
portolan upgrade scenarios/workloads/fft-3d.yaml --upgrades tests/fixtures/upgrades.yaml --format csv
