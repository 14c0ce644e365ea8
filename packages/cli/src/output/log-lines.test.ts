import { Readable } from "node:stream";
import { expect, it } from "vitest";
import type { LogChunk } from "@headroom/protocol";
import type { Sink, Terminal } from "../terminal.ts";
import { writeLogs } from "./log-lines.ts";
import type { LogStyle } from "./log-lines.ts";

/** Output for these chunks, and the number of bytes that were written before the reader caught up. */
async function written(chunks: readonly LogChunk[], isTagged: boolean, style: Partial<LogStyle> = {}) {
  const said = { stdout: "", stderr: "" };
  let waits = 0;
  const sink = (stream: "stdout" | "stderr"): Sink => ({
    isTerminal: false,
    columns: undefined,
    write: (text) => {
      said[stream] += text;
    },
    drained: () => {
      waits += 1;
      return Promise.resolve();
    },
  });
  const terminal: Terminal = {
    stdin: Readable.from([]),
    stdout: sink("stdout"),
    stderr: sink("stderr"),
    env: {},
    workingDirectory: "/",
    userName: () => "tester",
    interrupted: new AbortController().signal,
  };
  await writeLogs(terminal, Readable.from(chunks), { isTagged, json: false, ...style });
  return { ...said, waits };
}

const chunk = (worker: number, text: string, stream: LogChunk["stream"] = "stdout"): LogChunk => ({
  attemptId: "a",
  worker,
  stream,
  atMs: null,
  text,
});

it("puts the rank in front of every line, also of one that came in pieces between another worker's", async () => {
  const said = await written(
    [chunk(0, "on"), chunk(1, "two\nthr"), chunk(0, "e\n"), chunk(1, "ee\n"), chunk(0, "open")],
    true,
  );
  expect(said.stdout).toBe("[1] two\n[0] one\n[1] three\n[0] open\n");
});

it("keeps what came on stderr there", async () => {
  const said = await written([chunk(0, "out\n"), chunk(0, "err\n", "stderr"), chunk(2, "last", "stderr")], true);
  expect([said.stdout, said.stderr]).toEqual(["[0] out\n", "[0] err\n[2] last\n"]);
});

it("leaves the output of a single worker as it is", async () => {
  expect((await written([chunk(0, "50%\r"), chunk(0, "100%\r\n")], false)).stdout).toBe("50%\r100%\r\n");
});

it("prints a line without an end in pieces and waits for its reader after each", async () => {
  const pieces = Array.from({ length: 5 }, () => chunk(0, "x".repeat(60_000)));
  const said = await written(pieces, true);
  expect(said.stdout.match(/^\[0\] x+$/gm)?.map((line) => line.length)).toEqual([120_004, 120_004, 60_004]);
  expect(said.waits).toBe(5);
});

const escapes = "\u001b]0;title\u0007\u001b[2Jred: \u001b[31mx\u001b[0m\u0007\u001b[";

it("removes escape sequences, also one that is split over two pieces, unless they are wanted", async () => {
  const pieces = [chunk(0, escapes), chunk(0, "1Aend\n")];
  expect((await written(pieces, false)).stdout).toBe("red: xend\n");
  expect((await written(pieces, true)).stdout).toBe("[0] red: xend\n");
  expect((await written(pieces, false, { raw: true })).stdout).toBe(`${escapes}1Aend\n`);
});

it("removes characters that reorder a line, unless they are wanted", async () => {
  const pieces = [chunk(0, "safe \u202erm -rf\u202c \u2066x\u2069\n")];
  expect((await written(pieces, false)).stdout).toBe("safe rm -rf x\n");
  expect((await written(pieces, false, { raw: true })).stdout).toBe("safe \u202erm -rf\u202c \u2066x\u2069\n");
});

it("puts the time of a line's beginning in front of it", async () => {
  const pieces = [
    { ...chunk(0, "a\nbe"), atMs: 0 },
    { ...chunk(0, "gun\nc\n"), atMs: 1_500 },
  ];
  expect((await written(pieces, false, { timestamps: true })).stdout).toBe(
    "1970-01-01T00:00:00.000Z a\n1970-01-01T00:00:00.000Z begun\n1970-01-01T00:00:01.500Z c\n",
  );
});

it("prints the lines that match alone", async () => {
  expect((await written([chunk(0, "loss 1\nother\nlo"), chunk(0, "ss 2\n")], false, { grep: /^loss/u })).stdout).toBe(
    "loss 1\nloss 2\n",
  );
});
