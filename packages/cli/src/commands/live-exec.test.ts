/** Tests commands inside workers, from the command line to the process: `exec`, `shell`, `attach`. */
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
let client: HeadroomClient;

beforeAll(async () => {
  live = await startLive();
  client = clientOf("tester");
  await live.headroom(["run", "--gpus", "1", "--name", "trainer", "--", "echo begun; sleep 600"]);
  await vi.waitFor(async () => expect((await live.headroom(["logs", "trainer"])).stdout).toContain("begun"), {
    timeout: 20_000,
  });
});
afterAll(() => live.close());

function clientOf(user: string): HeadroomClient {
  const { url: baseUrl, token } = live.plane;
  return createHttpClient({
    baseUrl,
    token: token ?? undefined,
    user,
    fetch: (address, request) => fetch(address, request as RequestInit),
  });
}
const idOf = async (name: string): Promise<string> => (await client.listWorkloads({ name })).items[0]?.id ?? "";

it("exec runs a command in the worker, with input, both streams and its exit code, and is recorded", async () => {
  const said = await live.headroom(
    ["exec", "trainer", "--", "sh", "-c", "cat; echo $HEADROOM_WORKER_ID; echo no >&2; exit 7"],
    { stdin: "typed\n", userName: "ada" },
  );
  expect(said).toEqual({ code: 7, stdout: `typed\n${await idOf("trainer")}.1/0.0\n`, stderr: "no\n" });
  const history = await live.headroom(["history", "trainer"]);
  expect(history.stdout).toContain("ada ran sh -c cat; echo $HEADROOM_WORKER_ID");
});

it("exec says what is missing", async () => {
  await live.headroom(["run", "--gpus", "4", "--name", "waits", "--", "true"]);
  const waiting = await live.headroom(["exec", "waits", "--", "true"]);
  expect([waiting.code, waiting.stderr]).toEqual([1, expect.stringContaining("No attempt of")]);
  const worker = await live.headroom(["exec", "trainer", "--worker", "3", "--", "true"]);
  expect([worker.code, worker.stderr]).toEqual([1, expect.stringContaining("has 1 worker, counted from 0")]);
  await live.headroom(["stop", "waits"]);
});

it("a session belongs to the user who started it, and has one reader", async () => {
  const { id } = await client.startExec(await idOf("trainer"), { command: ["cat"] });
  const output = client.execOutput(id)[Symbol.asyncIterator]();
  const first = output.next();
  await client.execInput(id, { data: Buffer.from("mine").toString("base64") });
  expect(await first).toMatchObject({ value: { stream: "stdout", data: Buffer.from("mine").toString("base64") } });
  const other = clientOf("mallory");
  await expect(other.execInput(id, { end: true })).rejects.toMatchObject({ code: "unknownExec" });
  await expect(other.endExec(id)).rejects.toMatchObject({ code: "unknownExec" });
  await expect(client.execOutput(id)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "unknownExec" });
  await client.endExec(id);
  expect((await output.next()).value).toMatchObject({ exitCode: expect.any(Number) as number });
  await output.next();
  await expect(client.execInput(id, { end: true })).rejects.toMatchObject({ code: "unknownExec" });
});

it("a user has a bounded number of sessions", async () => {
  const many = clientOf("greedy");
  const workload = await idOf("trainer");
  const ids: string[] = [];
  await expect(
    (async () => {
      for (;;) ids.push((await many.startExec(workload, { command: ["sleep", "60"] })).id);
    })(),
  ).rejects.toMatchObject({ code: "tooManyStreams" });
  expect(ids).toHaveLength(16);
  for (const id of ids) await many.endExec(id);
});

it("shell waits for its allocation with the reason, and the allocation ends with it", async () => {
  const blocked = await live.headroom(["run", "--gpus", "3", "--name", "blocks", "--", "sleep 600"]);
  expect(blocked.code).toBe(0);
  const shell = live.headroom([
    "shell",
    "--gpus",
    "2",
    "--name",
    "sits",
    "--",
    "sh",
    "-c",
    "echo $CUDA_VISIBLE_DEVICES",
  ]);
  await expect.poll(async () => (await client.listWorkloads({ name: "sits" })).items[0]?.phase).toBe("pending");
  await live.headroom(["stop", "blocks"]);
  const said = await shell;
  expect([said.code, said.stdout]).toEqual([0, expect.stringMatching(/^\d,\d\n$/)]);
  expect(said.stderr).toMatch(/submitted sits \(w\d+\)\nsits waits: .*free/);
  await expect.poll(async () => (await client.listWorkloads({ name: "sits" })).items[0]?.phase).toBe("cancelled");
});

it("shell is withdrawn by an interruption while it waits", async () => {
  const interrupt = new AbortController();
  const shell = live.headroom(["shell", "--gpus", "4", "--name", "leaves"], { interrupted: interrupt.signal });
  await expect.poll(async () => (await client.listWorkloads({ name: "leaves" })).items[0]?.phase).toBe("pending");
  interrupt.abort(new Error("Ctrl-C"));
  expect((await shell).code).toBe(130);
  expect((await client.listWorkloads({ name: "leaves" })).items[0]?.phase).toBe("cancelled");
});

it("the control plane ends the allocation of a shell whose client is lost", async () => {
  const { workloadId } = await client.submitWorkload({ kind: "train", name: "lost", run: "sleep 600" });
  await expect.poll(async () => (await client.getWorkload(workloadId)).attempts[0]?.phase).toBe("running");
  const lost = new AbortController();
  const { id } = await client.startExec(workloadId, { command: ["sleep", "600"], endWorkload: true });
  const output = client.execOutput(id, { signal: lost.signal })[Symbol.asyncIterator]();
  const reading = output.next();
  await client.execInput(id, { size: { rows: 5, columns: 5 } });
  lost.abort();
  await expect(reading).rejects.toThrow(/abort|terminated|broke off/i);
  await expect.poll(async () => (await client.getWorkload(workloadId)).phase).toBe("cancelled");
});

it("attach follows a workload to its end", async () => {
  await live.headroom(["run", "--name", "short", "--", "echo one; sleep 0.3; echo two"]);
  const said = await live.headroom(["attach", "short"]);
  expect([said.code, said.stdout]).toEqual([0, "one\ntwo\n"]);
});
