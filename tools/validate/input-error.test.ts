import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-validate-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const written = (name: string, lines: readonly string[]): string => {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
};
const other = written("other.csv", ["a,b", "1,2"]);
const unanswered = written("unanswered.csv", [
  "gpu,gpus,seq_len,global_batch,layers,hidden,heads,vocab,step_time_s",
  "H999,8,8192,64,32,4096,32,128256,5",
]);
const request = {
  input_toks: 300,
  output_toks: 50,
  queued_ts: 1,
  scheduled_ts: 2,
  first_token_ts: 3,
  last_token_ts: 4,
};
const requests = Array.from({ length: 30 }, (_, index) => JSON.stringify({ ...request, arrival_time: index }));
const runs = path.dirname(written("runs/L40S_Llama-3.1-8B-Instruct.jsonl", requests));
const broken = path.dirname(written("broken/L40S_Llama-3.1-8B-Instruct.jsonl", [...requests, "{oops"]));
const nowhere = path.join(folder, "absent", "rows.csv");
const serving = written("serving.csv", ["model,gpu,kind,isl,osl,tpot_ms", "llama-3-8b,H100,static_batch,9,9,9"]);

describe("a validation tool", () => {
  it.each([
    ["inference", [folder], "it is a folder, not a file; name a CSV file of measurements"],
    ["inference", [other], "the header line lacks model, gpu, kind, isl, osl; expected"],
    ["inference", [serving, "--rows", nowhere], "there is no such file or folder; --rows needs a file that can be"],
    ["inference", [serving, "--rwos", "x"], "Unknown option '--rwos'"],
    ["training", [other], "the header line lacks gpu, gpus, seq_len, global_batch, layers, hidden, heads, vocab;"],
    ["training", [unanswered, "--rows", folder], "it is a folder, not a file; --rows needs a file that can be written"],
    ["training", [unanswered], "nothing to compare: no row that is read has a step time"],
    ["serving", [broken], "Llama-3.1-8B-Instruct.jsonl:31: not JSON; every line states one request with input_toks,"],
    ["serving", [runs, "--rows", nowhere], "there is no such file or folder; --rows needs a file that can be written"],
    ["serving", [other], "a part of the path is a file, not a folder; name a folder with ACCELERATOR_MODEL.jsonl"],
  ])("validate:%s %j ends with 2 and the reason", (tool, args, reason) => {
    const script = path.join(import.meta.dirname, `${tool}.ts`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: "utf8" });
    expect(stderr).toContain(reason);
    expect([status, /^\s+at /m.test(stderr), stdout.includes("NaN")]).toEqual([2, false, false]);
    expect(readdirSync(folder)).not.toContain("absent");
  });
});
