portolan score --machine summit-spectrum tests/fixtures/collectives.csv --cells --statistic median --min-bytes 4KiB
