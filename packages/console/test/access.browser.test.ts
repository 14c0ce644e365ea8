/** Tests the page Access on a real control plane: a token that is created there opens it, until it is revoked there. */
import { createHttpClient } from "@headroom/protocol";
import type { HttpRequest } from "@headroom/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { newHome, removeHome, startControlPlane, type ControlPlane } from "./control-plane.ts";

describe.skipIf(chromiumPath === null)("the page Access", () => {
  const home = newHome();
  let plane: ControlPlane;
  let browser: OpenBrowser;
  beforeAll(async () => {
    buildConsole();
    plane = await startControlPlane(home);
    await plane.client.apply({ teams: [{ name: "research" }] });
    browser = await openBrowser({ width: 390, height: 844 });
    await browser.page.goto(plane.loginUrl);
    await expectShown(browser.page.getByRole("heading", { level: 1, name: "Fleet" }));
    await browser.page.goto(`${plane.url}/access`);
  });
  afterAll(async () => {
    await browser.close();
    await plane.stop();
    removeHome(home);
  });

  it("creates a token, shows it once, and ends it", async () => {
    const { page, complaints } = browser;
    await expectShown(page.getByText("There are no tokens"));
    await page.getByRole("button", { name: "New token" }).click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Name").fill("alice-laptop");
    await form.getByLabel("User").fill("alice");
    await form.getByLabel("Role").selectOption("viewer");
    await form.getByLabel("Team").selectOption("research");
    expect(await accessibilityViolations(page)).toEqual([]);
    await form.getByRole("button", { name: "Create token" }).click();
    const secret = await form.getByLabel("Secret").innerText();
    await form.getByRole("button", { name: "Close" }).last().click();

    const alice = createHttpClient({
      baseUrl: plane.url,
      token: secret,
      fetch: (address: string, request: HttpRequest) => fetch(address, request as RequestInit),
    });
    expect(await alice.identity()).toMatchObject({ user: "alice", role: "viewer", team: "research" });
    await expect(alice.submitWorkload({ kind: "train", name: "no", run: "true" })).rejects.toMatchObject({
      code: "permissionDenied",
    });

    await page.reload();
    const row = page.getByRole("listitem", { name: "Token alice-laptop" });
    await expectShown(row.getByText("last used"));
    await expectShown(page.getByText("submitWorkload"));
    expect(await page.getByText(secret).count()).toBe(0);
    expect(await accessibilityViolations(page)).toEqual([]);
    await row.getByRole("button", { name: "Revoke alice-laptop" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
    await expectShown(page.getByText("There are no tokens"));
    await expect(alice.identity()).rejects.toMatchObject({ code: "unauthorized" });
    await page.getByText("All", { exact: true }).click();
    await expectShown(row.getByText("Revoked"));
    expect(complaints).toEqual([]);
  });
});
