/** Tests the page Plan in the demo: what a new user must be able to read there. */
import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { demoPlan } from "../src/demo/plan/demo-plan.ts";
import { dateText, differenceText, lateText, monthText, orderText } from "../src/pages/plan/plan-text.ts";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

/** The demo first simulates several days, which takes time on a busy machine. */
const STARTED_MS = 100_000;

describe.skipIf(chromiumPath === null)("the page Plan", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser();
    await browser.page.goto(`${server.url}/?demo#/plan`);
    await browser.page.getByRole("table", { name: "Orders" }).waitFor({ timeout: STARTED_MS });
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  it("says what runs out first, what to order by when, and what it costs to be late", async () => {
    const { page, complaints } = browser;
    // The demo shows a plan that was solved beforehand; its figures change with the planner.
    const { solved } = await demoPlan(0);
    assert(solved !== null);
    const { first, orders, variants } = solved;
    const [order] = orders;
    const late = variants.at(-1)?.outcome;
    assert(first !== null && order !== undefined && late?.kind === "planned" && late.differenceUsd !== null);
    const short = page.getByRole("region", { name: "In short" });
    await expectShown(short.getByText(`${first.axis}, ${monthText(first.month)}`));
    await expectShown(short.getByText(`${orderText(order)} by ${dateText(order.orderBy)}`));
    await expectShown(short.getByText(/^in \d+ days$/));
    await expectShown(short.getByText(lateText(order), { exact: true }));
    await expectShown(short.getByText(differenceText(late.differenceUsd), { exact: true }));
    const rows = page.getByRole("table", { name: "Orders" }).getByRole("row");
    expect(await rows.count()).toBeGreaterThan(3);
    const axes = page.getByRole("group", { name: "Axes that run out" });
    await expectShown(axes.getByRole("row", { name: /^power 860 kW .*Jun 2025 overdue$/ }));
    await expectShown(page.getByRole("group", { name: "Variants" }).getByText("deliveries take 50% longer"));
    expect(complaints).toEqual([]);
  });
});
