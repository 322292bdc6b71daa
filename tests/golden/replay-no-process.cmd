# Of a process that is not in the file there is nothing to replay; a file with a heading alone has no calls at all.
portolan replay tests/fixtures/report.csv --machine dgx-h100 --gpus-per-node 4 --rank 99
grep '^rank,' tests/fixtures/report.csv | portolan replay /dev/stdin --machine dgx-h100
