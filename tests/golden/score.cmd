portolan score --machine summit-spectrum tests/fixtures/collectives.csv --by nodes
