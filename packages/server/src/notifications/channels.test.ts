/** Channels that workloads name: chat webhooks and mail, against a real HTTP server and a small SMTP server. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import { createServer as createSocketServer } from "node:net";
import type { AddressInfo, Server as SocketServer } from "node:net";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { notificationRules } from "./rules.ts";

let home: string;
let live: LiveControlPlane | null = null;
let chat: Server;
let smtp: SocketServer;
let posted: string[];
let mails: string[];

const portOf = (server: Server | SocketServer): number => (server.address() as AddressInfo).port;

/** Accepts every mail: RFC 5321 with the commands that a client without authentication sends. */
function smtpServer(): SocketServer {
  return createSocketServer((socket) => {
    let isData = false;
    let text = "";
    socket.on("error", () => undefined);
    socket.write("220 test\r\n");
    socket.on("data", (piece) => {
      text += String(piece);
      for (
        let end = text.indexOf(isData ? "\r\n.\r\n" : "\r\n");
        end >= 0;
        end = text.indexOf(isData ? "\r\n.\r\n" : "\r\n")
      ) {
        const line = text.slice(0, end);
        text = text.slice(end + (isData ? 5 : 2));
        if (isData) mails.push(line);
        const begins = !isData && line.toUpperCase() === "DATA";
        isData = begins;
        socket.write(begins ? "354 go on\r\n" : line.toUpperCase() === "QUIT" ? "221 bye\r\n" : "250 ok\r\n");
      }
    });
  });
}

beforeEach(async () => {
  home = temporaryHome();
  posted = [];
  mails = [];
  chat = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += String(piece)));
    request.on("end", () => {
      posted.push(body);
      response.end();
    });
  }).listen(0, "127.0.0.1");
  smtp = smtpServer().listen(0, "127.0.0.1");
  await Promise.all([once(chat, "listening"), once(smtp, "listening")]);
  const addressFile = path.join(home, "slack-address");
  writeFileSync(addressFile, `http://127.0.0.1:${portOf(chat)}/T0/secret\n`);
  const channels = {
    slack: { webhookFile: addressFile, format: "slack" },
    cards: { webhook: `http://127.0.0.1:${portOf(chat)}/cards`, format: "teams" },
    mail: {
      mail: { smtp: `smtp://127.0.0.1:${portOf(smtp)}`, from: "headroom@example.org", to: ["ann@example.org"] },
    },
  };
  live = await startLive(home, {
    notifications: notificationRules.parse({ channels }).notify,
    notificationPausesMs: [1, 1],
  });
});
afterEach(async () => {
  await live?.close();
  chat.closeAllConnections();
  chat.close();
  smtp.close();
  removeHome(home);
});

const work = (name: string, notify: { to: string[]; on: ("start" | "end" | "maintenance")[] }) =>
  ({
    kind: "train",
    name,
    run: "exit 3",
    env: { TOKEN: "env-secret" },
    gang: { coresMilli: 0 },
    retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
    notify,
  }) as const;

it("sends what a workload asks for, in the form of each channel, without its environment", async () => {
  const client = live!.client;
  await client.submitWorkload(work("to-slack", { to: ["slack"], on: ["start", "end"] }));
  await client.submitWorkload(work("to-cards", { to: ["cards", "mail"], on: ["end"] }));
  await expect.poll(() => posted.length).toBe(3);
  await expect.poll(() => mails.length).toBe(1);
  const slack = posted.map((body) => JSON.parse(body) as { text?: string }).flatMap(({ text }) => text ?? []);
  expect(slack[0]).toContain("*Headroom: to-slack started (default)*");
  expect(slack[1]).toContain("*Headroom: to-slack failed (default)*");
  const card = posted.find((body) => body.includes("AdaptiveCard"));
  expect(card).toContain("Headroom: to-cards failed");
  expect(mails[0]).toMatch(/Subject: Headroom: to-cards failed \(default\)/);
  expect(mails[0]).toContain("worker 0 exited with code 3");
  expect([...posted, ...mails].join()).not.toContain("env-secret");
});

it("refuses a channel that the operator has not declared, at the submission and at a change", async () => {
  const client = live!.client;
  const unknown = { to: ["https-evil"], on: ["end" as const] };
  await expect(client.submitWorkload(work("x", unknown))).rejects.toMatchObject({
    code: "invalidRequest",
    message: expect.stringContaining("slack, cards or mail") as string,
  });
  const held = { ...work("y", { to: ["slack"], on: ["end"] }), hold: true } as const;
  const { workloadId } = await client.submitWorkload(held);
  await expect(client.changeWorkload(workloadId, { notify: unknown })).rejects.toMatchObject({
    code: "invalidRequest",
  });
  expect(() => notificationRules.parse({ channels: { a: { webhook: "file:///etc/passwd" } } })).toThrow("webhook");
  expect(() =>
    notificationRules.parse({
      channels: { a: { mail: { smtp: "smtp://u:p@h", from: "a@example.org", to: ["b@example.org"] } } },
    }),
  ).toThrow("passwordFile");
});
