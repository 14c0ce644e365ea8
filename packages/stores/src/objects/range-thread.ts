/**
 * The thread that reads ranges: sends requests, and writes the bodies into files of the process as the bytes come. Both are
 * synchronous, which costs half the processor time of writes by the event loop, and delays nothing but other reads.
 */
import { writeSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { RangePool } from "./range-pool.ts";
import type { RangeAnswer } from "./range-pool.ts";
import type { ConnectionTarget } from "./range-connection.ts";
import type { RangeNews, RangeRequest } from "./range-reader.ts";

/** Bytes after which they are reported, unless `REPORT_MS` have passed: rates and progress are measured by report. */
const REPORT_BYTES = 1024 * 1024;
const REPORT_MS = 50;
const ERROR_BYTES_MAX = 64 * 1024;

interface Reading {
  readonly target: ConnectionTarget;
  readonly stop: AbortController;
  answer: RangeAnswer | null;
  isCopying: boolean;
}

const pool = new RangePool();
const readings = new Map<number, Reading>();
const say = (news: RangeNews): void => parentPort?.postMessage(news);

async function ask(id: number, target: ConnectionTarget, text: string): Promise<void> {
  const reading: Reading = { target, stop: new AbortController(), answer: null, isCopying: false };
  readings.set(id, reading);
  try {
    const answer = await pool.ask(target, text, reading.stop.signal);
    reading.stop.signal.throwIfAborted();
    reading.answer = answer;
    if (answer !== null && answer.head.status < 300) return say({ kind: "head", id, head: answer.head, text: null });
    const error = answer === null ? null : await errorText(answer);
    if (answer !== null && error !== null) pool.release(target, answer);
    readings.delete(id);
    say({ kind: "head", id, head: answer?.head ?? null, text: error ?? "" });
  } catch (error) {
    fail(id, error);
  }
}

/** The body of an answer that is no success; `null`: it is too large. */
async function errorText({ head, connection }: RangeAnswer): Promise<string | null> {
  if (head.bytes > ERROR_BYTES_MAX) {
    connection.destroy();
    return null;
  }
  const pieces: Buffer[] = [];
  await connection.body(head.bytes, (piece) => pieces.push(Buffer.from(piece)));
  return Buffer.concat(pieces).toString("utf8");
}

async function copy(id: number, fd: number, from: number): Promise<void> {
  const reading = readings.get(id);
  if (reading === undefined || reading.answer === null) return;
  const { answer, target, stop } = reading;
  reading.isCopying = true;
  const end = (): void => answer.connection.destroy(stop.signal.reason as Error);
  stop.signal.addEventListener("abort", end, { once: true });
  let at = from;
  let reported = from;
  let reportedMs = performance.now();
  const report = (): void => {
    if (at > reported) say({ kind: "bytes", id, count: at - reported });
    [reported, reportedMs] = [at, performance.now()];
  };
  try {
    await answer.connection.body(answer.head.bytes, (piece) => {
      writeWhole(fd, piece, at);
      at += piece.length;
      if (at - reported >= REPORT_BYTES || performance.now() - reportedMs >= REPORT_MS) report();
    });
    stop.signal.removeEventListener("abort", end);
    pool.release(target, answer);
    report();
    readings.delete(id);
    say({ kind: "done", id });
  } catch (error) {
    report();
    fail(id, error);
  }
}

class FileProblem extends Error {}

function writeWhole(fd: number, bytes: Uint8Array, at: number): void {
  try {
    for (let written = 0; written < bytes.length;)
      written += writeSync(fd, bytes, written, bytes.length - written, at + written);
  } catch (error) {
    throw new FileProblem("", { cause: error });
  }
}

function fail(id: number, error: unknown): void {
  const reading = readings.get(id);
  readings.delete(id);
  reading?.answer?.connection.destroy();
  const cause = (error instanceof FileProblem ? error.cause : error) as NodeJS.ErrnoException;
  say({ kind: "failed", id, isOfFile: error instanceof FileProblem, code: cause.code ?? null, message: cause.message });
}

/** The reading is answered with `failed`, after the last byte was written. */
function end(id: number): void {
  const reading = readings.get(id);
  if (reading === undefined) return;
  const reason = new Error("the request was ended");
  reading.stop.abort(reason);
  if (reading.answer !== null && !reading.isCopying) fail(id, reason);
}

parentPort?.on("message", (request: RangeRequest) => {
  if (request.kind === "ask") void ask(request.id, request.target, request.text);
  else if (request.kind === "copy") void copy(request.id, request.fd, request.at);
  else end(request.id);
});
