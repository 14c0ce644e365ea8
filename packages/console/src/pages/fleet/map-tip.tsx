import type { AcceleratorReading, NodeHolder } from "@headroom/protocol";
import type { ReactElement } from "react";
import { readingSentence } from "./reading-text.ts";
import { freeCountOf, nodeStateText } from "./cell-colours.ts";
import { nodeSize, type FleetLayout, type NodeBox } from "./fleet-layout.ts";

interface MapTipProps {
  readonly box: NodeBox;
  readonly layout: FleetLayout;
  readonly holder: NodeHolder | null;
  readonly accelerator: number | null;
  readonly reading: AcceleratorReading | undefined;
}

const WIDTH = 232;

/** A tip beside the node under the cursor, on the side with enough space. Pointer events go through it to the map. */
export function MapTip({ box, layout, holder, accelerator, reading }: MapTipProps): ReactElement {
  const { node } = box;
  const size = nodeSize(layout.grid, node.acceleratorCount);
  const isRight = box.x + size.width + WIDTH + 12 <= layout.width;
  const left = isRight ? box.x + size.width + 8 : Math.max(0, box.x - WIDTH - 8);
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute z-20 rounded-md bg-raised p-2.5 text-xs shadow-raised"
      style={{ left, top: box.y, width: WIDTH }}
    >
      <p className="flex justify-between gap-2">
        <strong className="font-semibold">{node.id}</strong>
        <span className="text-ink-2">{nodeStateText(node)}</span>
      </p>
      <p className="text-ink-3">{[node.site, ...node.fabric].join(" / ")}</p>
      <p className="mt-1 text-ink-2">
        {freeCountOf(node)} of {node.acceleratorCount} free
      </p>
      {accelerator === null ? null : (
        <p className="mt-1.5 border-t border-line pt-1.5">
          <span className="text-ink-3">Accelerator {accelerator}: </span>
          {holder === null ? (
            "free"
          ) : (
            <>
              <span className="font-medium">{holder.workloadName}</span>
              <span className="text-ink-2">
                , worker {holder.worker}, {holder.team}, {holder.phase}
              </span>
            </>
          )}
        </p>
      )}
      {reading === undefined ? null : <p className="text-ink-2">{readingSentence(reading)}</p>}
    </div>
  );
}
