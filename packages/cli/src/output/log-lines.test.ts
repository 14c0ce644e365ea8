import { Readable } from "node:stream";
import { expect, it } from "vitest";
import type { LogChunk } from "@headroom/protocol";
import type { Sink, Terminal } from "../terminal.ts";
import { writeLogs } from "./log-lines.ts";

/** Output for these chunks, and the number of bytes written before the reader caught up. */
async function written(chunks: readonly LogChunk[], isTagged: boolean) {
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
  await writeLogs(terminal, Readable.from(chunks), { isTagged, json: false });
  return { ...said, waits };
}

const chunk = (worker: number, text: string, stream: LogChunk["stream"] = "stdout"): LogChunk => ({
  attemptId: "a",
  worker,
  stream,
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
