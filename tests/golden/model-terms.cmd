# The published model, one term added to it, and all of the machine file.
portolan predict --machine tests/fixtures/terms.yaml --collective alltoall --nodes 2 --bytes 64:1024:4 --model published
portolan predict --machine tests/fixtures/terms.yaml --collective alltoall --nodes 2 --bytes 64:1024:4 --model published+copies.shared
portolan predict --machine tests/fixtures/terms.yaml --collective alltoall --nodes 2 --bytes 64:1024:4 --model full
