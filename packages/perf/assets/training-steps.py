"""Times whole training steps of Llama-shaped models on one accelerator, to check predictions of the model against.

Plain eager PyTorch: fused AdamW, fused attention, no compiler, no tricks. Nothing is fitted to what this prints.

    python3 training-steps.py --out steps.json
"""

import argparse
import contextlib
import math
import statistics
import time

import torch
import torch.nn.functional as F
import torch.utils.checkpoint

from calibrate import Bench, as_text, first_line, heading


def attend(query, key, value):
    """Causal attention with shared key and value heads, through the best call that this PyTorch has."""
    shared = query.shape[1] // key.shape[1]
    if "enable_gqa" in (getattr(F, "scaled_dot_product_attention", attend).__doc__ or ""):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=shared > 1)
    key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(mask, float("-inf")).softmax(-1) @ value


class Block(torch.nn.Module):
    """One layer of a Llama-shaped transformer, written plainly: what eager PyTorch makes of it."""

    def __init__(self, hidden, heads, kv_heads, ffn):
        super().__init__()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, hidden // heads
        linear = lambda rows, columns: torch.nn.Linear(rows, columns, bias=False)
        self.qkv, self.out = linear(hidden, (heads + 2 * kv_heads) * self.dim), linear(hidden, hidden)
        self.up, self.down = linear(hidden, 2 * ffn), linear(ffn, hidden)
        self.norms = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(hidden)) for _ in range(2)])

    def norm(self, x, index):
        if hasattr(F, "rms_norm"):
            return F.rms_norm(x, x.shape[-1:], self.norms[index].to(x.dtype))
        return F.layer_norm(x, x.shape[-1:], self.norms[index].to(x.dtype))

    def forward(self, x):
        batch, sequence, _ = x.shape
        qkv = self.qkv(self.norm(x, 0)).view(batch, sequence, -1, self.dim).transpose(1, 2)
        query, key, value = qkv.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        mixed = attend(query, key, value)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, sequence, -1))
        gate, up = self.up(self.norm(x, 1)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Model(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.embed = torch.nn.Embedding(shape["vocab"], shape["hidden"])
        self.blocks = torch.nn.ModuleList(
            Block(shape["hidden"], shape["heads"], shape["kvHeads"], shape["ffn"]) for _ in range(shape["layers"])
        )
        self.head = torch.nn.Linear(shape["hidden"], shape["vocab"], bias=False)
        self.recompute = shape["recompute"] == "full"

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        return self.head(x)


def step_shapes(device):
    """Llama-shaped models: name, layers, hidden, heads, kv heads, ffn, vocabulary, sequence, micro-batch, weights."""
    if device.type == "cpu":
        table = [("tiny", 2, 64, 4, 2, 128, 256, 64, 2, "fp32", "none")]
    else:
        table = [
            ("llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256, 4096, 1, "fp32", "none"),
            ("llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256, 4096, 4, "fp32", "none"),
            ("llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256, 8192, 4, "fp32", "full"),
            ("llama-3.2-3b", 28, 3072, 24, 8, 8192, 128256, 4096, 2, "fp32", "none"),
            ("llama-3.1-8b", 32, 4096, 32, 8, 14336, 128256, 4096, 1, "bf16", "none"),
            ("llama-3.1-8b", 32, 4096, 32, 8, 14336, 128256, 8192, 2, "bf16", "full"),
        ]
    names = (
        "model",
        "layers",
        "hidden",
        "heads",
        "kvHeads",
        "ffn",
        "vocab",
        "sequence",
        "microBatch",
        "weights",
        "recompute",
    )
    return [dict(zip(names, row)) for row in table]


def measure_step(bench, skipped):
    """Training steps with AdamW: time and peak memory. `weights` fp32 means autocast to bf16, bf16 means bf16 alone."""
    rows = []
    for shape in step_shapes(bench.device):
        try:
            rows.append({**shape, **one_step(bench, shape)})
        except RuntimeError as error:
            skipped.append(
                {
                    "part": "step",
                    "what": f"{shape['model']} {shape['microBatch']}x{shape['sequence']}",
                    "reason": first_line(error),
                }
            )
        if bench.device.type == "cuda":
            torch.cuda.empty_cache()
    return rows


def one_step(bench, shape):
    cuda = bench.device.type == "cuda"
    kind = torch.float32 if shape["weights"] == "fp32" else torch.bfloat16
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    torch.set_default_dtype(kind)
    with torch.device(bench.device) if hasattr(torch.device, "__enter__") else contextlib.nullcontext():
        model = Model(shape).to(bench.device)
    torch.set_default_dtype(torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, **({"fused": True} if cuda else {}))
    tokens = torch.randint(0, shape["vocab"], (shape["microBatch"], shape["sequence"] + 1), device=bench.device)

    def step(_):
        with torch.autocast("cuda", torch.bfloat16) if cuda and kind is torch.float32 else contextlib.nullcontext():
            logits = model(tokens[:, :-1])
        F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for index in range(3):
        step(index)
    bench.wait()
    seconds = statistics.median(bench.span(step, 1) for _ in range(7))
    peak = (
        {"peakBytes": torch.cuda.max_memory_allocated(), "reservedBytes": torch.cuda.max_memory_reserved()}
        if cuda
        else {}
    )
    return {"parameters": sum(one.numel() for one in model.parameters()), "seconds": seconds, **peak}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="write the result here instead of printing it")
    parser.add_argument("--cpu", action="store_true", help="measure the CPU even where there is an accelerator")
    chosen = parser.parse_args()
    device = torch.device("cuda", 0) if torch.cuda.is_available() and not chosen.cpu else torch.device("cpu")
    started, skipped = time.time(), []
    torch.manual_seed(0)
    result = heading("training-steps", device, False)
    result["step"] = measure_step(Bench(device, 0.04, 5), skipped)
    result["skipped"] = skipped
    result["tookSeconds"] = round(time.time() - started, 1)
    if not chosen.out:
        print(as_text(result))
        return
    with open(chosen.out, "w", encoding="utf-8") as file:
        file.write(as_text(result) + "\n")


if __name__ == "__main__":
    main()
