build/portolan predict --machine tests/fixtures/flagged-library.yaml --collective allreduce --nodes 2 --procs-per-node 64 --bytes 1KiB:1MiB:32
