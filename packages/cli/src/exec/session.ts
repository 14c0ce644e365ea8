/** A command inside a worker, connected to the terminal of this program. */
import type { ExecOutput, ExecRequestInput, ExecStarted, HeadroomClient } from "@headroom/protocol";
import { setTimeout as delay } from "node:timers/promises";
import { CliError, exitCode, exitCodeOfCommand, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { isProblemError } from "../describe-error.ts";
import type { Screen, Terminal, TerminalSize } from "../terminal.ts";
import { HangUpKeys } from "./hang-up-keys.ts";

/** Bytes of input in one request. The API takes no more. */
const INPUT_BYTES_MAX = 65_536;
/** Pause in ms before input is sent again that the command did not take. */
const RETRY_MS = 200;

export interface SessionRequest extends Omit<ExecRequestInput, "terminal"> {
  /** Whether the command gets a terminal if this program has one. */
  readonly wantsTerminal: boolean;
}

/** Runs the command to its end. Returns its exit code. */
export async function runSession(
  { terminal }: CommandContext,
  client: HeadroomClient,
  workloadId: string,
  { wantsTerminal, ...request }: SessionRequest,
): Promise<ExitCode> {
  const { screen, env, interrupted } = terminal;
  const type = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/.test(env["TERM"] ?? "") ? (env["TERM"] ?? "") : "dumb";
  const isShown = wantsTerminal && screen !== undefined;
  const size = screen?.size();
  const started = await client.startExec(workloadId, {
    ...request,
    ...(isShown ? { terminal: { ...(size ?? screen.size()), type } } : {}),
  });
  const over = new AbortController();
  const output = client.execOutput(started.id, { signal: AbortSignal.any([interrupted, over.signal]) });
  const stopRaw = isShown ? begin(screen, size, { client, id: started.id, signal: over.signal }) : () => undefined;
  const typing = forward({ terminal, client, started, over, keys: isShown ? new HangUpKeys() : null });
  try {
    return await show(terminal, output);
  } catch (error) {
    if (interrupted.aborted) return exitCode.interrupted;
    if (over.signal.aborted) return exitCode.failed;
    throw error;
  } finally {
    stopRaw();
    over.abort();
    await Promise.race([client.endExec(started.id).catch(() => undefined), delay(1_000, undefined, { ref: false })]);
    terminal.stdin.destroy();
    await typing;
  }
}

interface Destination {
  readonly client: HeadroomClient;
  readonly id: string;
  readonly signal: AbortSignal;
}

/** Passes keys and sizes on. Returns a function that restores the terminal. */
function begin(screen: Screen, sent: TerminalSize | undefined, { client, id, signal }: Destination): () => void {
  const sendSize = (): void => {
    // A size that does not arrive is followed by the next one.
    client.execInput(id, { size: screen.size() }, { signal }).catch(() => undefined);
  };
  const offResize = screen.onResize(sendSize);
  const { rows, columns } = screen.size();
  // The terminal can have changed while the command was started.
  if (rows !== sent?.rows || columns !== sent.columns) sendSize();
  screen.setRaw(true);
  return () => {
    offResize();
    screen.setRaw(false);
  };
}

async function show(terminal: Terminal, output: AsyncIterable<ExecOutput>): Promise<ExitCode> {
  for await (const piece of output) {
    if ("exitCode" in piece) return exitCodeOfCommand(piece.exitCode);
    const sink = terminal[piece.stream];
    sink.write(Buffer.from(piece.data, "base64"));
    await sink.drained();
  }
  throw new CliError("the session ended without an exit code: the control plane was stopped, or lost it");
}

interface Typing {
  readonly terminal: Terminal;
  readonly client: HeadroomClient;
  readonly started: ExecStarted;
  /** Aborted here if the user hangs up. */
  readonly over: AbortController;
  readonly keys: HangUpKeys | null;
}

/** Sends the input piece by piece: a request is sent when the command has taken the one before. */
async function forward({ terminal, client, started: { id }, over, keys }: Typing): Promise<void> {
  const { signal } = over;
  try {
    for await (const chunk of terminal.stdin) {
      const bytes = Buffer.from(chunk as Uint8Array);
      for (let at = 0; at < bytes.length; at += INPUT_BYTES_MAX)
        await send(client, id, bytes.subarray(at, at + INPUT_BYTES_MAX), signal);
      if (keys?.isHangUp(bytes) === true) over.abort();
      if (signal.aborted) return;
    }
    await client.execInput(id, { end: true }, { signal });
  } catch {
    // The session is over, or the connection is lost: the output says which.
  }
}

async function send(client: HeadroomClient, id: string, bytes: Buffer, signal: AbortSignal): Promise<void> {
  const data = bytes.toString("base64");
  for (;;) {
    try {
      await client.execInput(id, { data }, { signal });
      return;
    } catch (error) {
      if (!isProblemError(error) || error.code !== "overloaded") throw error;
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}
