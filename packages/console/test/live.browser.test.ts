/**
 * Tests the console on a real control plane: real processes through the local executor, over HTTP, behind its sign-in.
 */
import { problemOf } from "@headroom/protocol";
import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, openBrowser, expectShown, type OpenBrowser } from "./browser.ts";
import { lastingPort, newHome, removeHome, startControlPlane, type ControlPlane } from "./control-plane.ts";

/** A program that writes coloured lines and reports a falling loss until SIGTERM, then writes a last line. */
const talkative = [
  `trap 'echo asked to stop; exit 0' TERM`,
  `i=0; while [ $i -lt 100000 ]; do i=$((i+1))`,
  String.raw`printf 'step \033[32m%d\033[0m of worker %d\n' $i $RANK`,
  `if [ $RANK = 0 ]; then echo '{"kind":"progress","step":'$i',"totalSteps":100000,"metrics":{"loss":'$((100000-i))'}}' >> "$HEADROOM_PROGRESS_FILE"; fi`,
  `sleep 0.05; done`,
].join("; ");

describe.skipIf(chromiumPath === null)("the console on a control plane", () => {
  const home = newHome();
  let plane: ControlPlane;
  let browser: OpenBrowser;
  let page: Page;

  beforeAll(async () => {
    buildConsole();
    // Restarts on the same port. No other program may take the port in between.
    plane = await startControlPlane(home, await lastingPort());
    browser = await openBrowser();
    ({ page } = browser);
  });
  afterAll(async () => {
    await browser.close();
    await plane.stopWork();
    await plane.stop();
    removeHome(home);
  });

  const goTo = async (place: string): Promise<void> => {
    await page
      .getByRole("navigation", { name: "Main" })
      .getByRole("link", { name: new RegExp(`^${place}`) })
      .first()
      .click();
    await expectShown(page.getByRole("heading", { level: 1, name: place, exact: true }));
  };

  const submit = async (fields: Readonly<Record<string, string>>): Promise<void> => {
    await goTo("Workloads");
    await page.getByRole("link", { name: "New workload" }).click();
    await expectShown(page.getByRole("heading", { level: 1, name: "New workload" }));
    for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
    await page.getByRole("button", { name: "Submit" }).click();
    await expectShown(page.getByRole("heading", { level: 1, name: fields["Name"] ?? "", exact: true }));
  };

  it("asks strangers to sign in, refuses what is no link, and lets the link in", async () => {
    await page.goto(`${plane.url}/queue`);
    await expectShown(page.getByRole("heading", { name: "Sign in" }));
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByLabel("Sign-in link").fill("hello");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expectShown(page.getByText("This is not a sign-in link."));
    await page.getByLabel("Sign-in link").fill(plane.loginUrl);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expectShown(page.getByRole("heading", { level: 1, name: "Fleet" }));
  });

  it("shows this machine and its slots", async () => {
    await expect.poll(() => page.locator("dl dd").first().textContent()).toBe("0 / 4");
    await expectShown(page.getByText("Live", { exact: true }).first());
  });

  it("submits work and follows its logs, worker by worker, with pause and search", async () => {
    await submit({ Name: "talks", Command: talkative, Workers: "2", "Accelerators per worker": "1" });
    await expectShown(page.getByText("Running", { exact: true }).first());
    const logs = page.getByRole("region", { name: "Logs", exact: true });
    // Any line from the tenth step on: the visible lines depend on the machine.
    for (const worker of [0, 1]) {
      await expectShown(logs.getByText(new RegExp(`^step \\d{2,} of worker ${worker}$`)).first());
    }
    await logs.getByRole("button", { name: "Pause" }).click();
    await expectShown(logs.getByText(/^Paused, [1-9]/));
    await logs.getByRole("searchbox").fill("step 7 of");
    await expectShown(logs.getByText("2 matches", { exact: true }));
    await logs.getByRole("searchbox").press("Enter");
    await expectShown(logs.getByText("2 of 2", { exact: true }));
    await expectShown(logs.locator("mark", { hasText: "step" }).first());
    await logs.getByRole("button", { name: "Continue" }).click();
    await logs.getByRole("searchbox").fill("");
    await logs.getByRole("combobox", { name: "Worker" }).selectOption("1");
    await expectShown(logs.getByText(/ of worker 1$/).first());
    await expect.poll(() => logs.getByText(/ of worker 0$/).count()).toBe(0);
  });

  it("draws what the work reports", async () => {
    await expectShown(page.getByRole("img", { name: /^loss from [\d,]+ at step \d+ to [\d,]+ at step \d+; lowest / }));
    await expectShown(page.getByRole("region", { name: "Workers" }).getByRole("rowheader", { name: "1" }));
  });

  it("says in numbers why something waits", async () => {
    await submit({ Name: "needs-all", Command: "echo all four are mine", "Accelerators per worker": "4" });
    await page.getByText("It needs 4 accelerators; 2 of 4 are free.").waitFor();
    await goTo("Queue");
    await expectShown(page.getByRole("row", { name: /needs-all.*4 \/ 2.*2 of 4 are free/ }));
  });

  it("says when it will start and what would start it now once somebody asks, each without the other", async () => {
    const held: Route[] = [];
    await page.route("**/estimate", (route) => void held.push(route));
    await page
      .getByRole("row", { name: /needs-all/ })
      .getByRole("link")
      .click();
    const waits = page.getByRole("region", { name: "Why it waits" });
    await waits.getByRole("button", { name: "What would start it now?" }).click();
    await expectShown(waits.getByText("Request 2 accelerators per worker instead of 4."));
    await expectShown(waits.getByRole("status", { name: "Loading: When it will start" }));
    await expectShown(waits.getByRole("button", { name: "Asking the scheduler" }));
    const json = problemOf("unknownWorkload", "It was here a moment ago.");
    expect(held.length).toBe(1);
    await held[0]?.fulfill({ status: json.status, json, contentType: "application/problem+json" });
    await expectShown(waits.getByRole("alert").getByText("It was here a moment ago."));
    await page.unroute("**/estimate");
    await waits.getByRole("button", { name: "Ask again" }).click();
    await expectShown(waits.getByText(/^It starts in /));
    await expectShown(waits.getByText("half before", { exact: true }));
    await waits.getByRole("alert").waitFor({ state: "detached" });
    expect(await accessibilityViolations(page)).toEqual([]);
    await goTo("Queue");
  });

  it("pages through a long queue and filters all of it", async () => {
    const many = Array.from({ length: 1_200 }, (_, index) => ({
      kind: "train" as const,
      name: `too-large-${index}`,
      run: "true",
      priority: -1,
      gang: { workers: 1, accelerators: 64 },
    }));
    await plane.apply(many);
    await goTo("Queue");
    await expectShown(page.getByText(/^1,201 workloads/));
    await expectShown(page.getByRole("row", { name: /too-large-0.*and [\d,]+ alike.*Cannot start/ }));
    await page.getByRole("checkbox", { name: "Fold identical reasons" }).uncheck();
    await page
      .getByRole("row", { name: /needs-all/ })
      .getByRole("link")
      .focus();
    const last = page.locator('[aria-rowindex="1202"]');
    await expect
      .poll(async () => {
        await page.keyboard.press("End");
        return last.count();
      })
      .toBe(1);
    await expectShown(last.getByRole("link", { name: "too-large-1199" }));
    await page.getByRole("searchbox").fill("too-large-77");
    await expectShown(page.getByText("11 match the filter."));
    await page.getByRole("searchbox").fill("");
  });

  it("takes the machine out of service and back", async () => {
    await goTo("Fleet");
    const map = page.getByRole("application", { name: "Fleet map" });
    await map.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    const drawer = page.getByRole("dialog");
    await expectShown(drawer.getByRole("link", { name: "talks" }).first());
    await drawer.getByRole("button", { name: "Drain", exact: true }).click();
    await expectShown(drawer.getByText("Draining", { exact: true }));
    await page.keyboard.press("Escape");
    await goTo("Queue");
    await expectShown(
      page.getByRole("row", { name: /needs-all.*the nodes that take work now would hold only 0 of 1 worker/ }),
    );
    await goTo("Fleet");
    await expectShown(page.getByText("nodes: 1 draining"));
    await map.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await drawer.getByRole("button", { name: "Resume" }).click();
    await expectShown(drawer.getByText("Up", { exact: true }));
    await page.keyboard.press("Escape");
  });

  it("goes on by itself when the control plane was away", async () => {
    await goTo("Queue");
    const port = Number(new URL(plane.url).port);
    await plane.stop();
    await expectShown(page.getByText("Reconnecting", { exact: true }).first());
    plane = await startControlPlane(home, port);
    await expectShown(page.getByText("Live", { exact: true }).first());
    await expectShown(page.getByRole("row", { name: /needs-all/ }).getByRole("link"));
  });

  it("stops work, which frees what waited, and keeps both logs", async () => {
    await goTo("Workloads");
    await page.getByRole("searchbox").fill("talks");
    await page.getByRole("link", { name: "talks", exact: true }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Stop" }).click();
    await expectShown(page.getByText("Cancelled", { exact: true }).first());
    await expectShown(page.getByRole("region", { name: "Logs", exact: true }).getByText("asked to stop").first());
    await goTo("Workloads");
    await page.getByRole("searchbox").fill("needs-all");
    const row = page.getByRole("row", { name: /needs-all/ });
    await expectShown(row.getByText("Succeeded", { exact: true }));
    await row.getByRole("link").click();
    const logs = page.getByRole("region", { name: "Logs", exact: true });
    await expectShown(logs.getByText("all four are mine", { exact: true }));
    await expectShown(logs.getByText("Complete", { exact: true }));
  });

  it("is at ease for assistive technology with a log on screen", async () => {
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("opens a page by its address, and says so when there is no such workload", async () => {
    await page.goto(`${plane.url}/workloads/w999999`);
    await expectShown(page.getByRole("alert").getByText("There is no such workload"));
    await page.goto(`${plane.url}/events`);
    await expectShown(page.getByRole("row", { name: /Drain started/ }).first());
  });

  it("never complained but about what is not there", () => {
    // Requests that are in flight during the restart fail: refused, reset, broken off, or answered with "closing"
    // (503).
    const isExpected = (complaint: string): boolean =>
      /status of (40[149]|503)|ERR_CONNECTION_|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE|ERR_EMPTY/.test(complaint);
    expect(browser.complaints.filter((complaint) => !isExpected(complaint))).toEqual([]);
  });
});
