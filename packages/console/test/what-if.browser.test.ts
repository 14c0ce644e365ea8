/**
 * Tests the what-if page. The engine simulates in the browser, on the demo's fleet or on the state of a control plane.
 */
import { problemOf } from "@headroom/protocol";
import { teamShares } from "@headroom/views";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { newHome, removeHome, startControlPlane, type ControlPlane } from "./control-plane.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

const answered = (page: Page, text: RegExp): Promise<void> => page.getByText(text).waitFor();

describe.skipIf(chromiumPath === null)("what if, in the demo", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  let page: Page;
  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser();
    ({ page } = browser);
    await page.goto(`${server.url}/?demo`);
    await page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
    await page.getByRole("button", { name: "Pause simulated time" }).click();
    await page.evaluate(() => window.location.assign("#/what-if"));
    await expectShown(page.getByRole("button", { name: "Simulate", exact: true }));
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  it("simulates nothing before something is changed", async () => {
    expect(await page.getByRole("button", { name: "Simulate", exact: true }).isDisabled()).toBe(true);
    await expectShown(page.getByText("No change yet"));
  });

  it("shows the next hours beside each other, and whose start moves", async () => {
    await page.getByRole("spinbutton", { name: /^h100/ }).fill("-40");
    await page.getByRole("button", { name: "Simulate", exact: true }).click();
    await answered(page, /In the next 12 h, if the [\d,]+ submissions of the last .* recur .* and [1-9]\d* later/);
    // The first part of the result says which teams lose, and how much.
    const result = page.getByRole("region", { name: "Result" });
    await expectShown(result.getByText(/^\d+ workloads? starts? .* later/).first());
    await expectShown(result.getByText(/[1-9]\d* interrupted; [\d.,]+ accelerator-hours? repeated/).first());
    expect((await result.boundingBox())?.y).toBeLessThan(
      (await page.getByRole("region", { name: "Accelerators in use" }).boundingBox())?.y ?? 0,
    );
    await expectShown(page.getByText("Vertical: accelerators in use").first());
    const [use] = await page.getByRole("img", { name: /^Accelerators in use/ }).all();
    expect(await use?.getAttribute("aria-label")).toMatch(/as things are: .*; with the change: /);
    await expectShown(
      page
        .getByRole("region", { name: "Starts" })
        .getByText(/later$/)
        .first(),
    );
    await expectShown(
      page
        .getByRole("region", { name: "Interruptions" })
        .getByText(/^now, (no restart within|restarts) /)
        .first(),
    );
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("takes other figures of teams and another policy", async () => {
    await page.getByRole("spinbutton", { name: /^h100/ }).fill("0");
    await page.getByRole("combobox", { name: "Policy" }).selectOption("fifo");
    await page.getByRole("combobox", { name: "Change teams" }).selectOption("research");
    const figures = page.getByRole("group", { name: "research" });
    await figures.getByRole("spinbutton", { name: "Limit of H100-SXM" }).fill("8");
    await page.getByText("6 h", { exact: true }).click();
    await page.getByRole("button", { name: "Simulate", exact: true }).click();
    await answered(page, /In the next 6 h/);
    const row = page.getByRole("region", { name: "Accelerators by team" }).getByRole("row", { name: /^research / });
    expect(await row.getByRole("cell").last().textContent()).toMatch(/^-\d/);
    expect(await accessibilityViolations(page)).toEqual([]);
    await figures.getByRole("button", { name: "Leave research as it is" }).click();
    await figures.waitFor({ state: "detached" });
  });

  it("says that the demo keeps nothing to replay", async () => {
    await page.getByText("Recorded work", { exact: true }).click();
    await page.getByRole("button", { name: "Replay" }).click();
    await expectShown(page.getByRole("alert").getByText(/keeps no journal/));
    expect(browser.complaints).toEqual([]);
  });
});

describe.skipIf(chromiumPath === null)("what if, on a control plane", () => {
  const home = newHome();
  let plane: ControlPlane;
  let browser: OpenBrowser;
  let page: Page;
  beforeAll(async () => {
    buildConsole();
    plane = await startControlPlane(home);
    const gang = { accelerators: 3, coresMilli: 0, memoryMib: 0 };
    await plane.apply(["a", "b", "c"].map((name) => ({ kind: "train", name, run: "sleep 600", gang })));
    browser = await openBrowser();
    ({ page } = browser);
    await page.goto(plane.loginUrl);
    await page
      .getByRole("navigation", { name: "Main" })
      .getByRole("link", { name: /^What if/ })
      .first()
      .click();
    await expectShown(page.getByRole("button", { name: "Simulate", exact: true }));
  });
  afterAll(async () => {
    await browser.close();
    await plane.stopWork();
    await plane.stop();
    removeHome(home);
  });

  it("plays more nodes in the browser: what waits starts at once, and the control plane only gives its state", async () => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    const playing = asked.filter.bind(asked, (each) => /snapshot|what-if/.test(each));
    await page.getByRole("spinbutton").first().fill("-1");
    await page.getByRole("button", { name: "Simulate", exact: true }).click();
    await answered(page, /0 waiting workloads would start earlier and 2 later/);
    await page.getByRole("spinbutton").first().fill("2");
    await page.getByRole("button", { name: "Simulate", exact: true }).click();
    await answered(page, /2 waiting workloads would start earlier and 0 later/);
    await expectShown(page.getByRole("cell", { name: /^in 0 s, earlier/ }).first());
    await expectShown(page.getByText(/^Computed in this browser, on the state as of event \d+\.$/));
    // Both questions use one fetched state.
    expect(playing()).toEqual(["GET /v1/snapshot"]);
  });

  it("shows the figures that the control plane itself answers", async () => {
    const { items } = await plane.client.listNodes();
    const answer = await plane.client.whatIf({ addNodes: [{ like: items[0]?.id ?? "", count: 2 }] });
    await expectShown(page.getByText(answer.sentence, { exact: true }));
    const shares = page.getByRole("region", { name: "Accelerators by team" });
    for (const { team, presentMean, changedMean } of teamShares(answer)) {
      const cells = await shares.getByRole("row").filter({ hasText: team }).getByRole("cell").allTextContents();
      expect(cells.slice(0, 2)).toEqual([presentMean.toFixed(1), changedMean.toFixed(1)]);
    }
    const starts = page.getByRole("region", { name: "Starts" }).getByRole("rowheader");
    expect(await starts.allTextContents()).toEqual(answer.moved.map(({ name }) => name));
  });

  it("adds a pool of a type and a site that the fleet does not have", async () => {
    await plane.apply([
      {
        kind: "train",
        name: "d",
        run: "sleep 600",
        acceleratorTypes: ["B200"],
        waitForType: true,
        gang: { accelerators: 8, coresMilli: 0, memoryMib: 0 },
      },
    ]);
    const other = await browser.context.newPage();
    await other.goto(`${plane.url}/what-if`);
    const pool = other.getByRole("group", { name: "Add a pool" });
    await pool.getByRole("combobox", { name: "Type" }).fill("B200");
    await pool.getByRole("spinbutton", { name: "New nodes" }).fill("4");
    await pool.getByRole("combobox", { name: "Site of the new pool" }).selectOption("a new site");
    const simulate = other.getByRole("button", { name: "Simulate", exact: true });
    expect(await simulate.isDisabled()).toBe(true);
    await pool.getByRole("textbox", { name: "Name of the site" }).fill("lyon");
    await pool.getByRole("textbox", { name: "Fabric levels" }).fill("spine, leaf");
    await simulate.click();
    await answered(other, /3 waiting workloads would start earlier and 0 later/);
    await expectShown(other.getByRole("region", { name: "Starts" }).getByRole("rowheader", { name: "d" }));
    expect(await accessibilityViolations(other)).toEqual([]);
    await other.close();
  });

  it("leaves it to the control plane where its state is too large, and says so", async () => {
    const other = await browser.context.newPage();
    const refusal = problemOf("snapshotTooLarge", "The state is larger.", { facts: { bytes: 100 * 1_048_576 } });
    await other.route("**/v1/snapshot*", (route) =>
      route.fulfill({ status: refusal.status, contentType: "application/problem+json", json: refusal }),
    );
    await other.goto(`${plane.url}/what-if`);
    await expectShown(other.getByRole("button", { name: "Simulate", exact: true }));
    await other.getByRole("spinbutton").first().fill("2");
    await other.getByRole("button", { name: "Simulate", exact: true }).click();
    await answered(other, /2 waiting workloads would start earlier and 0 later/);
    await expectShown(
      other.getByText(/^Computed by the control plane, .* \(100 MiB\) is more than a browser is given \(64 MiB\)\.$/),
    );
    await other.close();
  });

  it("leaves it to the control plane where the browser fails, and says so", async () => {
    const other = await browser.context.newPage();
    await other.route("**/v1/snapshot*", (route) =>
      route.fulfill({ headers: { "headroom-sequence": "1", "headroom-now-ms": "1" }, body: '{"format":1000}' }),
    );
    await other.goto(`${plane.url}/what-if`);
    await expectShown(other.getByRole("button", { name: "Simulate", exact: true }));
    await other.getByRole("spinbutton").first().fill("2");
    await other.getByRole("button", { name: "Simulate", exact: true }).click();
    await answered(other, /2 waiting workloads would start earlier and 0 later/);
    await expectShown(other.getByText(/^Computed by the control plane, .*: this browser could not \(.*1000.*\)\.$/));
    await other.close();
  });

  it("replays what was recorded under another policy", async () => {
    await page.getByText("Recorded work", { exact: true }).click();
    await page.getByRole("combobox", { name: "Policy" }).selectOption("fifo");
    await page.getByRole("button", { name: "Replay" }).click();
    await answered(page, /4 workloads would have waited/);
    await expectShown(page.getByRole("region", { name: "Waits by team" }).getByRole("rowheader", { name: "default" }));
    await expectShown(page.getByText(/The difference is the error of the replay/));
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(browser.complaints).toEqual([]);
  });
});
