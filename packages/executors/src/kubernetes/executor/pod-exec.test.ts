import { expect, it } from "vitest";
import type { Connection } from "../api/connection.ts";
import { StreamRefused } from "../api/connection.ts";
import { execPath, startPodExec } from "./pod-exec.ts";

const place = { version: 1, namespace: "ml", base: "hr-w1-1-abc" } as const;

/** A connection whose server the test plays. */
function played(protocol: string) {
  const sent: string[] = [];
  const { promise: closed, resolve: cut } = Promise.withResolvers<void>();
  const socket = {
    protocol,
    closed,
    send: async (channel: number, data: Uint8Array) => {
      sent.push(String.fromCharCode(channel) + Buffer.from(data).toString("latin1"));
    },
    pause: () => sent.push("pause"),
    resume: () => undefined,
    close: () => undefined,
  };
  let answer: (channel: number, data: Buffer) => void = () => undefined;
  const connection = {
    socket: (_: string, onMessage: typeof answer) => {
      answer = onMessage;
      return Promise.resolve(socket);
    },
  } as unknown as Connection;
  const say = (channel: number, text: string): void => answer(channel, Buffer.from(text));
  return { connection, sent, say, cut };
}

const request = { worker: 0, command: ["cat"], terminal: null };

it("passes the words on as arguments, and names the container of a pod of others", () => {
  const { path } = execPath(place, "/w", { worker: 2, command: ["echo", "a b", "$HOME"], terminal: null });
  const url = new URL(path, "https://server");
  expect(url.pathname).toBe("/api/v1/namespaces/ml/pods/hr-w1-1-abc-2/exec");
  expect(url.searchParams.getAll("command").slice(4)).toEqual(["/w", "", "echo", "a b", "$HOME"]);
  const pods = [{ name: "train-0", uid: "u", container: "main" }];
  const terminal = { rows: 1, columns: 1, type: "xterm" };
  const other = new URL(execPath({ ...place, version: 2, pods }, "", { ...request, terminal }).path, "https://server");
  expect([other.pathname, other.searchParams.get("container"), other.searchParams.get("tty")]).toEqual([
    "/api/v1/namespaces/ml/pods/train-0/exec",
    "main",
    "true",
  ]);
});

it("gives output, exit code and input their channels", async () => {
  const { connection, sent, say } = played("v5.channel.k8s.io");
  const session = await startPodExec(connection, place, "", request);
  await session.write(Buffer.from("in"));
  session.endInput();
  say(1, "out");
  say(2, "err");
  say(3, JSON.stringify({ status: "Failure", details: { causes: [{ reason: "ExitCode", message: "7" }] } }));
  const read: string[] = [];
  for await (const { stream, data } of session.output()) read.push(`${stream} ${Buffer.from(data).toString()}`);
  expect(read).toEqual(["stdout out", "stderr err"]);
  expect(await session.ended).toBe(7);
  expect(sent).toEqual(["\0in", "\xff\0"]);
});

it("says that an older server does not pass on the end of the input", async () => {
  const { connection, sent, cut } = played("v4.channel.k8s.io");
  const session = await startPodExec(connection, place, "", request);
  session.endInput();
  cut();
  const read: string[] = [];
  for await (const { data } of session.output()) read.push(Buffer.from(data).toString());
  expect(read.join("")).toContain("cannot pass on the end of the input");
  expect(read.at(-1)).toContain("the connection to the pod was lost");
  expect([await session.ended, session.isCut]).toEqual([137, true]);
  expect(sent).toEqual([]);
});

it("waits for a slow reader, and states why a command did not run", async () => {
  const { connection, sent, say } = played("v5.channel.k8s.io");
  const session = await startPodExec(connection, place, "", request);
  say(1, "x".repeat(300_000));
  expect(sent).toEqual(["pause"]);
  say(3, JSON.stringify({ status: "Failure", message: "no such container" }));
  const read: string[] = [];
  for await (const { data } of session.output()) read.push(Buffer.from(data).toString());
  expect(read.at(-1)).toBe("headroom: no such container\n");
  expect(await session.ended).toBe(126);
});

it("names the missing right", async () => {
  const connection = {
    socket: () => Promise.reject(new StreamRefused(403, "403 forbidden")),
  } as unknown as Connection;
  await expect(startPodExec(connection, place, "", request)).rejects.toMatchObject({
    code: "cannotExec",
    message: expect.stringContaining("headroom kubernetes manifest --exec"),
  });
});
