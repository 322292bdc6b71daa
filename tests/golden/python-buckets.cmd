PORTOLAN_LIBRARY=$(ls "$(dirname "$(command -v portolan)")"/libportolan.so.*) PYTHONPATH=python python3 -B docs/examples/buckets.py
