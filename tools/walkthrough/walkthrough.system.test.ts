/**
 * Runs the commands of pages for new users as written. README and first hour: in a fresh clone, without accelerators, and
 * with an nvidia-smi that reports eight H100. The other pages: in one shell, with every output compared with the page.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { layoutFaults } from "../../packages/console/test/boxes.ts";
import { chromiumPath, openBrowser } from "../../packages/console/test/browser.ts";
import { cloneInstalled } from "../testing/repository-copy.ts";
import { someOf } from "../testing/rotating.ts";
import { walkPage } from "./page-walk.ts";
import { asSample, differenceOf } from "./shown-output.ts";
import type { Step, Walk } from "./walk.ts";

const CHECKPOINT_WITHIN_SECONDS = 90;
const withoutAccelerators = "no-nvidia-smi.sh";
/** Exit codes other than 0, as documented in docs/reference/cli.md: the work exceeds this fleet. */
const statedCodes: Readonly<Record<string, number>> = { "npx headroom why big": 3 };
/**
 * The walk runs in a separate network namespace: the page fixes the ports, and nothing outside is reachable. All
 * processes end with the walk.
 */
const isolation = ["--map-root-user", "--uts", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
const enter = "hostname vm && ip link set lo up && exec ";
const canIsolate = spawnSync("unshare", [...isolation, "sh", "-c", `${enter}true`]).status === 0;
if (!canIsolate) console.warn("skipped: this user may not make namespaces, or `ip` is missing, so no page is walked");

/** Sandboxes hide the directory for temporary files, where nobody has a checkout: it would be visible in part only. */
const BUILD = path.resolve(import.meta.dirname, "../../.build");
let folder = "";
beforeEach(() => {
  mkdirSync(BUILD, { recursive: true });
  folder = mkdtempSync(path.join(BUILD, "walk-"));
});
afterEach(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

function walk(page: string, nvidiaSmi: string): Walk {
  const [clone, bin, report] = [
    path.join(folder, "headroom"),
    path.join(folder, "bin"),
    path.join(folder, "report.json"),
  ];
  cloneInstalled(clone);
  mkdirSync(bin);
  copyFileSync(path.join(import.meta.dirname, nvidiaSmi), path.join(bin, "nvidia-smi"));
  chmodSync(path.join(bin, "nvidia-smi"), 0o755);
  const program = [process.execPath, path.join(import.meta.dirname, "walk.ts"), clone, page, bin, report];
  const command = `${enter}"$@"`;
  const { status } = spawnSync("unshare", [...isolation, "sh", "-c", command, "sh", ...program], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  expect(status).toBe(0);
  const walked = JSON.parse(readFileSync(report, "utf8")) as Walk;
  console.log(`${page}: first checkpoint ${walked.firstCheckpointSeconds} s, trained ${walked.trainedSeconds} s`);
  return walked;
}

function check({ steps, firstCheckpointSeconds }: Walk): void {
  const failed = steps.filter(({ command, code }) => code !== (statedCodes[command] ?? 0));
  expect(failed).toEqual([]);
  expect(firstCheckpointSeconds).toBeLessThan(CHECKPOINT_WITHIN_SECONDS);
}

/** Compares each output that the page shows with the real one. */
function checkOutputs({ steps }: Walk): void {
  const clone = path.join(folder, "headroom");
  const differences = steps.flatMap(({ command, line, output, shown }) => {
    // A page that shows nothing claims nothing. Simulations are compared to the digit, without their progress.
    if (shown.every((each) => each.trim() === "") || command.startsWith("npx headroom simulate")) return [];
    const difference = differenceOf(shown.map(asSample), asSample(output.replaceAll(clone, "~/headroom")));
    return difference === null ? [] : [{ command, line, difference }];
  });
  expect(differences).toEqual([]);
}

const stepOf = ({ steps }: Walk, command: string): Step => {
  const step = steps.find((each) => each.command.startsWith(command));
  if (step === undefined) throw new Error(`the page does not have the command ${command}`);
  return step;
};

function checkReadme(nvidiaSmi: string, fleet: RegExp): void {
  const walked = walk("README.md", nvidiaSmi);
  check(walked);
  // The page shows a machine without accelerators.
  if (nvidiaSmi === withoutAccelerators) checkOutputs(walked);
  expect(stepOf(walked, "npm start").output).toMatch(fleet);
  expect(stepOf(walked, "npm start").output).not.toContain("were not read");
  expect(stepOf(walked, "npx headroom endpoint try").output).toMatch(/\d+ tokens in, \d+ out/);
  expect(stepOf(walked, "npx headroom apply").output).toMatch(/1 to create.*[^]*created workload llama-ft/);
  const simulated = stepOf(walked, "npx headroom simulate");
  expect(simulated.output).toContain(simulated.shown.join("\n").trim());
}

function checkFirstHour(): void {
  const walked = walk("docs/tutorial/first-hour.md", withoutAccelerators);
  check(walked);
  checkOutputs(walked);
}

async function checkPage(page: string, commandsMin: number): Promise<void> {
  const { commandCount, differences } = await walkPage(page, folder, { "headroom price check": 3 });
  expect(differences).toEqual([]);
  expect(commandCount).toBeGreaterThanOrEqual(commandsMin);
}

async function checkPurchase(): Promise<void> {
  await checkPage("docs/tutorial/buy-capacity.md", 13);
  if (chromiumPath === null) return console.warn("skipped: no Chromium, so the report is not looked at");
  const browser = await openBrowser({ width: 1280, height: 900 });
  try {
    await browser.page.goto(pathToFileURL(path.join(folder, "report.html")).href);
    for (const width of [1280, 390]) {
      await browser.page.setViewportSize({ width, height: 900 });
      expect([width, await layoutFaults(browser.page)]).toEqual([width, []]);
    }
  } finally {
    await browser.close();
  }
}

const walks: readonly (readonly [string, () => Promise<void> | void])[] = [
  ["README.md without accelerators", () => checkReadme(withoutAccelerators, /fleet +\S+: \d+ × slot/)],
  ["README.md with eight H100", () => checkReadme("stub-nvidia-smi.sh", /fleet +\S+: 8 × H100/)],
  ["the first hour", checkFirstHour],
  ["the first gateway", () => checkPage("docs/tutorial/first-gateway.md", 19)],
  ["before you buy accelerators", checkPurchase],
];

// Three of the walks train the quickstart's model, so each run takes one: as many commits as there are walks are a full pass.
it.skipIf(!canIsolate).each(someOf(walks, { suiteParts: walks.length }))("%s works as written", (_, checkWalk) =>
  checkWalk(),
);
