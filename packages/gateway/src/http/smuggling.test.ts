/**
 * Compares the framing of requests with Node's parser, and with a corpus of request-smuggling attempts. The gateway may
 * be stricter than Node. The two must never see different requests in the same bytes, since the bytes after a
 * disagreement are another user's request.
 */
import { createServer, type IncomingMessage } from "node:http";
import { connect, createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClientConnection, type ClientPort } from "./client-connection.ts";
import { BodySlabs } from "./body-slabs.ts";
import { FairTurns } from "./fair-turns.ts";
import { MemoryBudget } from "./memory-budget.ts";
import { SharedBudget } from "./shared-budget.ts";

interface Seen {
  readonly method: string;
  readonly target: string;
  readonly body: string;
}

const seenHere: Seen[][] = [];
const seenByNode: Seen[][] = [];

/** Answers every request at once and records it. */
function port(seen: Seen[]): ClientPort {
  return {
    bounds: {
      headBytesMax: 16_384,
      bodyBytesMax: 65_536,
      headTimeoutMs: 1e6,
      bodyTimeoutMs: 1e6,
      idleTimeoutMs: 1e6,
      stallTimeoutMs: 1e6,
    },
    bodies: new SharedBudget(1 << 20),
    turns: new FairTurns(),
    answers: new MemoryBudget(1 << 20),
    slabs: new BodySlabs(),
    now: () => 0,
    acceptsHead: () => true,
    handle(connection, head, body) {
      seen.push({ method: head.method, target: head.target, body: body.toString("latin1") });
      connection.writeHead(
        `HTTP/1.1 200 OK\r\ncontent-length: 0\r\n${connection.isLastRequest ? "connection: close\r\n" : ""}\r\n`,
        Buffer.alloc(0),
      );
      connection.finish();
    },
    refuseMessage: (connection, _, { status }) =>
      connection.refuse(Buffer.from(`HTTP/1.1 ${status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)),
    closed: () => undefined,
  };
}

let here: Server;
let node: ReturnType<typeof createServer>;

beforeAll(async () => {
  here = createTcpServer({ pauseOnConnect: true }, (socket) => {
    const seen: Seen[] = [];
    seenHere.push(seen);
    new ClientConnection(socket, port(seen));
  });
  node = createServer({ requireHostHeader: true, insecureHTTPParser: false, maxHeaderSize: 16_384 });
  node.on("connection", (socket) => {
    const seen: Seen[] = [];
    seenByNode.push(seen);
    Object.assign(socket, { seen });
  });
  node.on("request", (request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { seen } = request.socket as unknown as { seen: Seen[] };
      seen.push({
        method: request.method ?? "",
        target: request.url ?? "",
        body: Buffer.concat(chunks).toString("latin1"),
      });
      response.end();
    });
  });
  node.on("checkContinue", (request, response) => node.emit("request", request, response));
  node.on("clientError", (_, socket) => socket.destroy());
  await new Promise<void>((resolve) => here.listen(0, "127.0.0.1", resolve));
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
});

afterAll(() => {
  here.close();
  node.closeAllConnections();
  node.close();
});

/** Sends the bytes in pieces, half-closes the connection, and waits until the other side closes. */
function exchange(server: Server, pieces: readonly Buffer[]): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("data", () => undefined);
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
    for (const piece of pieces) socket.write(piece);
    socket.end();
  });
}

async function bothSee(
  pieces: readonly Buffer[],
): Promise<{ readonly own: readonly Seen[]; readonly theirs: readonly Seen[] }> {
  seenHere.length = 0;
  seenByNode.length = 0;
  await Promise.all([exchange(here, pieces), exchange(node as unknown as Server, pieces)]);
  return { own: seenHere[0] ?? [], theirs: seenByNode[0] ?? [] };
}

/** The requests that the gateway accepted must be the first requests that Node read, in the same order. */
async function expectNoDisagreement(bytes: string | Buffer, cuts: readonly number[] = []): Promise<number> {
  const whole = typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes;
  const ends = [...cuts.filter((cut) => cut > 0 && cut < whole.length).toSorted((a, b) => a - b), whole.length];
  let from = 0;
  const pieces = ends.map((end) => {
    const piece = whole.subarray(from, end);
    from = end;
    return piece;
  });
  const { own, theirs } = await bothSee(pieces);
  expect(theirs.slice(0, own.length), whole.toString("latin1")).toEqual(own);
  return own.length;
}

const post = (headers: string, body: string): string => `POST /a HTTP/1.1\r\nHost: h\r\n${headers}\r\n${body}`;
const next = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";

/**
 * Requests that must all be refused, so that none reaches a replica. Sources: PortSwigger's catalogue, CVE-2019-16276,
 * -2020-8287, -2022-32213 to 32215, -2023-30589.
 */
const refused: Readonly<Record<string, string>> = {
  "CL.TE": post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${next}`),
  "TE.CL": post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", `0\r\n\r\n${next}`),
  "two lengths": post("Content-Length: 0\r\nContent-Length: 40\r\n", next),
  "two equal lengths": post("Content-Length: 1\r\nContent-Length: 1\r\n", "a"),
  "length list": post("Content-Length: 1, 1\r\n", "a"),
  "signed length": post("Content-Length: +1\r\n", "a"),
  "hexadecimal length": post("Content-Length: 0x1\r\n", "a"),
  "spaced length": post("Content-Length: 1 1\r\n", "a"),
  "empty length": post("Content-Length: \r\n", next),
  "huge length": post("Content-Length: 99999999999999999999\r\n", "a"),
  "two codings": post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"),
  "coding list": post("Transfer-Encoding: identity, chunked\r\n", "0\r\n\r\n"),
  "repeated coding": post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
  "unknown coding": post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
  "coding and a no-break space": post("Transfer-Encoding: chunked\u00A0\r\n", "0\r\n\r\n"),
  "no-break space and coding": post("Transfer-Encoding: \u00A0chunked\r\n", "0\r\n\r\n"),
  "length and a no-break space": post("Content-Length: 1\u00A0\r\n", "a"),
  "coding and a next line": post("Transfer-Encoding: chunked\u0085\r\n", "0\r\n\r\n"),
  "coding and a vertical tab": post("Transfer-Encoding: chunked\v\r\n", "0\r\n\r\n"),
  "quoted coding": post('Transfer-Encoding: "chunked"\r\n', "0\r\n\r\n"),
  "space before the colon": post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
  "tab before the colon": post("Content-Length\t: 5\r\n", "abcde"),
  "folded line": post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"),
  "leading blank in a name": post(" Content-Length: 5\r\n", "abcde"),
  "bare LF": "POST /a HTTP/1.1\nHost: h\nContent-Length: 0\n\n",
  "bare LF in a value": post("X: a\nContent-Length: 5\r\n", "abcde"),
  "bare CR in a value": post("X: a\rContent-Length: 5\r\n", "abcde"),
  "NUL in a value": post("X: a\0b\r\n", ""),
  "NUL in a name": post("X\0: a\r\n", ""),
  "no host": "GET /a HTTP/1.1\r\n\r\n",
  "two hosts": "GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
  "blank in the target": "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
  "version 1.2": "GET /a HTTP/1.2\r\nHost: h\r\n\r\n",
  "version 2.0": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "no version": "GET /a\r\nHost: h\r\n\r\n",
  "chunked in HTTP/1.0": "POST /a HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "chunk size with a sign": post("Transfer-Encoding: chunked\r\n", "+5\r\nabcde\r\n0\r\n\r\n"),
  "chunk size with 0x": post("Transfer-Encoding: chunked\r\n", "0x5\r\nabcde\r\n0\r\n\r\n"),
  "chunk size with a blank": post("Transfer-Encoding: chunked\r\n", "5 \r\nabcde\r\n0\r\n\r\n"),
  "empty chunk size": post("Transfer-Encoding: chunked\r\n", "\r\nabcde\r\n0\r\n\r\n"),
  "huge chunk size": post("Transfer-Encoding: chunked\r\n", "fffffffff\r\nabcde\r\n0\r\n\r\n"),
  "chunk ended by LF": post("Transfer-Encoding: chunked\r\n", "5\nabcde\r\n0\r\n\r\n"),
  "chunk data ended by LF": post("Transfer-Encoding: chunked\r\n", "5\r\nabcde\n0\r\n\r\n"),
  "chunk longer than its size": post("Transfer-Encoding: chunked\r\n", "3\r\nabcde\r\n0\r\n\r\n"),
  "LF in a chunk extension": post("Transfer-Encoding: chunked\r\n", "5;a\nb\r\nabcde\r\n0\r\n\r\n"),
  "CR in a chunk extension": post("Transfer-Encoding: chunked\r\n", "5;a\rb\r\nabcde\r\n0\r\n\r\n"),
  "trailer without a colon": post("Transfer-Encoding: chunked\r\n", "0\r\nabc\r\n\r\n"),
  "too many headers": post("X: 1\r\n".repeat(200), ""),
  "too large a head": post(`X: ${"a".repeat(20_000)}\r\n`, ""),
};

describe("a request-smuggling corpus", () => {
  it.each(Object.entries(refused))("refuses: %s", async (_, bytes) => {
    const { own } = await bothSee([Buffer.from(bytes, "latin1")]);
    expect(own).toEqual([]);
  });

  it("reads what is plain, cut at every byte", async () => {
    const plain =
      post("Content-Length: 3\r\n", "abc") +
      post("Transfer-Encoding: chunked\r\n", "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n") +
      next;
    for (let cut = 0; cut < plain.length; cut += 3) expect(await expectNoDisagreement(plain, [cut])).toBe(3);
  });
});

/** Random numbers (xorshift32). A failed case states its seed. */
function random(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const tokens = [
  "\r\n",
  "\n",
  "\r",
  "\0",
  " ",
  "\t",
  ":",
  ",",
  ";",
  "0",
  "5",
  "a",
  "chunked",
  "Content-Length: 3\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Host: h\r\n",
  "HTTP/1.0",
  "Connection: close\r\n",
  "Expect: 100-continue\r\n",
  "\x80",
  "\x7f",
  "%00",
  "0\r\n\r\n",
];
const corpus = [
  ...Object.values(refused),
  post("Content-Length: 3\r\n", "abc") + next,
  post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n") + next,
  `${next}${next}${next}`,
];

function mutated(pick: (below: number) => number): string {
  let bytes = corpus[pick(corpus.length)]!;
  for (let count = 1 + pick(4); count > 0; count--) {
    const at = pick(bytes.length + 1);
    const length = pick(3) === 0 ? pick(8) : 0;
    bytes = bytes.slice(0, at) + tokens[pick(tokens.length)]! + bytes.slice(at + length);
  }
  return pick(4) === 0 ? bytes + corpus[pick(corpus.length)]! : bytes;
}

describe("differential fuzzing against Node's parser", () => {
  const runs = Number(process.env["HEADROOM_RUNS"] ?? 1) * 400;

  it(`sees the same requests in ${runs} mutated streams`, async () => {
    let acceptedCount = 0;
    const firstSeed = Number(process.env["HEADROOM_SEED"] ?? 1);
    for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
      const pick = random(seed * 2_654_435_761);
      const bytes = mutated(pick);
      acceptedCount += await expectNoDisagreement(bytes, [pick(bytes.length), pick(bytes.length)]).catch(
        (error: unknown) => {
          throw new Error(`seed ${seed}`, { cause: error });
        },
      );
    }
    // The generated requests must include some that are accepted. Otherwise the test shows nothing.
    expect(acceptedCount).toBeGreaterThan(runs / 20);
  });
});
