/** A Chromium with its own profile and the built console, for end-to-end tests. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium, type BrowserContext, type Locator, type Page } from "playwright-core";
import { findChromium } from "../../../tools/chromium.ts";

const root = path.resolve(import.meta.dirname, "..", "..", "..");
export const consoleDir = path.join(root, "packages", "console", "dist");

/** The browser; `null`: this machine has no Chromium, which the suite has reported (`tools/chromium-setup.ts`). */
export const chromiumPath = findChromium() ?? null;

/** Rebuilds the console's bundle if its sources have changed. */
export function buildConsole(): void {
  const script = path.join(root, "tools", "build-console.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the console does not build:\n${stderr}`);
}

/** Options of Chromium: no background traffic, and as in containers no sandbox and little shared memory. */
const flags = [
  "--no-sandbox",
  "--disable-dev-shm-usage",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** Maximum time in ms that a page takes to show something. Forecasts are slow on a busy machine. */
const PATIENCE_MS = 100_000;

/** Maximum number of characters of a page's text in an error. */
const TEXT_MAX = 4_000;

/** Fails unless the element becomes visible in time. The error gives the text that the page shows instead. */
export async function expectShown(locator: Locator): Promise<void> {
  try {
    await locator.waitFor({ state: "visible" });
  } catch (error) {
    const page = locator.page();
    const text = await page.locator("body").innerText({ timeout: 5_000 });
    throw new Error(`${page.url()} shows:\n${text.slice(0, TEXT_MAX)}`, { cause: error });
  }
}

export interface OpenBrowser {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Problems that the page reported: script errors, violations of the security policy, failed requests. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

export interface BrowserOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  readonly motion?: "reduce" | "no-preference";
}

export async function openBrowser(options: BrowserOptions = {}): Promise<OpenBrowser> {
  const { width = 1280, height = 800, colorScheme = "light", motion = "reduce" } = options;
  const profile = mkdtempSync(path.join(tmpdir(), "headroom-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath ?? "",
    args: flags,
    viewport: { width, height },
    colorScheme,
    reducedMotion: motion,
    timezoneId: "UTC",
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = context.pages()[0] ?? (await context.newPage());
  const complaints: string[] = [];
  page.on("pageerror", ({ message }) => complaints.push(`error: ${message}`));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`console: ${message.text()}`);
  });
  return {
    context,
    page,
    complaints,
    close: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
