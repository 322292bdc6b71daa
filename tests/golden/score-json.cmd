portolan score --machine summit-spectrum tests/fixtures/collectives.csv --format json --min-bytes 256KiB
portolan score --machine summit-spectrum tests/fixtures/collectives.csv --format json --min-bytes 256KiB --cells
