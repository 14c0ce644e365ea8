/**
 * Readers of the event stream over raw sockets. They read up to an event, follow the stream until they are stopped, or
 * stop reading.
 */
import { connect } from "node:net";
import type { Socket } from "node:net";
import { tellParent } from "./messages.ts";
import type { ReadersConfig } from "./messages.ts";

const config = JSON.parse(process.argv[2] ?? "{}") as ReadersConfig;
const NEWLINE = 10;

interface ReaderResult {
  readonly lineCount: number;
  readonly gapCount: number;
}

function open(from: string): Socket {
  const socket = connect(config.port, "127.0.0.1");
  socket.write(
    `GET /v1/events${from} HTTP/1.1\r\nHost: 127.0.0.1:${config.port}\r\nAuthorization: Bearer ${config.token}\r\nAccept: application/x-ndjson\r\n\r\n`,
  );
  return socket;
}

function catchUp(from = ""): Promise<ReaderResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ReaderResult>();
  const socket = open(from);
  const last = Buffer.from(`{"sequence":${config.untilSequence},`);
  let lineCount = 0;
  let tail = Buffer.alloc(0);
  socket.on("data", (piece: Buffer) => {
    for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) lineCount++;
    const seen = Buffer.concat([tail, piece]);
    tail = Buffer.from(seen.subarray(-last.length));
    if (!seen.includes(last)) return;
    socket.destroy();
    resolve({ lineCount, gapCount: 0 });
  });
  socket.on("error", reject);
  return promise;
}

/** Resolves when the stream has begun. The connection stays open. */
function stall(): Promise<ReaderResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ReaderResult>();
  const socket = open("");
  socket.on("data", () => {
    socket.pause();
    resolve({ lineCount: 0, gapCount: 0 });
  });
  socket.on("error", reject);
  return promise;
}

/** Reads new events until `isOver` resolves. */
function follow(isOver: Promise<void>): Promise<ReaderResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ReaderResult>();
  const socket = open("?from=next");
  let [text, lineCount, gapCount] = ["", 0, 0];
  let previous: number | null = null;
  socket.setEncoding("utf8");
  socket.on("data", (piece: string) => {
    const lines = (text + piece).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const sequence = /^\{"sequence":(\d+),/.exec(line)?.[1];
      if (sequence === undefined) continue;
      lineCount++;
      if (previous !== null && Number(sequence) !== previous + 1) gapCount++;
      previous = Number(sequence);
    }
  });
  socket.on("error", reject);
  void isOver.then(() => {
    socket.destroy();
    resolve({ lineCount, gapCount });
  });
  return promise;
}

const isOver = new Promise<void>((resolve) => {
  if (config.mode === "follow") process.once("message", () => resolve());
});
/** Each reader starts at another event, so that they share few pages. */
const spread = (_: unknown, reader: number): Promise<ReaderResult> =>
  catchUp(`?from=${1 + Math.floor((reader * config.untilSequence) / config.readers)}`);
const readers = { catchUp: () => catchUp(), spread, stalled: stall, follow: () => follow(isOver) };
const beganMs = performance.now();
const results = await Promise.all(Array.from({ length: config.readers }, readers[config.mode]));
tellParent({
  elapsedMs: performance.now() - beganMs,
  lineCount: Math.min(...results.map(({ lineCount }) => lineCount)),
  gapCount: results.reduce((sum, { gapCount }) => sum + gapCount, 0),
});
// Stalled readers keep their connection until the parent ends this process.
if (config.mode !== "stalled") process.disconnect?.();
