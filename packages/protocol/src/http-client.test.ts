import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { createHttpClient } from "./http-client.ts";
import type { HttpRequest, HttpResponse } from "./http.ts";

/** A response as `fetch` returns it when the server closes the connection in the middle of an answer. */
function cutOff(pieces: readonly string[]): HttpResponse {
  const left = pieces.map((piece) => new TextEncoder().encode(piece));
  const gone = (): Promise<never> =>
    Promise.reject(new TypeError("terminated", { cause: new Error("other side closed") }));
  return {
    status: 200,
    headers: { get: () => null },
    text: gone,
    arrayBuffer: gone,
    body: {
      getReader: () => ({
        read: () => {
          const value = left.shift();
          return value === undefined ? gone() : Promise.resolve({ done: false, value });
        },
        cancel: () => Promise.resolve(),
      }),
    },
  };
}

const line = '{"attemptId":"w1.1","worker":0,"stream":"stdout","atMs":null,"text":"one\\n"}\n';

describe("a connection that breaks off", () => {
  it("is told as such, in a stream after all that came before", async () => {
    const client = createHttpClient({
      baseUrl: "http://here",
      fetch: () => Promise.resolve(cutOff([line, line.slice(0, 9)])),
    });
    const texts: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const { text } of client.logs("w1")) texts.push(text);
    };
    const expected = {
      code: "unreachable",
      message: expect.stringContaining("http://here broke off (other side closed)") as string,
    };
    await expect(reading()).rejects.toMatchObject(expected);
    expect(texts).toEqual(["one\n"]);
    await expect(client.status()).rejects.toMatchObject(expected);
  });

  it("is nothing to complain of for somebody who has left", async () => {
    const client = createHttpClient({ baseUrl: "http://here", fetch: () => Promise.resolve(cutOff([line])) });
    const terminating = new AbortController();
    const reading = async (): Promise<void> => {
      for await (const _ of client.logs("w1", { signal: terminating.signal })) terminating.abort();
    };
    await expect(reading()).rejects.toThrow("terminated");
  });
});

it("names the plain address of a server that does not speak TLS", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = createHttpClient({
    baseUrl: `https://127.0.0.1:${port}`,
    fetch: (address, request) => fetch(address, request as RequestInit),
  });
  await expect(client.status()).rejects.toMatchObject({
    code: "unreachable",
    message: `The server at https://127.0.0.1:${port} does not speak TLS. If it is a control plane, use http://127.0.0.1:${port}.`,
  });
  server.close();
});

describe("whom a client acts for", () => {
  it("is said with every request, and by none where nobody is named", async () => {
    const told: unknown[] = [];
    const fetch = (_url: string, { headers }: HttpRequest): Promise<HttpResponse> => {
      told.push((headers as Record<string, string>)["headroom-user"]);
      return Promise.resolve(cutOff([]));
    };
    for (const user of ["alice", undefined]) {
      const client = createHttpClient({ baseUrl: "http://here", user, fetch });
      await expect(client.status()).rejects.toMatchObject({ code: "unreachable" });
      await expect(client.stopWorkload("w1")).rejects.toMatchObject({ code: "unreachable" });
    }
    expect(told).toEqual(["alice", "alice", undefined, undefined]);
  });

  it("is a name that the control plane takes, or there is no client", () => {
    const fetch = (): never => {
      throw new Error("asked");
    };
    for (const user of ["", "a b", "a\r\nauthorization: x", "token"])
      expect(() => createHttpClient({ baseUrl: "http://here", user, fetch })).toThrow(/user/);
  });
});
