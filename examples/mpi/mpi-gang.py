#!/usr/bin/env python3
"""Starts an MPI program over the workers of a gang with MPICH's Hydra: `python3 mpi-gang.py COMMAND ...` in every worker.

Rank 0 runs mpiexec, which names one command for each worker instead of starting it (`-launcher manual`). The other workers fetch theirs
from MASTER_ADDR:MASTER_PORT. No worker needs ssh, and every process of the program stays in the worker that Headroom started.
"""
import os
import shlex
import socket
import subprocess
import sys
import threading
import time

PREFIX, END = "HYDRA_LAUNCH: ", "HYDRA_LAUNCH_END"
WAIT_S = 60
END_WAIT_S = 5
RANK, WORLD = int(os.environ["NODE_RANK"]), int(os.environ["NNODES"])
PER_WORKER = int(os.environ.get("MPI_PROCESSES_PER_WORKER", "1"))
ADDRESS = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


def main(command):
    if RANK > 0:
        return subprocess.call(checked(fetched()))
    mpiexec = subprocess.Popen(mpiexec_args(command), stdout=subprocess.PIPE, text=True)
    lines = []
    for line in mpiexec.stdout:
        if line.startswith(PREFIX):
            lines.append(line[len(PREFIX):].strip())
        if line.startswith(END):
            break
    if len(lines) != WORLD:
        mpiexec.kill()
        sys.exit("mpiexec named %d commands for %d workers" % (len(lines), WORLD))
    threading.Thread(target=serve, args=(lines,), daemon=True).start()
    proxy = subprocess.Popen(checked(lines[0]))
    # The output of all ranks comes through mpiexec.
    printer = threading.Thread(target=lambda: [print(line, end="", flush=True) for line in mpiexec.stdout])
    printer.start()
    # Without a proxy, mpiexec would wait for ever.
    if proxy.wait() != 0:
        try:
            mpiexec.wait(END_WAIT_S)
        except subprocess.TimeoutExpired:
            mpiexec.kill()
    printer.join()
    return mpiexec.wait()


def mpiexec_args(command):
    # Names that differ make Hydra start one proxy for each worker, also where workers share a machine. Nothing resolves them.
    hosts = ",".join("worker%d" % rank for rank in range(WORLD))
    return ["mpiexec.hydra", "-localhost", ADDRESS[0], "-launcher", "manual", "-hosts", hosts,
            "-ppn", str(PER_WORKER), "-n", str(WORLD * PER_WORKER), *command]


def serve(lines):
    """Gives each of the other workers its command, until all have it."""
    with socket.create_server(("", ADDRESS[1])) as server:
        for _ in lines[1:]:
            connection, _ = server.accept()
            with connection, connection.makefile("rw") as stream:
                stream.write(lines[int(stream.readline())] + "\n")


def fetched():
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            with socket.create_connection(ADDRESS, timeout=WAIT_S) as connection, connection.makefile("rw") as stream:
                stream.write("%d\n" % RANK)
                stream.flush()
                return stream.readline()
        except OSError as error:
            if time.monotonic() > deadline:
                sys.exit("rank 0 does not answer at %s:%d: %s" % (*ADDRESS, error))
            time.sleep(0.2)


def checked(line):
    """Only Hydra's proxy is started, whatever the line says."""
    args = shlex.split(line)
    if not args or os.path.basename(args[0]) != "hydra_pmi_proxy":
        sys.exit("rank 0 named another program than hydra_pmi_proxy: %r" % line)
    return args


sys.exit(main(sys.argv[1:]))
