/**
 * A command inside the container of a worker, through the subresource `exec` of its pod (kubernetes.io/docs/reference/kubernetes-api, Pod;
 * the protocol is in k8s.io/apimachinery/pkg/util/remotecommand/constants.go: one byte with the channel, then its bytes).
 */
import { OperationalError } from "@headroom/platform";
import type { ExecChunk, ExecRequest, ExecSession, TerminalSize } from "../../executor.ts";
import type { ChannelSocket } from "../api/channel-socket.ts";
import { CHANNEL_PROTOCOLS } from "../api/channel-socket.ts";
import type { Connection } from "../api/connection.ts";
import { messageOf, StreamRefused } from "../api/connection.ts";
import { CONTAINER } from "./pod-names.ts";
import type { PodPlace } from "./watched-gang.ts";
import { podAt } from "./watched-gang.ts";

const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;
/** In which a channel can be closed. */
const [CLOSABLE] = CHANNEL_PROTOCOLS;
/** Bytes of output that wait for the reader. Then the command waits. */
const WAITING_BYTES_MAX = 256 * 1024;
/** Exit code if the connection ends before the command: its container was killed, or the server has gone. */
const CUT_OFF = 137;
/** Exit code of a command that cannot be executed, as of a shell. */
const NOT_STARTED = 126;
const START =
  'if [ -n "$1" ]; then cd -- "$1" || exit 127; fi; [ -z "$2" ] || { TERM=$2; export TERM; }; shift 2; exec "$@"';
const SHELL = ["/bin/sh", "-c", "command -v bash >/dev/null && exec bash; exec sh"];

/** Throws an `OperationalError` with the code `cannotExec`, with the reason of the API server if that refuses. */
export async function startPodExec(
  connection: Connection,
  place: PodPlace,
  workingDir: string,
  request: ExecRequest,
): Promise<ExecSession> {
  const session = new PodExec(request.terminal);
  const { path, pod } = execPath(place, workingDir, request);
  try {
    session.open(await connection.socket(path, (channel, data) => session.take(channel, data)));
  } catch (error) {
    throw new OperationalError("cannotExec", `No command can be run inside the pod ${pod}: ${reasonOf(error)}`, {
      retryable: false,
    });
  }
  return session;
}

function reasonOf(error: unknown): string {
  const message = messageOf(error);
  const rights = "Print the rights on pods/exec with: headroom kubernetes manifest --exec";
  if (error instanceof StreamRefused && error.status === 403) return `the API server forbids it (403). ${rights}.`;
  return `${message.replace(/\.$/, "")}.`;
}

/** Pure. The words are arguments, so no shell interprets them. */
export function execPath(
  place: PodPlace,
  workingDir: string,
  { worker, command, terminal }: ExecRequest,
): { readonly path: string; readonly pod: string } {
  const pod = podAt(place, worker).name;
  const words = command.length > 0 ? command : SHELL;
  const query = new URLSearchParams({
    container: place.pods?.[worker]?.container ?? CONTAINER,
    stdin: "true",
    stdout: "true",
    stderr: String(terminal === null),
    tty: String(terminal !== null),
  });
  for (const word of ["/bin/sh", "-c", START, "headroom-exec", workingDir, terminal?.type ?? "", ...words])
    query.append("command", word);
  const namespace = encodeURIComponent(place.namespace);
  return { path: `/api/v1/namespaces/${namespace}/pods/${encodeURIComponent(pod)}/exec?${query.toString()}`, pod };
}

class PodExec implements ExecSession {
  readonly ended: Promise<number>;
  readonly #resolveEnded: (code: number) => void;
  readonly #terminal: ExecRequest["terminal"];
  readonly #waiting: ExecChunk[] = [];
  #isCut = false;
  #socket: ChannelSocket | null = null;
  #waitingBytes = 0;
  #isOver = false;
  #wake: () => void = () => undefined;

  constructor(terminal: ExecRequest["terminal"]) {
    this.#terminal = terminal;
    const { promise, resolve } = Promise.withResolvers<number>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  open(socket: ChannelSocket): void {
    this.#socket = socket;
    void socket.closed.then(() => {
      if (this.#isOver) return;
      this.#isCut = true;
      this.#push("stderr", Buffer.from("headroom: the connection to the pod was lost\n"));
      this.#end(CUT_OFF);
    });
    if (this.#terminal !== null) this.resize(this.#terminal);
  }

  take(channel: number, data: Buffer): void {
    if (channel === CHANNELS.status) {
      const { code, message } = exitOf(data);
      if (message !== null) this.#push("stderr", Buffer.from(`headroom: ${message}\n`));
      this.#end(code);
      this.#socket?.close();
    } else if (channel === CHANNELS.stdout || channel === CHANNELS.stderr)
      this.#push(channel === CHANNELS.stdout ? "stdout" : "stderr", data);
  }

  async *output(): AsyncGenerator<ExecChunk> {
    for (;;) {
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) {
        this.#waitingBytes -= chunk.data.byteLength;
        if (this.#waitingBytes < WAITING_BYTES_MAX) this.#socket?.resume();
        yield chunk;
      } else if (this.#isOver) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  write(data: Uint8Array): Promise<void> {
    return this.#send(CHANNELS.stdin, data);
  }

  endInput(): void {
    if (this.#isOver) return;
    if (this.#socket?.protocol === CLOSABLE) void this.#send(CHANNELS.close, Uint8Array.of(CHANNELS.stdin));
    else if (this.#terminal === null)
      this.#push(
        "stderr",
        Buffer.from("headroom: this API server cannot pass on the end of the input; Kubernetes 1.30 can\n"),
      );
  }

  resize({ rows, columns }: TerminalSize): void {
    if (this.#terminal === null) return;
    void this.#send(CHANNELS.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows })));
  }

  /** A terminal hangs up its command. Other commands end at their next output. */
  close(): void {
    this.#socket?.close();
    this.#end(CUT_OFF);
  }

  #push(stream: ExecChunk["stream"], data: Buffer): void {
    if (data.length === 0) return;
    this.#waiting.push({ stream, data });
    this.#waitingBytes += data.length;
    if (this.#waitingBytes >= WAITING_BYTES_MAX) this.#socket?.pause();
    this.#wake();
  }

  #send(channel: number, data: Uint8Array): Promise<void> {
    return this.#isOver || this.#socket === null ? Promise.resolve() : this.#socket.send(channel, data);
  }

  #end(code: number): void {
    this.#isOver = true;
    this.#resolveEnded(code);
    this.#wake();
  }
}

/** The `Status` of the command: success, an exit code, or the reason why it did not run. */
function exitOf(data: Buffer): { readonly code: number; readonly message: string | null } {
  try {
    const status = JSON.parse(data.toString("utf8")) as {
      readonly status?: unknown;
      readonly message?: unknown;
      readonly details?: { readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[] };
    };
    if (status.status === "Success") return { code: 0, message: null };
    const code = Number(status.details?.causes?.find(({ reason }) => reason === "ExitCode")?.message);
    if (Number.isSafeInteger(code)) return { code, message: null };
    const { message } = status;
    return { code: NOT_STARTED, message: typeof message === "string" ? message : "the command could not be run" };
  } catch {
    return { code: NOT_STARTED, message: "the answer of the API server cannot be read" };
  }
}
