/** Messages about incidents in the forms of PagerDuty and Alertmanager, as a real HTTP server gets them. */
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { notificationRules } from "../notifications/rules.ts";

type Json = Readonly<Record<string, unknown>>;

let home: string;
let server: Server;
let live: LiveControlPlane | null = null;
/** Bodies by path, in the order of arrival. */
let received: Record<string, Json[]>;

beforeEach(async () => {
  home = temporaryHome();
  received = {};
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += String(piece)));
    request.on("end", () => {
      (received[request.url ?? ""] ??= []).push(JSON.parse(body) as Json);
      response.writeHead(202).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  await live?.close();
  server.closeAllConnections();
  server.close();
  removeHome(home);
});

async function start(): Promise<LiveControlPlane> {
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keyFile = path.join(home, "key");
  mkdirSync(home, { recursive: true });
  writeFileSync(keyFile, "routing-key\n");
  writeFileSync(
    path.join(home, "runbooks.yaml"),
    "kind: runbook\nfor: [xid-79]\ntext: Reseat the card.\nurl: https://wiki.example/79\n",
  );
  const on = ["incident"];
  const rules = notificationRules.parse({
    notify: [
      { on, webhook: `${base}/pagerduty`, format: "pagerduty", routingKeyFile: keyFile },
      { on, webhook: `${base}/alerts`, format: "alertmanager" },
      { on, webhook: `${base}/of-a`, team: "a" },
    ],
  });
  live = await startLive(home, {
    local: { nodeName: "n1", slotCount: 2, accelerators: "declared" },
    notifications: rules.notify,
    notificationPausesMs: [1],
    incidentSettleMs: 0,
  });
  return live;
}

const fault = { code: "xid-79", severity: "critical", device: "0000:3b:00", detail: "fell off the bus" } as const;
async function got(name: string, count: number): Promise<void> {
  await expect.poll(() => received[name]?.length ?? 0, { timeout: 20_000 }).toBe(count);
}
const alertIn = (at: number): Json | undefined =>
  (received["/alerts"]?.[at] as unknown as readonly Json[] | undefined)?.[0];

describe("messages about incidents", () => {
  it("open and end one alert of each receiver, open it again after a restart, and are sent once", async () => {
    const first = await start();
    await first.client.reportFaults("n1", { faults: [fault] });
    await got("/pagerduty", 1);
    await got("/alerts", 1);
    const [incident] = (await first.client.listIncidents()).items;
    const id = incident?.id ?? "";
    expect(received["/pagerduty"]?.[0]).toEqual({
      routing_key: "routing-key",
      dedup_key: `headroom ${id}`,
      event_action: "trigger",
      links: [{ href: "https://wiki.example/79", text: "Runbook for xid-79" }],
      payload: {
        summary: expect.stringMatching(
          /^Headroom: incident i\d+ opened: Node n1 has faults: xid-79 .*fell off.* Runbook for xid-79: Reseat the card\. https:/,
        ) as string,
        source: "node n1",
        severity: "critical",
        timestamp: new Date(incident?.startedAtMs ?? 0).toISOString(),
        class: "incident",
        custom_details: expect.objectContaining({ id, what: "opened", nodes: 1, teams: [] }) as object,
      },
    });
    const opened = alertIn(0);
    expect(Date.parse(String(opened?.["endsAt"]))).toBeGreaterThan(Date.now() + 86_400_000);

    await first.close();
    const second = await start();
    await second.client.annotateIncident(id, { kind: "resolve" });
    await got("/pagerduty", 2);
    await got("/alerts", 2);
    expect(received["/pagerduty"]?.[1]).toEqual({
      routing_key: "routing-key",
      dedup_key: `headroom ${id}`,
      event_action: "resolve",
    });
    const ended = alertIn(1);
    expect(ended?.["labels"]).toEqual(opened?.["labels"]);
    expect(Date.parse(String(ended?.["endsAt"]))).toBeLessThanOrEqual(Date.now());

    await second.client.reportFaults("n1", { faults: [fault] });
    await got("/pagerduty", 3);
    expect(received["/pagerduty"]?.[2]).toMatchObject({ event_action: "trigger" });
    await got("/alerts", 3);
    const announced = (): unknown =>
      (JSON.parse(readFileSync(path.join(home, "incidents.json"), "utf8")) as { announced: unknown }).announced;
    await expect.poll(announced).toEqual([[id, "opened"]]);
    await second.close();
    live = null;
    // The rule of a team gets nothing about an incident without work of the team.
    expect(received["/of-a"]).toBeUndefined();
    expect(announced()).toEqual([[id, "opened"]]);
  });
});
