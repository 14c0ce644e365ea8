"""A character model trained with PyTorch DDP under torchrun: reports progress, stops on SIGTERM, resumes. See README.md."""

import io
import json
import os
import pathlib
import signal
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CONTEXT, SYMBOLS = 8, 128
STEPS, BATCH, SAVE_EVERY, REPORT_EVERY = (
    int(os.environ.get("TORCHRUN_" + name, default))
    for name, default in {"STEPS": 2000, "BATCH": 128, "SAVE_EVERY": 100, "REPORT_EVERY": 20}.items()
)
directory = pathlib.Path(os.environ.get("HEADROOM_CHECKPOINT_DIR", "checkpoints"))
checkpoint = directory / "newest.pt"
progress_file = os.environ.get("HEADROOM_PROGRESS_FILE", os.devnull)
stop_wanted = False


def want_stop(*_):
    """Only sets a variable: the signal comes twice (torchrun repeats it), and the second may interrupt this handler. With
    threading.Event it would then wait for a lock that the first one holds."""
    global stop_wanted
    stop_wanted = True


signal.signal(signal.SIGTERM, want_stop)


def write_atomically(path, data):
    """After a crash at any instant the path holds the old bytes or the new ones, never a mixture."""
    aside = path.with_name(path.name + ".tmp")
    with open(aside, "wb", buffering=0) as file:
        file.write(data)
        os.fsync(file.fileno())
    os.replace(aside, path)
    folder = os.open(path.parent, os.O_RDONLY)  # a rename lasts only once its directory is synced
    os.fsync(folder)
    os.close(folder)


def corpus():
    """The repository's Markdown, at most 1 MiB, frozen by the first attempt so that edits do not change a run."""
    directory.mkdir(parents=True, exist_ok=True)
    frozen = directory / "corpus.txt"
    if not frozen.exists():
        texts = []
        for folder, inner, names in os.walk(os.environ.get("TORCHRUN_CORPUS", pathlib.Path(__file__).resolve().parents[2])):
            inner[:] = sorted(name for name in inner if name[0] != "." and name not in ("node_modules", "dist"))
            texts += [pathlib.Path(folder, name).read_bytes() for name in sorted(names) if name.endswith(".md")]
        write_atomically(frozen, b"".join(texts)[: 2**20])
    return frozen.read_bytes()


def save(step, model, optimizer):
    buffer = io.BytesIO()
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
    write_atomically(checkpoint, buffer.getvalue())
    report({"kind": "checkpoint", "step": step, "path": checkpoint.name})


def report(line):
    print(json.dumps(line), flush=True)
    with open(progress_file, "a") as file:
        file.write(json.dumps(line) + "\n")


def main():
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo", timeout=timedelta(seconds=60))
    rank, world = dist.get_rank(), dist.get_world_size()
    shared = [corpus(), checkpoint.read_bytes() if checkpoint.exists() else None] if rank == 0 else [None, None]  # only rank 0 needs the folder
    dist.broadcast_object_list(shared, device=device)
    codes = torch.frombuffer(bytearray(shared[0]), dtype=torch.uint8).long().clamp(max=SYMBOLS - 1).to(device)
    torch.manual_seed(1)
    layers = nn.Embedding(SYMBOLS, 16), nn.Flatten(), nn.Linear(CONTEXT * 16, 128), nn.Tanh(), nn.Linear(128, SYMBOLS)
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.004)
    step = 0
    if shared[1]:
        loaded = torch.load(io.BytesIO(shared[1]), map_location=device)
        step = loaded["step"]
        model.load_state_dict(loaded["model"])
        optimizer.load_state_dict(loaded["optimizer"])
    print(f"rank {rank} of {world} starts after step {step} on {device}", flush=True)
    parallel = DistributedDataParallel(model)
    offsets = torch.arange(CONTEXT + 1, device=device)
    since, stopping = time.monotonic(), False
    while step < STEPS and not stopping:
        # A step's examples follow from its number, so that a resumed run sees what an uninterrupted one would have.
        draw = torch.Generator().manual_seed(step)
        starts = torch.randint(len(codes) - CONTEXT, (BATCH,), generator=draw)[rank::world].to(device)
        windows = codes[starts[:, None] + offsets]
        loss = nn.functional.cross_entropy(parallel(windows[:, :-1]), windows[:, -1])
        optimizer.zero_grad()
        loss.backward()  # DDP averages the gradients here
        optimizer.step()
        step += 1
        told = torch.stack([loss.detach(), torch.tensor(float(stop_wanted), device=device)])
        dist.all_reduce(told)
        stopping = told[1].item() > 0  # one rank's wish, heard by all in the same step
        if rank == 0 and step % REPORT_EVERY == 0:
            seconds, since = time.monotonic() - since, time.monotonic()
            metrics = {"loss": told[0].item() / world, "tokensPerSecond": round(REPORT_EVERY * BATCH / seconds)}
            report({"kind": "progress", "step": step, "totalSteps": STEPS, "metrics": metrics})
        if rank == 0 and (stopping or step == STEPS or step % SAVE_EVERY == 0):
            save(step, model, optimizer)
    dist.barrier()  # the others stay until rank 0 has everything on disk
    # Without destroy_process_group: of gloo in PyTorch 1.13 it can wait forever for a thread whose peer has gone.
    os._exit(0 if step == STEPS else 143)  # 128 + SIGTERM, as a shell says it: stopped, not done


main()
