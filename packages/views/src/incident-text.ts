import type { Incident } from "@headroom/protocol";
import { durationText, plural } from "./plain-text.ts";

/** The page that people complete after an incident, as Markdown. `instant`: writes a time. */
export function postmortemText(incident: Incident, instant: (atMs: number) => string): string {
  const { id, title, startedAtMs, endedAtMs, nodes, accelerators, work, timeline, alerts, codes, domain } = incident;
  const length = endedAtMs === null ? "still open" : durationText(endedAtMs - startedAtMs);
  return [
    `# ${id}: ${title}`,
    "",
    `- Began: ${instant(startedAtMs)}`,
    `- Ended: ${endedAtMs === null ? "still open" : instant(endedAtMs)} (${length})`,
    `- Domain: ${domain.level} ${domain.path.join("/")}`,
    `- Blast radius: ${plural(nodes.inDomain, "node")}, ${plural(accelerators.inDomain, "accelerator")}; ${nodes.failed} failed`,
    `- Alerts gathered: ${alerts}`,
    ...(codes.length === 0 ? [] : [`- Fault codes: ${codes.join(", ")}`]),
    "",
    "## Work hit",
    "",
    ...(work.length === 0
      ? ["None."]
      : work.map(
          ({ name, team, workloadId, accelerators: count }) =>
            `- ${name} (${workloadId}, ${team}): ${plural(count, "accelerator")}`,
        )),
    "",
    "## Timeline",
    "",
    ...timeline.map(
      ({ atMs, text, actor }) => `- ${instant(atMs)}: ${text}${actor === undefined ? "" : ` (${actor})`}`,
    ),
    "",
    "## Cause",
    "",
    "## What we change",
    "",
  ].join("\n");
}
