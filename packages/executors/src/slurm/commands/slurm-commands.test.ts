/** Jobs that slurmrestd leaves out are not submitted again, and failures of slurmdbd are no absence of it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { slurmSettings } from "../settings.ts";
import { SlurmCommands } from "./slurm-commands.ts";

const dir = mkdtempSync(path.join(tmpdir(), "headroom-rest-"));
const socket = path.join(dir, "rest");
const rest = createServer((request, response) =>
  response.end(request.url === "/openapi/v3" ? "v0.0.40" : JSON.stringify({ meta: {}, errors: [], jobs: [] })),
);
beforeAll(() => new Promise<void>((resolve) => void rest.listen(socket, resolve)));
afterAll(() => {
  rest.close();
  rmSync(dir, { recursive: true });
});

const squeue = (lines: string): void =>
  writeFileSync(path.join(dir, "squeue"), `#!/bin/sh\nprintf '${lines}'\n`, { mode: 0o755 });

function commands(settings: object, problems: string[] = []): SlurmCommands {
  const owners = { uids: new Set([0]), uidOf: () => 0, owns: () => true };
  const parsed = slurmSettings.parse({ directory: dir, commands: dir, ...settings });
  return new SlurmCommands(parsed, owners, (message) => problems.push(message));
}

it("asks squeue for a job that slurmrestd does not list, and leaves slurmrestd if squeue lists it", async () => {
  const problems: string[] = [];
  const slurm = commands({ restAddress: `unix:${socket}` }, problems);
  squeue("7|PENDING|Priority|0|job-w1.1\\n8|FAILED|None|0|job-w2.1\\n");
  expect((await slurm.jobs("job-")).jobs.size).toBe(0);
  expect(await slurm.isOverlooked("job-w2.1")).toBe(false);
  expect(await slurm.isOverlooked("job-w3.1")).toBe(false);
  expect(problems).toEqual([]);
  expect(await slurm.isOverlooked("job-w1.1")).toBe(true);
  expect(await slurm.isOverlooked("job-w1.1")).toBe(true);
  expect(problems).toEqual([expect.stringContaining("slurmrestd did not list the job job-w1.1")]);
  expect((await slurm.jobs("job-")).jobs.get("job-w1.1")).toMatchObject({ phase: "pending" });
});

it("asks squeue once for all jobs that are missing in one poll", async () => {
  const asked = path.join(dir, "asked");
  writeFileSync(path.join(dir, "squeue"), `#!/bin/sh\necho >> ${asked}\n`, { mode: 0o755 });
  const slurm = commands({ restAddress: `unix:${socket}` });
  for (let job = 0; job < 20; job++) expect(await slurm.isOverlooked(`job-w${job}.1`)).toBe(false);
  expect(readFileSync(asked, "utf8")).toBe("\n");
});

it("submits nothing again while squeue gives no whole answer", async () => {
  squeue("7|PENDING|Prio");
  expect(await commands({ restAddress: `unix:${socket}` }).isOverlooked("job-w1.1")).toBe(true);
  expect(await commands({}).isOverlooked("job-w1.1")).toBe(false);
});

it("takes the nodes as they are for their past if the accounting does not answer, and states its failure", async () => {
  const program = (name: string, lines: string): void =>
    writeFileSync(path.join(dir, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  const past = () => commands({}).pastNodes(0);
  const scontrol = (storage: string): void =>
    program(
      "scontrol",
      `case "$2" in config) echo "AccountingStorageType   = ${storage}";; node) echo NodeName=n1;; esac`,
    );
  scontrol("accounting_storage/slurmdbd");
  program("sacctmgr", "echo 'n1|DOWN|a|b|c'");
  expect(await past()).toEqual({ kind: "events", text: "n1|DOWN|a|b|c\n" });
  program("sacctmgr", "echo 'Unable to contact slurm accounting daemon: Connection refused' >&2; exit 1");
  const failure = expect.stringContaining("Connection refused") as string;
  expect(await past()).toEqual({ kind: "nodes", text: "NodeName=n1\n", failure });
  rmSync(path.join(dir, "sacctmgr"));
  expect(await past()).toMatchObject({ kind: "nodes", failure: expect.stringContaining("sacctmgr") });
  for (const storage of ["accounting_storage/none", "(null)"]) {
    scontrol(storage);
    program("sacctmgr", "exit 1");
    expect(await past()).toEqual({ kind: "nodes", text: "NodeName=n1\n", failure: null });
  }
  program("scontrol", "exit 1");
  await expect(past()).rejects.toThrow("scontrol failed");
});
