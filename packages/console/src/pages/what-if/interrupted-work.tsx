import type { WhatIfAnswer } from "@headroom/protocol";
import { grouped, interruptionOutcome, tenths } from "@headroom/views";
import type { ReactElement } from "react";
import { spanText } from "../../format/amounts.ts";
import { ListedWork } from "../../parts/listed-work.tsx";

const HOUR_MS = 3_600_000;

type Interruption = WhatIfAnswer["interrupted"][number]["changed"];

/** Running work that only one of the two timelines interrupts. Shows nothing if there is none. */
export function InterruptedWork({ answer }: { readonly answer: WhatIfAnswer }): ReactElement | null {
  const { interrupted, interruptedCount, fromMs, horizonMs } = answer;
  if (interruptedCount === 0) return null;
  const after = (atMs: number): string => (atMs <= fromMs ? "now" : `in ${spanText(atMs - fromMs)}`);
  const timelineText = (of: Interruption): string => {
    if (of === null) return "not interrupted";
    const restart =
      of.againAtMs === null ? `no restart within ${spanText(horizonMs)}` : `restarts ${after(of.againAtMs)}`;
    return `${after(of.atMs)}, ${restart}`;
  };
  return (
    <ListedWork
      title="Running work that is interrupted"
      label="Interruptions"
      columns={["Without the change", "With the change", "Accelerator hours repeated"]}
      work={interrupted}
      count={interruptedCount}
      cells={(work) => {
        const { present, changed } = work;
        const isWorse = ["interrupted", "later"].includes(interruptionOutcome(work));
        return (
          <>
            <td className="px-4 py-1.5">{timelineText(present)}</td>
            <td className={`px-4 py-1.5 ${isWorse ? "text-bad" : "text-good"}`}>{timelineText(changed)}</td>
            <td className="px-4 py-1.5">{grouped(tenths((changed?.lostAcceleratorMs ?? 0) / HOUR_MS))}</td>
          </>
        );
      }}
    />
  );
}
