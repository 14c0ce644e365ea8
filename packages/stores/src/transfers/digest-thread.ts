/** Computes digests of files while their bytes arrive: reads each file from its begin to the position that is complete. */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import type { DigestAnswer, DigestRequest } from "./arriving-digests.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const PIECE_BYTES = 1024 * 1024;

interface OpenFile {
  readonly fd: number;
  readonly hash: Hash;
  at: number;
}

const piece = Buffer.allocUnsafe(PIECE_BYTES);
/** Files whose digest is begun, by transfer and number of the file. */
const files = new Map<number, Map<number, OpenFile>>();

function answer(request: DigestRequest): DigestAnswer {
  const ofTransfer = files.get(request.transfer) ?? new Map<number, OpenFile>();
  files.set(request.transfer, ofTransfer);
  if (request.kind === "end") {
    for (const { fd } of ofTransfer.values()) closeSync(fd);
    files.delete(request.transfer);
    return { hex: null };
  }
  const file = ofTransfer.get(request.file) ?? openFile(request.path);
  ofTransfer.set(request.file, file);
  readTo(file, request);
  if (file.at < request.bytes) return { hex: null };
  if (fstatSync(file.fd).size !== request.bytes) throw new Error(`${request.path} changed while it was read`);
  closeSync(file.fd);
  ofTransfer.delete(request.file);
  return { hex: file.hash.digest("hex") };
}

function openFile(path: string): OpenFile {
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fstatSync(fd).isFile()) return { fd, hash: createHash("sha256"), at: 0 };
  closeSync(fd);
  throw new Error(`${path} is no regular file`);
}

function readTo(file: OpenFile, { path, to }: { readonly path: string; readonly to: number }): void {
  while (file.at < to) {
    const count = readSync(file.fd, piece, 0, Math.min(PIECE_BYTES, to - file.at), file.at);
    if (count === 0) throw new Error(`${path} changed while it was read`);
    file.hash.update(piece.subarray(0, count));
    file.at += count;
  }
}

parentPort?.on("message", (request: DigestRequest) => {
  let outcome: DigestAnswer;
  try {
    outcome = answer(request);
  } catch (error) {
    outcome = { hex: null, problem: error instanceof Error ? error.message : String(error) };
  }
  parentPort?.postMessage(outcome);
});
