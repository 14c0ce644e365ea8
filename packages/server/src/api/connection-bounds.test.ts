import { createServer } from "node:http";
import type { Server } from "node:http";
import { once } from "node:events";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConnectionBounds } from "./connection-bounds.ts";

const STRANGERS_MAX = 20;
let server: Server;
let sockets: Socket[];

beforeEach(async () => {
  server = createServer((request, response) => {
    if (request.headers.authorization === "right") bounds.authenticated(request.socket);
    response.end("ok");
  });
  const bounds = new ConnectionBounds(server, STRANGERS_MAX);
  sockets = [];
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
});

/** Opens a connection that sends these bytes first. */
async function open(bytes: string): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  socket.on("data", () => undefined);
  await once(socket, "connect");
  if (bytes !== "") socket.write(bytes);
  return socket;
}

const head = (authorization: string): string => `GET / HTTP/1.1\r\nHost: a\r\n${authorization}\r\n`;
const known = head("Authorization: right\r\n");
const answered = (socket: Socket): Promise<unknown> => once(socket, "data");

/** Ways to hold a connection without authenticating. */
const strangers: Readonly<Record<string, string>> = {
  "that send nothing": "",
  "that send a part of a head": "GET / HTTP/1.1\r\nX: ",
  "that send a request line": "GET / HTTP/1.1\r\n",
  "that send a wrong token": head("Authorization: wrong\r\n"),
  "that send no token": head(""),
  "that send a body slowly": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx",
};

describe.for(Object.entries(strangers))("connections %s", ([, bytes]) => {
  it.for([20, 21, 60, 200])("do not keep an authenticated client out when there are %i", async (count) => {
    const client = await open(known);
    await answered(client);
    for (let opened = 0; opened < count; opened++) await open(bytes);
    const newcomer = await open(known);
    await answered(newcomer);
    client.write(known);
    await answered(client);
    const connections = await new Promise((resolve) => server.getConnections((_error, open) => resolve(open)));
    expect(connections).toBeLessThanOrEqual(STRANGERS_MAX + 2);
  });
});

it("closes the oldest stranger first", async () => {
  const first = await open("");
  const closed = once(first, "close");
  const others = [];
  for (let opened = 0; opened < STRANGERS_MAX; opened++) others.push(await open(""));
  await closed;
  expect(others.every(({ destroyed }) => !destroyed)).toBe(true);
});
