"""Measures what one machine's accelerators reach, and prints a profile as JSON. `headroom calibrate` runs it.

Needs PyTorch (1.13 or newer) and nothing else; without an accelerator it measures the CPU, which says little about
training but shows that the script runs. Every figure is the median of several timed batches after a warm-up, on random
data (zeros run faster), with operands rotated through more memory than the caches hold. Parts that a machine or its
PyTorch cannot do are left out of the profile and named in `skipped`, with the reason.

    python3 calibrate.py --out profile.json            # everything that the profile is used for, about two minutes
    python3 calibrate.py --parts matmul,memory --quick # fewer sizes
"""

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

FORMAT_VERSION = 1
PARTS = ("matmul", "attention", "memory", "host", "launch", "collectives")
MIB = 2**20
# Minimum bytes of all operands of one measurement. No cache can hold them (60 MB on Hopper, 256 MB on MI300X).
ROTATED_BYTES = {"cuda": 768 * MIB, "cpu": 64 * MIB}

# A shorter call can take the host longer to launch than the device to run, so calls are recorded into a graph.
GRAPH_BELOW_S, GRAPH_CALLS = 100e-6, 64


class Bench:
    """Times callables on one device. A batch is as many calls as fill `batch_s`; the answer is the median batch."""

    def __init__(self, device, batch_s, batches):
        self.device, self.batch_s, self.batches = device, batch_s, batches

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def span(self, call, count):
        """Seconds of `count` calls, by the device's own clock where it has one."""
        if self.device.type == "cuda":
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for index in range(count):
                call(index)
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) / 1e3
        started = time.perf_counter()
        for index in range(count):
            call(index)
        return time.perf_counter() - started

    def seconds(self, call):
        call(0)
        self.wait()
        once = max(self.span(call, 2) / 2, 1e-7)
        count = max(1, min(2000, round(self.batch_s / once)))
        self.span(call, count)
        return statistics.median(self.span(call, count) for _ in range(self.batches)) / count

    def device_seconds(self, call):
        """As `seconds`, without what the host needs to launch: short calls are recorded into a graph and replayed."""
        plain = self.seconds(call)
        if self.device.type != "cuda" or plain > GRAPH_BELOW_S:
            return plain
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for index in range(GRAPH_CALLS):
                call(index)
        return min(plain, self.seconds(lambda _: graph.replay()) / GRAPH_CALLS)

    def copies(self, item_bytes):
        return max(1, min(64, math.ceil(ROTATED_BYTES[self.device.type] / max(1, item_bytes))))


def dtypes_of(device):
    names = ["fp32", "bf16"]
    if device.type == "cuda":
        names = ["bf16", "fp16", "tf32", "fp32"] + (["fp8"] if hasattr(torch, "float8_e4m3fn") else [])
    return names


TORCH_DTYPE = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32, "fp32": torch.float32}
ITEM_BYTES = {"bf16": 2, "fp16": 2, "tf32": 4, "fp32": 4, "fp8": 1}


def matmul_call(bench, dtype, m, n, k):
    """A callable that multiplies [m, k] with [k, n], rotating over enough operands."""
    copies = bench.copies(ITEM_BYTES[dtype] * (m * k + k * n))
    if dtype == "fp8":
        one = torch.ones((), device=bench.device)
        left = [torch.randn(m, k, device=bench.device).to(torch.float8_e4m3fn) for _ in range(copies)]
        right = [torch.randn(n, k, device=bench.device).to(torch.float8_e4m3fn).t() for _ in range(copies)]
        return lambda i: torch._scaled_mm(left[i % copies], right[i % copies], one, one, out_dtype=torch.bfloat16)
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    kind = TORCH_DTYPE[dtype]
    left = [torch.randn(m, k, device=bench.device, dtype=kind) for _ in range(copies)]
    # Weights have the layout of a linear layer: they are stored as [n, k] and used transposed.
    right = [torch.randn(n, k, device=bench.device, dtype=kind) for _ in range(copies)]
    return lambda i: F.linear(left[i % copies], right[i % copies])


def matmul_shapes(device, quick):
    """Squares for the ceiling, and the layers of an 8B and a 70B model at token counts from decode to prefill."""
    if device.type == "cpu":
        return [(side, side, side) for side in (128, 256, 512)] + [(8, 512, 512)]
    squares = [(side, side, side) for side in (1024, 4096, 8192, 16384)[: 3 if quick else 4]]
    layers = [(6144, 4096), (28672, 4096)]
    if not quick:
        layers += [(4096, 4096), (4096, 14336), (10240, 8192), (57344, 8192), (8192, 28672)]
    tokens = (1, 16, 256, 4096) if quick else (1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
    return squares + [(count, n, k) for n, k in layers for count in tokens]


def measure_matmul(bench, quick, skipped):
    rows = []
    for dtype in dtypes_of(bench.device):
        shapes = matmul_shapes(bench.device, quick)
        if dtype in ("fp32", "fp16", "tf32"):
            shapes = shapes[:4]
        if dtype == "fp8":
            shapes = [shape for shape in shapes if shape[0] >= 16]
        for m, n, k in shapes:
            try:
                seconds = bench.device_seconds(matmul_call(bench, dtype, m, n, k))
            except (RuntimeError, TypeError, ValueError) as error:
                skipped.append({"part": "matmul", "what": f"{dtype} {m}x{n}x{k}", "reason": first_line(error)})
                break
            tflops = 2 * m * n * k / seconds / 1e12
            rows.append({"dtype": dtype, "m": m, "n": n, "k": k, "seconds": seconds, "tflops": tflops})
    return rows


def sustained_matmul(bench, seconds_wanted):
    """The rate that is left after seconds under load: clocks fall when the power limit is reached."""
    side = 8192 if bench.device.type == "cuda" else 256
    call = matmul_call(bench, "bf16" if bench.device.type == "cuda" else "fp32", side, side, side)
    once = bench.seconds(call)
    bench.span(call, max(1, round(seconds_wanted / once)))
    seconds = bench.span(call, max(1, round(0.25 * seconds_wanted / once))) / max(
        1, round(0.25 * seconds_wanted / once)
    )
    return {"side": side, "afterSeconds": seconds_wanted, "tflops": 2 * side**3 / seconds / 1e12}


def attention_shapes(device, quick):
    """(batch, heads, kv heads, sequence, head dimension)"""
    if device.type == "cpu":
        return [(1, 4, 4, 128, 64), (1, 4, 4, 512, 64)]
    usual = [(4, 32, 32, 2048, 128), (2, 32, 32, 4096, 128), (1, 32, 32, 8192, 128)]
    more = [
        (8, 32, 32, 1024, 128),
        (1, 32, 32, 16384, 128),
        (1, 64, 64, 4096, 128),
        (8, 16, 16, 2048, 64),
        (2, 32, 32, 8192, 64),
    ]
    return usual if quick else usual + more


def measure_attention(bench, quick, skipped):
    rows = []
    if not hasattr(F, "scaled_dot_product_attention"):
        skipped.append(
            {
                "part": "attention",
                "what": "all",
                "reason": f"PyTorch {torch.__version__} has no scaled_dot_product_attention",
            }
        )
        return rows
    kind = torch.bfloat16 if bench.device.type == "cuda" else torch.float32
    for batch, heads, kv_heads, sequence, head_dim in attention_shapes(bench.device, quick):
        query, key, value = (
            torch.randn(batch, heads, sequence, head_dim, device=bench.device, dtype=kind, requires_grad=True)
            for _ in range(3)
        )
        upstream = torch.randn_like(query)

        def forward(_):
            with torch.no_grad():
                F.scaled_dot_product_attention(query, key, value, is_causal=True)

        def both(_):
            query.grad = key.grad = value.grad = None
            F.scaled_dot_product_attention(query, key, value, is_causal=True).backward(upstream)

        # Causal attention needs half of the 4·s²·d operations per head; backward is 2.5 forwards (FlashAttention-2 §4.1).
        flops = 2 * batch * heads * sequence**2 * head_dim
        for direction, call, factor in (("forward", forward, 1), ("forwardBackward", both, 3.5)):
            try:
                seconds = bench.seconds(call)
            except RuntimeError as error:
                skipped.append(
                    {"part": "attention", "what": f"{direction} s={sequence} d={head_dim}", "reason": first_line(error)}
                )
                continue
            shape = {
                "batch": batch,
                "heads": heads,
                "kvHeads": kv_heads,
                "sequence": sequence,
                "headDim": head_dim,
                "causal": True,
            }
            achieved = {"seconds": seconds, "tflops": factor * flops / seconds / 1e12}
            rows.append({"dtype": str(kind).split(".")[1], "direction": direction, **shape, **achieved})
    return rows


def measure_memory(bench, quick):
    """Bandwidth in GB/s, counting bytes read plus bytes written."""
    rows = []
    top = 4096 if bench.device.type == "cuda" else 64
    for mib in [size for size in (1, 16, 64, 256, 1024, 4096) if size <= (1024 if quick and top > 1024 else top)]:
        items = mib * MIB // 2
        kind = torch.bfloat16
        copies = max(1, min(16, bench.copies(mib * MIB)))
        source = [torch.randn(items, device=bench.device).to(kind) for _ in range(copies)]
        target = [torch.empty_like(one) for one in source]
        calls = {
            "copy": (2, lambda i: target[i % copies].copy_(source[i % copies])),
            "add": (3, lambda i: torch.add(source[i % copies], target[i % copies], out=target[i % copies])),
            "read": (1, lambda i: source[i % copies].sum()),
            "write": (1, lambda i: target[i % copies].fill_(1.5)),
        }
        for name, (passes, call) in calls.items():
            seconds = bench.device_seconds(call)
            rows.append(
                {
                    "operation": name,
                    "bytes": mib * MIB,
                    "seconds": seconds,
                    "gbPerSecond": passes * mib * MIB / seconds / 1e9,
                }
            )
    return rows


def measure_host(bench, skipped):
    """Copies between pinned host memory and the accelerator: checkpoints, offload and data loading go this way."""
    if bench.device.type != "cuda":
        skipped.append({"part": "host", "what": "all", "reason": "no accelerator beside the host"})
        return []
    size = 512 * MIB
    pinned = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    device = torch.empty(size, dtype=torch.uint8, device=bench.device)
    calls = {
        "toHost": lambda _: pinned.copy_(device, non_blocking=True),
        "toDevice": lambda _: device.copy_(pinned, non_blocking=True),
    }
    rows = []
    for name, call in calls.items():
        seconds = bench.seconds(call)
        rows.append({"direction": name, "bytes": size, "seconds": seconds, "gbPerSecond": size / seconds / 1e9})
    return rows


def measure_launch(bench, skipped):
    """Microseconds per small kernel: back to back, with a wait after each, and inside a recorded graph."""
    tiny = torch.zeros(16, device=bench.device)
    call = lambda _: tiny.add_(1.0)
    bench.seconds(call)
    result = {"queuedUs": wall_us(bench, call, 2000, each=False), "waitedUs": wall_us(bench, call, 500, each=True)}
    if bench.device.type != "cuda":
        return result
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for index in range(100):
                call(index)
        result["graphUs"] = bench.seconds(lambda _: graph.replay()) / 100 * 1e6
    except RuntimeError as error:
        skipped.append({"part": "launch", "what": "graph", "reason": first_line(error)})
    return result


def wall_us(bench, call, count, each):
    bench.wait()
    started = time.perf_counter()
    for index in range(count):
        call(index)
        if each:
            bench.wait()
    bench.wait()
    return (time.perf_counter() - started) / count * 1e6


def collective_rank(rank, ranks, kind, port, queue):
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    device = torch.device(kind, rank) if kind == "cuda" else torch.device("cpu")
    if kind == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if kind == "cuda" else "gloo", rank=rank, world_size=ranks)
    bench = Bench(device, 0.05, 5)
    rows = []
    for mib in (1, 16, 64, 256, 1024) if kind == "cuda" else (1, 4):
        items = mib * MIB // 2
        full, part = (
            torch.ones(size, device=device, dtype=torch.bfloat16 if kind == "cuda" else torch.float16)
            for size in (items, items // ranks)
        )
        calls = {"allReduce": (2, lambda: dist.all_reduce(full))}
        if kind == "cuda":
            calls["allGather"] = (1, lambda: dist.all_gather_into_tensor(full, part))
            calls["reduceScatter"] = (1, lambda: dist.reduce_scatter_tensor(part, full))
            calls["allToAll"] = (1, lambda: dist.all_to_all_single(torch.empty_like(full), full))
        for name, (passes, call) in calls.items():
            # Every rank must make the same number of calls. Otherwise the ranks would wait for one another for ever.
            for _ in range(5):
                call()
            bench.wait()
            seconds = statistics.median(bench.span(lambda _: call(), 10) / 10 for _ in range(5))
            bus = passes * (ranks - 1) / ranks * mib * MIB / seconds / 1e9
            rows.append(
                {"collective": name, "ranks": ranks, "bytes": mib * MIB, "seconds": seconds, "busGbPerSecond": bus}
            )
    if rank == 0:
        queue.put(rows)
    dist.destroy_process_group()


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def measure_collectives(kind, count, skipped):
    """Collectives between the accelerators of this machine, nccl-tests' bus bandwidth."""
    if count < 2:
        skipped.append({"part": "collectives", "what": "all", "reason": f"{count} accelerator on this machine"})
        return []
    import torch.multiprocessing as mp

    rows, context = [], mp.get_context("spawn")
    for ranks in [size for size in (2, 4, 8, 16) if size <= count]:
        queue, port = context.SimpleQueue(), free_port()
        workers = [
            context.Process(target=collective_rank, args=(rank, ranks, kind, port, queue)) for rank in range(ranks)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if any(worker.exitcode != 0 for worker in workers):
            skipped.append({"part": "collectives", "what": f"{ranks} ranks", "reason": "a rank failed"})
            break
        rows += queue.get()
    return rows


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def describe(device):
    if device.type != "cuda":
        return {
            "name": platform.processor() or platform.machine(),
            "kind": "cpu",
            "count": 1,
            "threads": torch.get_num_threads(),
        }
    properties = torch.cuda.get_device_properties(device)
    return {
        "name": properties.name,
        "kind": "rocm" if torch.version.hip else "cuda",
        "count": torch.cuda.device_count(),
        "memoryBytes": properties.total_memory,
        "multiprocessors": properties.multi_processor_count,
        "capability": f"{properties.major}.{properties.minor}",
    }


def heading(kind, device, quick):
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "kind": kind,
        "formatVersion": FORMAT_VERSION,
        "measuredAt": now.isoformat(timespec="seconds"),
        "accelerator": describe(device),
        "software": {
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "hip": torch.version.hip,
            "python": platform.python_version(),
            "system": platform.system(),
        },
        "quick": quick,
    }


def six_digits(value):
    """Timings repeat to about a percent; more digits would only look exact."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: six_digits(inner) for key, inner in value.items()}
    return [six_digits(inner) for inner in value] if isinstance(value, list) else value


def as_text(profile):
    """JSON with one measurement per line, so that two profiles can be compared by eye."""
    lines = []
    for key, value in six_digits(profile).items():
        if isinstance(value, list) and value:
            rows = ",\n".join("    " + json.dumps(row) for row in value)
            lines.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="write the profile here instead of printing it")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"any of {','.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer sizes, shorter batches")
    parser.add_argument("--cpu", action="store_true", help="measure the CPU even where there is an accelerator")
    chosen = parser.parse_args()
    parts = [part for part in chosen.parts.split(",") if part]
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        parser.error(f"unknown part: {', '.join(unknown)}")
    device = torch.device("cuda", 0) if torch.cuda.is_available() and not chosen.cpu else torch.device("cpu")
    profile = run(parts, device, chosen.quick)
    text = as_text(profile)
    if not chosen.out:
        print(text)
        return
    with open(chosen.out, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def run(parts, device, quick):
    started, skipped = time.time(), []
    torch.manual_seed(0)
    bench = Bench(device, 0.01 if quick else 0.04, 3 if quick else 5)
    count = torch.cuda.device_count() if device.type == "cuda" else 2
    measure = {
        "matmul": lambda: measure_matmul(bench, quick, skipped),
        "attention": lambda: measure_attention(bench, quick, skipped),
        "memory": lambda: measure_memory(bench, quick),
        "host": lambda: measure_host(bench, skipped),
        "launch": lambda: measure_launch(bench, skipped),
        "collectives": lambda: measure_collectives(device.type, count, skipped),
    }
    profile = heading("calibration-profile", device, quick)
    for part in parts:
        print(f"{part} …", file=sys.stderr, flush=True)
        profile[part] = measure[part]()
    if "matmul" in parts:
        profile["sustainedMatmul"] = sustained_matmul(bench, 0.2 if quick or device.type == "cpu" else 4.0)
    profile["skipped"] = skipped
    profile["tookSeconds"] = round(time.time() - started, 1)
    return profile


if __name__ == "__main__":
    main()
