/**
 * Process of the batch script, on the first node of a job. It claims the attempt by exclusive create, so that of several jobs of an
 * attempt exactly one runs, however often Slurm lost or repeated the submission. It starts a supervisor on each node and records
 * the end of the gang. The job of a short task then takes further tasks of its array (`next-attempt.ts`). Arguments: the shared
 * directory, the name of the attempt, `KillWait` in ms.
 */
import { readFileSync, unlinkSync } from "node:fs";
import type { AttemptKey } from "../../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "../../job-protocol/attempt-records.ts";
import { AttemptFiles, isMissing } from "../../job-protocol/attempt-files.ts";
import { gangEnd, lostEnd, partFiles, partsOf } from "../../job-protocol/attempt-parts.ts";
import { messageOf, recordEnd } from "../../processes/attempt-end.ts";
import { PipeSource } from "../../processes/fifo.ts";
import { chooseFreePort } from "../../processes/free-port.ts";
import { identityOf, readBootId } from "../../processes/process-table.ts";
import { secretFileOf } from "../executor/secret-file.ts";
import { canTakeNext, nextAttempt } from "./next-attempt.ts";
import { KILL_WAIT_SHARE } from "./order.ts";
import { fenceUnlessStopped, supervisePart } from "./part-supervisor.ts";
import { runSteps } from "./steps.ts";
import type { StepFailure } from "./steps.ts";

async function main(homeDir: string, host: string, killWaitMs: number): Promise<void> {
  for (let name: string | null = host; name !== null;)
    name = await runAttempt({ homeDir, name, host, slurmGraceMs: killWaitMs * KILL_WAIT_SHARE });
}

interface AttemptOrder {
  readonly homeDir: string;
  readonly name: string;
  /** Name of the attempt for which the job was submitted. */
  readonly host: string;
  readonly slurmGraceMs: number;
}

/** Runs the attempt to its end, unless another job has claimed it. Returns the name of the next attempt; `null`: the job ends. */
async function runAttempt({ homeDir, name, host, slurmGraceMs }: AttemptOrder): Promise<string | null> {
  const files = openRecords(homeDir, name);
  const launch = files?.read("launch.json") ?? null;
  const supervisor = identityOf(process.pid);
  if (files === null || launch === null || supervisor === null) return null;
  const jobId = process.env["SLURM_JOB_ID"] ?? "";
  const claim = { kind: "supervised", bootId: readBootId(), supervisor, jobId, takesNext: true } as const;
  if (!files.create("claim.json", name === host ? claim : { ...claim, host })) return null;
  // The workers start after this, so none of them finds the secret.
  unlinkSync(secretFileOf(files));
  const { end, leftNothing } = await runGang(files, launch, slurmGraceMs);
  const isReusable = leftNothing && canTakeNext(files, launch, end, performance.now());
  // Before the end is visible: the control plane would pass the job on otherwise, and the next attempt would wait for nothing.
  if (launch.reuse !== undefined && !isReusable) closeQuietly(files);
  await recordEnd(files, end);
  return isReusable ? await nextAttempt(files, launch.reuse?.waitMs ?? 0) : null;
}

/** A full disk must not keep the end from being recorded: without this record, the next attempt waits for ten seconds. */
function closeQuietly(files: AttemptFiles): void {
  try {
    files.create("next.json", { kind: "closed" });
  } catch (error) {
    process.stderr.write(`next.json: ${messageOf(error)}\n`);
  }
}

/** `srun` can also fail after its supervisors have recorded their ends; those count then. */
function stopOthers(files: AttemptFiles, launch: LaunchRecord, { detail, nodes }: StepFailure): void {
  const missing = partsOf(launch).filter(
    ({ node }, part) =>
      (nodes === null || nodes.includes(node)) && partFiles(files.key, part).readIfSound("exit.json") === null,
  );
  if (missing.length === 0 || files.readIfSound("stop.json") !== null) return;
  const where = missing.length === 1 ? `node ${missing[0]?.node ?? ""}` : `one of ${missing.length} nodes`;
  files.create("fence.json", { detail: `The supervisor on ${where} did not start, or died: ${detail}.` });
}

/** `null`: another job of the attempt has claimed it, or it was forgotten. */
function openRecords(homeDir: string, name: string): AttemptFiles | null {
  const key: AttemptKey = { homeDir, name, secret: "" };
  try {
    return new AttemptFiles({ ...key, secret: readFileSync(secretFileOf(new AttemptFiles(key)), "utf8").trim() });
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

interface GangRun {
  readonly end: ExitRecord;
  /** The gang has ended by itself, and no process of it is left. */
  readonly leftNothing: boolean;
}

const pipes = new PipeSource();

async function runGang(files: AttemptFiles, launch: LaunchRecord, slurmGraceMs: number): Promise<GangRun> {
  const parts = partsOf(launch);
  const masterPort = await chooseFreePort(launch.attemptId);
  const environment = process.env;
  let leftNothing = false;
  // A single node needs no step: the batch script has the devices of the job.
  if (parts.length === 1)
    leftNothing = await supervisePart({ files, launch, part: 0, masterPort, slurmGraceMs, environment, pipes });
  else {
    const onTerm = (): void => fenceUnlessStopped(files, environment);
    process.on("SIGTERM", onTerm);
    const order = `${JSON.stringify({ key: files.key, masterPort, slurmGraceMs })}\n`;
    // Workers whose peers never start would wait for them until the time limit.
    await runSteps(environment, order, (failure) => {
      process.stderr.write(`${failure.detail}\n`);
      stopOthers(files, launch, failure);
    });
    process.off("SIGTERM", onTerm);
  }
  const fence = files.readIfSound("fence.json");
  if (fence !== null) return { end: lostEnd(fence.detail), leftNothing: false };
  const ends = parts.map((_, part) => partFiles(files.key, part).readIfSound("exit.json"));
  return { end: gangEnd(launch, ends, files.readIfSound("failure.json")?.part ?? null), leftNothing };
}

const [homeDir = "", name = "", killWaitMs = "30000"] = process.argv.slice(2);
process.chdir("/");
await main(homeDir, name, Number(killWaitMs));
process.exit(0);
