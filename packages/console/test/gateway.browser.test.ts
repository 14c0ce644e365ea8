/** Tests the page of a gateway, at its own admin address and in the console of a control plane. */
import { spawn, type ChildProcess } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { newHome, removeHome, said, startControlPlane, type ControlPlane } from "./control-plane.ts";

const main = path.resolve(import.meta.dirname, "..", "..", "cli", "src", "main.ts");

interface Gateway {
  readonly url: string;
  readonly admin: string;
  readonly tokenFile: string;
  stop(): Promise<void>;
}

/** A gateway whose only replica refuses connections. */
async function startGateway(home: string): Promise<Gateway> {
  const file = path.join(home, "gateway.yaml");
  const keys = `keys: [{ name: laptop, sha256: ${hash("sha256", "key")} }]`;
  writeFileSync(
    file,
    `listen: 127.0.0.1:0
admin: 127.0.0.1:0
state: ${home}/gateway
teams: [{ name: search, ${keys}, requestsPerMinute: 10, budget: 900 USD/month }]
pools: [{ name: local, engine: vllm, replicas: [{ id: node-17, url: "http://127.0.0.1:9" }] }]
models: [{ name: chat, pools: [local] }]
`,
  );
  const child: ChildProcess = spawn(process.execPath, [main, "gateway", "--config", file], {
    cwd: home,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  const [, url = "", admin = ""] = await said(child, /listens on (http:\S+), admin on (http:\S+)/);
  return {
    url,
    admin,
    tokenFile: path.join(home, "gateway", "gateway", "admin-token"),
    stop: async () => {
      if (child.exitCode === null) child.kill("SIGTERM");
      await ended;
    },
  };
}

describe.skipIf(chromiumPath === null)("the page of a gateway", () => {
  const home = newHome();
  let gateway: Gateway;
  let plane: ControlPlane;
  let browser: OpenBrowser;
  let page: Page;

  beforeAll(async () => {
    buildConsole();
    gateway = await startGateway(home);
    plane = await startControlPlane(home, 0, {
      options: ["--gateway", gateway.admin, "--gateway-token", gateway.tokenFile],
    });
    browser = await openBrowser();
    ({ page } = browser);
    const body = JSON.stringify({ model: "chat", messages: [] });
    const headers = { "content-type": "application/json", "x-api-key": "key" };
    await (await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", headers, body })).text();
  });
  afterAll(async () => {
    await browser.close();
    await plane.stop();
    await gateway.stop();
    removeHome(home);
  });

  const expectFigures = async (): Promise<void> => {
    await expectShown(page.getByText(/^gateway is (?:not )?ready: /));
    const team = page.getByRole("listitem", { name: "search" });
    await expectShown(team.getByText(/of 10 requests a minute/));
    await expectShown(team.getByText(/0\.00 USD of 900\.00 USD this month/));
    await team.getByText("1 key").click();
    await expectShown(team.getByText("laptop"));
    await expectShown(page.getByRole("row", { name: /^node-17/ }).getByText("unhealthy"));
    await expectShown(page.getByRole("region", { name: "Failed requests" }).getByText("503"));
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      const isWider = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      expect([width, isWider]).toEqual([width, false]);
      expect(await accessibilityViolations(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  };

  it("opens at the admin address with the token, and not without", async () => {
    await page.goto(`${gateway.admin}/`);
    const token = page.getByLabel("Admin token");
    await token.fill("a-token-that-is-wrong");
    await page.getByRole("button", { name: "Open" }).click();
    await expectShown(page.getByText("The gateway refuses this token."));
    await token.fill(readFileSync(gateway.tokenFile, "utf8"));
    await page.getByRole("button", { name: "Open" }).click();
    await expectFigures();
    await page.getByRole("button", { name: "Forget the token" }).click();
    await expectShown(token);
    // The browser itself reports the refused token.
    expect(browser.complaints.filter((each) => !each.includes("401"))).toEqual([]);
  });

  it("is a page of the console where the control plane knows the gateway", async () => {
    await page.goto(plane.loginUrl);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Gateway" }).first().click();
    await expectFigures();
    await gateway.stop();
    await expectShown(page.getByText(/This data may be outdated: The gateway does not answer/));
  });
});
