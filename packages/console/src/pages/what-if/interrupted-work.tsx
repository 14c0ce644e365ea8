import type { WhatIfAnswer } from "@headroom/protocol";
import { grouped, interruptionOutcome, tenths } from "@headroom/views";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { spanText } from "../../format/amounts.ts";
import { Panel } from "../../parts/page.tsx";

const SHOWN_MAX = 50;
const HOUR_MS = 3_600_000;

type Interruption = WhatIfAnswer["interrupted"][number]["changed"];

/** Running work that the change stops, or spares; nothing where it does neither. */
export function InterruptedWork({ answer }: { readonly answer: WhatIfAnswer }): ReactElement | null {
  const { interrupted, interruptedCount, fromMs, horizonMs } = answer;
  if (interruptedCount === 0) return null;
  const after = (atMs: number): string => (atMs <= fromMs ? "now" : `in ${spanText(atMs - fromMs)}`);
  const courseText = (of: Interruption): string => {
    if (of === null) return "not interrupted";
    const again = of.againAtMs === null ? `not again within ${spanText(horizonMs)}` : `again ${after(of.againAtMs)}`;
    return `${after(of.atMs)}, ${again}`;
  };
  return (
    <Panel title="Running work that is interrupted">
      <div className="scroll-thin overflow-x-auto" tabIndex={0} role="region" aria-label="Interruptions">
        <table className="w-full text-left">
          <thead className="border-b border-line text-xs text-ink-3">
            <tr>
              {["Workload", "Team", "As things are", "With the change", "Accelerator hours done again"].map((title) => (
                <th key={title} scope="col" className="px-4 py-2 font-medium">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {interrupted.slice(0, SHOWN_MAX).map((work) => {
              const { workloadId, name, team, present, changed } = work;
              const isWorse = ["interrupted", "later"].includes(interruptionOutcome(work));
              return (
                <tr key={workloadId}>
                  <th scope="row" className="px-4 py-1.5 font-medium">
                    <Link to="/workloads/$workloadId" params={{ workloadId }} className="hover:underline">
                      {name}
                    </Link>
                  </th>
                  <td className="px-4 py-1.5 text-ink-2">{team}</td>
                  <td className="px-4 py-1.5">{courseText(present)}</td>
                  <td className={`px-4 py-1.5 ${isWorse ? "text-bad" : "text-good"}`}>{courseText(changed)}</td>
                  <td className="px-4 py-1.5">{grouped(tenths((changed?.lostAcceleratorMs ?? 0) / HOUR_MS))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {interruptedCount > SHOWN_MAX ? (
        <p className="border-t border-line px-4 py-2 text-ink-3">and {grouped(interruptedCount - SHOWN_MAX)} more</p>
      ) : null}
    </Panel>
  );
}
