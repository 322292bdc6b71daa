python3 -B tests/mutants_harness.py
