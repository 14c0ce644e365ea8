/** Violations of WCAG 2.2 A and AA that axe finds on a page, as lines for a failed test. */
import axeCore from "axe-core";
import type { Page } from "playwright-core";

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

const PLACES_SHOWN = 3;

/**
 * Waits until all finite animations have ended. An element that is half faded in has little contrast, but Playwright
 * already reports it as visible.
 */
export async function atRest(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const isPassing = ({ playState, effect }: Animation): boolean =>
      playState === "running" && Number(effect?.getComputedTiming().endTime ?? 0) < Number.POSITIVE_INFINITY;
    for (;;) {
      const passing = document.getAnimations().filter(isPassing);
      if (passing.length === 0) return;
      await Promise.allSettled(passing.map(({ finished }) => finished));
    }
  });
}

export async function accessibilityViolations(page: Page): Promise<readonly string[]> {
  // The script is evaluated through the debugger, which the page's security policy does not restrict.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeCore.source);
  await atRest(page);
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(context: Document, options: unknown): Promise<{ violations: Violation[] }> };
    };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    return (await axe.run(document, { runOnly: { type: "tag", values: tags } })).violations;
  });
  return violations.map(({ id, impact, help, nodes }) => {
    const places = nodes
      .slice(0, PLACES_SHOWN)
      .map(({ target, failureSummary }) => `${target.join(" ")} ${failureSummary ?? ""}`);
    return `${impact ?? "?"} ${id}: ${help} (${nodes.length} places)\n  ${places.join("\n  ")}`;
  });
}
