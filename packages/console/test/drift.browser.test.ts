/** Tests the panel Drift of the page Health: declared remediations, and a run that is cancelled there; and proposals of findings. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { newHome, removeHome, startControlPlane, type ControlPlane } from "./control-plane.ts";

const PATIENCE_MS = 40_000;

const remediation = {
  kind: "remediation",
  name: "nccl-2.21",
  pools: ["local"],
  desired: { nccl: "2.21" },
  facts: ["/bin/sh", "-c", `echo '{"nccl":"2.19"}'`, "sh", "{node}"],
  command: ["/bin/false", "{node}"],
};

describe.skipIf(chromiumPath === null)("the panel Drift", () => {
  let home: string;
  let plane: ControlPlane;
  let browser: OpenBrowser;
  beforeAll(async () => {
    buildConsole();
    home = newHome();
    writeFileSync(path.join(home, "remediations.yaml"), JSON.stringify(remediation));
    plane = await startControlPlane(home);
    browser = await openBrowser();
    await browser.page.goto(plane.loginUrl);
    await expectShown(browser.page.getByRole("heading", { level: 1, name: "Fleet" }));
  });
  afterAll(async () => {
    await browser.close();
    await plane.stop();
    removeHome(home);
  });

  it("shows the nodes that differ and the run, which it cancels", async () => {
    const { page, complaints } = browser;
    const { client } = plane;
    const [node] = (await client.listNodes()).items;
    const nodeIds = [node?.id ?? ""];
    await client.checkRemediation("nccl-2.21");
    await client.setProposalRule("remediate", { ownApproval: true });
    await client.setProposalRule("drain", { perHourMax: 0 });
    const change = { kind: "remediate", remediation: "nccl-2.21", nodeIds } as const;
    const { id } = await client.createProposal({ change, reason: "slow all-reduce" });
    await client.decideProposal(id, { verdict: "approve" });
    await page.goto(`${plane.url}/health`);
    await expectShown(page.getByRole("img", { name: /^Map of .* in service/ }).first());
    const panel = page.getByRole("region", { name: "Drift" });
    await expectShown(panel.getByText("1 of 1 node differ; canary of 1 node, then waves of 4"));
    await panel.getByText("0 of 1 node as desired, 0 failed.").waitFor({ timeout: PATIENCE_MS });
    expect(await accessibilityViolations(page)).toEqual([]);
    await panel.getByRole("button", { name: `Cancel ${id}` }).click();
    await panel.getByText("cancelled", { exact: true }).waitFor({ timeout: PATIENCE_MS });
    expect((await client.getRemediationRun(id)).nodes).toMatchObject([{ phase: "left" }]);
    expect(await client.listNodes()).toMatchObject({ items: [{ draining: false }] });
    expect(complaints).toEqual([]);
  }, 180_000);

  it("is followed by a proposal for a fault, with the runbook of the fault", async () => {
    const { page, complaints } = browser;
    const { client } = plane;
    const text = "kind: runbook\nfor: [xid-79]\ntext: Reseat the card.\nurl: https://wiki.example/79\n";
    writeFileSync(path.join(home, "runbooks.yaml"), text);
    const [node] = (await client.listNodes()).items;
    await client.reportFaults(node?.id ?? "", {
      faults: [{ code: "xid-79", severity: "critical", detail: "fell off" }],
    });
    await page.goto(`${plane.url}/proposals`);
    const card = page.getByRole("region", { name: /^Proposal p\d+$/ });
    await card.getByText("Runbook for xid-79: Reseat the card.").waitFor({ timeout: PATIENCE_MS });
    expect(await card.getByRole("link").getAttribute("href")).toBe("https://wiki.example/79");
    expect(complaints).toEqual([]);
  }, 120_000);
});
