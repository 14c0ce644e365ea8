import { ensureChromium } from "./chromium.ts";

/**
 * Runs once before the browser tests. If there is no browser, they are skipped with a message, which CI treats as a
 * failure.
 */
export function setup(): void {
  if (ensureChromium() !== undefined) return;
  const message = "No Chromium found: install it (Debian: apt-get install chromium) or set HEADROOM_CHROMIUM.";
  if (process.env["CI"] === "true") throw new Error(message);
  process.stderr.write(`\n*** BROWSER TESTS ARE SKIPPED *** ${message}\n\n`);
}
