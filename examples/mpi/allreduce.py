#!/usr/bin/env python3
"""An MPI program that needs neither a compiler nor mpi4py: sums a vector over all ranks and reports each step to Headroom.

It calls libmpi of MPICH through ctypes. The constants are those of the MPICH ABI (mpich.org/abi), which Intel MPI and Cray MPICH share.
"""
import ctypes
import json
import os
import time

WORLD, DOUBLE, SUM = 0x44000000, 0x4C00080B, 0x58000003
STEPS = int(os.environ.get("ALLREDUCE_STEPS", "5"))
LENGTH = 1 << 10

mpi = ctypes.CDLL(os.environ.get("MPI_LIBRARY", "libmpich.so.12"))
if mpi.MPI_Init(None, None) != 0:
    raise SystemExit("MPI_Init failed")
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
mpi.MPI_Comm_size(WORLD, ctypes.byref(size))
own = (ctypes.c_double * LENGTH)(*[rank.value + 1.0] * LENGTH)
total = (ctypes.c_double * LENGTH)()
expected = size.value * (size.value + 1) / 2

for step in range(1, STEPS + 1):
    began = time.monotonic()
    mpi.MPI_Allreduce(own, total, LENGTH, DOUBLE, SUM, WORLD)
    if total[0] != expected or total[LENGTH - 1] != expected:
        raise SystemExit("rank %d: the sum is %s, not %s" % (rank.value, total[0], expected))
    if rank.value == 0 and "HEADROOM_PROGRESS_FILE" in os.environ:
        seconds = time.monotonic() - began
        with open(os.environ["HEADROOM_PROGRESS_FILE"], "a") as progress:
            progress.write(json.dumps({"kind": "progress", "step": step, "metrics": {"allreduceS": seconds}}) + "\n")
print("rank %d of %d: %d sums of %d numbers are right" % (rank.value, size.value, STEPS, LENGTH), flush=True)
mpi.MPI_Finalize()
