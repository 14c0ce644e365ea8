/** The pages of the console, for tests that look at each of them. */
import type { Locator, Page } from "playwright-core";
import { expectShown } from "./browser.ts";

/** One locator for each address, of an element that exists only when the page shows its content. */
export const places: Readonly<Record<string, (page: Page) => Locator>> = {
  "/": (page) => page.getByRole("application", { name: "Fleet map" }),
  "/?view=table": (page) => rowsOf(page, "Nodes"),
  "/?colour=use": (page) => page.getByRole("list", { name: "Legend" }).getByText("No telemetry"),
  "/?node=h200-05": (page) => page.getByRole("dialog").getByRole("heading", { name: "h200-05" }),
  "/queue": (page) => rowsOf(page, "Queue"),
  "/workloads": (page) => rowsOf(page, "Workloads"),
  "/workloads/new": (page) => page.getByLabel("Name"),
  "/endpoints": (page) => rowsOf(page, "Endpoints"),
  "/pipelines": (page) => page.getByRole("heading", { name: "search-ranker" }),
  "/health": (page) => page.getByRole("table", { name: "Comparable sets of nodes" }).locator("[data-row]").first(),
  "/teams": (page) => page.getByRole("link", { name: "research", exact: true }),
  "/calendar": (page) =>
    page.getByRole("region", { name: "Maintenance and reservations" }).getByRole("listitem").first(),
  "/policy": (page) => page.getByRole("button", { name: "Activate fifo", exact: true }),
  "/what-if": (page) => page.getByRole("button", { name: "Simulate", exact: true }),
  "/what-if?of=past": (page) => page.getByRole("button", { name: "Replay" }),
  "/waste": (page) =>
    page
      .getByRole("region", { name: "Findings" })
      .getByText(/^(?:It|None) /)
      .filter({ visible: true })
      .first(),
  "/size": (page) => page.getByRole("region", { name: "Result" }),
  "/size?of=serving": (page) => page.getByRole("table", { name: "Layouts" }),
  "/size?of=network": (page) => page.getByRole("table", { name: "Levels of the fabric" }),
  "/size?of=failures": (page) => page.getByRole("region", { name: "Effective training time" }),
  "/proposals": (page) => page.getByRole("region", { name: /^Proposal p\d+$/ }).first(),
  "/plan": (page) => page.getByRole("table", { name: "Orders" }).getByRole("row").first(),
  "/cost": (page) => page.getByRole("group", { name: "Cost by group" }).getByRole("row").nth(1),
  "/access": (page) => page.getByText("There are no tokens"),
  "/offers": (page) => page.getByRole("group", { name: "Offers" }).getByRole("row").nth(1),
  "/artifacts": (page) => page.getByRole("region", { name: "Lineage of the newest version" }),
  "/logs": (page) => page.getByRole("button", { name: "Search", exact: true }),
  "/events": (page) => rowsOf(page, "Events"),
};

export const rowsOf = (page: Page, table: string): Locator =>
  page.getByRole("table", { name: table }).locator("[data-row]").first();

/** Navigates within the page, as a link does, so that the simulation continues. */
export async function visit(page: Page, address: string, content: Locator): Promise<void> {
  await page.evaluate((to) => window.location.assign(`#${to}`), address);
  await expectShown(content);
  await page.locator("main [role=status][aria-label^=Loading]").waitFor({ state: "detached" });
}
