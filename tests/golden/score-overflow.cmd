portolan score --machine summit-spectrum tests/fixtures/collectives-overflow.csv --format json
portolan score --machine summit-spectrum tests/fixtures/collectives-overflow.csv --format json --cells
