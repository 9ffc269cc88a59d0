"""Speed and memory against plain float64 numpy, both sides in one run: ``python -m benchmarks``."""

import os

# One thread on both sides, set before numpy loads: the times are then processor time, which other
# programs on the machine disturb least.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
