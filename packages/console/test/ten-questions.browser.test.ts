/** Tests the paths of docs/ten-questions.md, click by click from the start page. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildConsole, chromiumPath, openBrowser, expectShown, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

const documented = readFileSync(path.resolve(import.meta.dirname, "../../../docs/ten-questions.md"), "utf8");

describe.skipIf(chromiumPath === null)("ten questions within two clicks", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  let page: Page;
  let clicks = 0;

  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser({ width: 1440, height: 900 });
    ({ page } = browser);
    await page.goto(`${server.url}/?demo`);
    await expectShown(page.getByRole("heading", { level: 1, name: "Fleet" }));
    await page.getByRole("button", { name: "Pause simulated time" }).click();
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });
  beforeEach(async () => {
    await page.evaluate(() => window.location.assign("#/"));
    await expectShown(page.getByRole("heading", { level: 1, name: "Fleet" }));
    clicks = 0;
  });

  const click = async (target: Locator): Promise<void> => {
    clicks++;
    await target.click();
  };
  const goTo = (place: string): Promise<void> =>
    click(
      page
        .getByRole("navigation", { name: "Main" })
        .getByRole("link", { name: new RegExp(`^${place}`) })
        .first(),
    );
  /** Checks that the documentation contains the path, and that the path took no more clicks than stated there. */
  const expectAnswered = (question: string): void => {
    const row = documented.split("\n").find((line) => line.startsWith(`| ${question} |`));
    const promised = Number(/(\d)\s*\|$/.exec(row ?? "")?.[1]);
    expect(clicks).toBeLessThanOrEqual(Math.min(2, promised));
  };

  it("How full is the fleet, and since when?", async () => {
    await expectShown(
      page.getByRole("region", { name: "Last 24 hours" }).getByRole("img", { name: /used: \d+ to \d+/ }),
    );
    expectAnswered("How full is the fleet, and since when?");
  });

  it("Which nodes are out of service?", async () => {
    await click(page.getByText("Table", { exact: true }));
    await expectShown(page.getByRole("table", { name: "Nodes" }).getByText("Up", { exact: true }).first());
    expectAnswered("Which nodes are out of service?");
  });

  it("Who uses most?", async () => {
    await goTo("Teams");
    await expectShown(page.getByRole("img", { name: /^Accelerators held by team\. / }));
    expectAnswered("Who uses most?");
  });

  it("Which budget is used up, or will be?", async () => {
    await goTo("Teams");
    await expectShown(page.getByText(/^The budget of platform is used up: /));
    await expectShown(page.getByText(/^At the rate of /).first());
    expectAnswered("Which budget is used up, or will be?");
  });

  it("Why does this wait?", async () => {
    await goTo("Queue");
    const reasons = page.getByRole("table", { name: "Queue" }).getByText(/it needs .*/);
    await expectShown(reasons.filter({ visible: true }).first());
    expectAnswered("Why does this wait?");
  });

  it("When does it start?", async () => {
    await goTo("Queue");
    await page.getByRole("table", { name: "Queue" }).locator("[data-row] time").first().waitFor();
    await click(page.getByRole("table", { name: "Queue" }).locator("[data-row]").first().getByRole("link"));
    await page.getByText("half before", { exact: true }).waitFor();
    expect(clicks).toBe(2);
    expectAnswered("When does it start?");
  });

  it("What failed, and why?", async () => {
    await goTo("Workloads");
    await click(page.getByText("Failed", { exact: true }).first());
    await expect.poll(() => page.url()).toContain("phase=failed");
    const rows = page.getByRole("table", { name: "Workloads" }).locator("[data-row]");
    await expectShown(rows.first().or(page.getByText("No workload matches")));
    expectAnswered("What failed, and why?");
  });

  it("What does losing leaf-2a do?", async () => {
    await goTo("What if");
    clicks++;
    await page.getByRole("combobox", { name: "Lose" }).selectOption("frankfurt / spine-2 / leaf-2a");
    const result = page.getByRole("region", { name: "Result" });
    await result
      .getByText(/ (later|interrupted)/)
      .first()
      .waitFor();
    expectAnswered("What does losing leaf-2a do?");
  });

  it("What holds accelerators and does not use them?", async () => {
    await goTo("Idle resources");
    await expectShown(page.getByRole("heading", { level: 1, name: "Idle resources" }));
    await expectShown(
      page.getByRole("region", { name: "Findings" }).or(page.getByText(/^(No telemetry yet|Nothing is idle)$/)),
    );
    expectAnswered("What holds accelerators and does not use them?");
  });

  it("What happened lately, and who did it?", async () => {
    await goTo("Events");
    await expectShown(
      page
        .getByRole("table", { name: "Events" })
        .getByText(/^you planned: /)
        .first(),
    );
    expectAnswered("What happened lately, and who did it?");
  });
});
