# The fastest algorithm has the scenario's byte counts, as one that is named has.
ask="scenarios/problems/alltoallv-skewed-summit.yaml --bytes 1KiB --format csv"
portolan simulate $ask | cut -d, -f4-7
portolan simulate $ask --library linear | cut -d, -f4-7
