portolan score --machine summit-spectrum tests/fixtures/collectives.csv --format csv --skip library:cuda_aware
portolan score --machine summit-spectrum tests/fixtures/collectives.csv --format csv --cells --min-bytes 4096
