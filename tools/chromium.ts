import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/**
 * Paths at which Debian, Ubuntu, Chrome's own packages and macOS install the browser. HEADROOM_CHROMIUM overrides all
 * of them.
 */
const usualPaths = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** Path of a Chromium for Playwright's `executablePath`, or undefined if the machine has none. */
export function findChromium(): string | undefined {
  const chosen = process.env["HEADROOM_CHROMIUM"];
  return [...(chosen === undefined ? [] : [chosen]), ...usualPaths].find((path) => existsSync(path));
}

/** Installs Debian's chromium if this process may; returns the path as {@link findChromium} does. */
export function ensureChromium(): string | undefined {
  const found = findChromium();
  if (found !== undefined || process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return found;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", "chromium"]]) {
    spawnSync("apt-get", ["-q", "-o", "Acquire::Retries=3", ...args], { stdio: ["ignore", "ignore", "inherit"], env });
  }
  return findChromium();
}
