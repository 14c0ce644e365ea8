/**
 * The fleet as a map with one cell for each accelerator. Pointer or arrow keys choose a node, Enter or a click opens
 * it. A live region reads the chosen cell; the table beside the map has the same data.
 */
import type { Node, NodeReadings } from "@headroom/protocol";
import { useEffect, useMemo, useRef, useState } from "react";
import type { KeyboardEvent, PointerEvent, ReactElement } from "react";
import type { Colouring } from "../../routes/search-params.ts";
import { useThemeName } from "../../theme/token-colours.ts";
import {
  categoriser,
  cellsOf,
  holderAt,
  nodeSentence,
  readingOf,
  utilizationCells,
  type CellsOf,
} from "./cell-colours.ts";
import { layoutFleet, neighbour, nodeAtPoint, type FleetLayout, type NodeBox } from "./fleet-layout.ts";
import { MapTip } from "./map-tip.tsx";
import { paintFleet, paletteFor } from "./paint-fleet.ts";
import { useWidth } from "./use-width.ts";

interface FleetMapProps {
  readonly nodes: readonly Node[];
  readonly teams: ReadonlyMap<string, number>;
  readonly colouring: Colouring;
  /** Readings of accelerators by node; empty until they are fetched. */
  readonly readings: ReadonlyMap<string, NodeReadings>;
  readonly onOpen: (nodeId: string) => void;
}

/** The selected node and accelerator. They are identified by id, so that the selection survives the next fetch. */
interface Cursor {
  readonly nodeId: string;
  readonly accelerator: number | null;
  readonly isPointer: boolean;
}

export function FleetMap({ nodes, teams, colouring, readings, onOpen }: FleetMapProps): ReactElement {
  const [frame, width] = useWidth();
  const layout = useMemo(() => layoutFleet(nodes, Math.max(width, 160)), [nodes, width]);
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const box = layout.boxes.find(({ node }) => node.id === cursor?.nodeId) ?? null;
  const holder = box === null || cursor?.accelerator == null ? null : holderAt(box.node, cursor.accelerator);
  const canvas = usePainting({ layout, colouring, teams, readings, box, workloadId: holder?.workloadId ?? null });
  const point = (event: PointerEvent): void => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const found = nodeAtPoint(layout, event.clientX - bounds.left, event.clientY - bounds.top);
    setCursor(found === null ? null : { nodeId: found.box.node.id, accelerator: found.accelerator, isPointer: true });
  };
  const move = (to: NodeBox | null | undefined): void => {
    if (to != null) setCursor({ nodeId: to.node.id, accelerator: null, isPointer: false });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && box !== null) onOpen(box.node.id);
    else if (event.key === "Escape") setCursor(null);
    else {
      const to = boxAfterKey(layout, box, event.key);
      if (to === undefined) return;
      move(to);
    }
    event.preventDefault();
  };
  return (
    <div ref={frame} className="relative">
      <PoolHeadings layout={layout} />
      {/* The canvas is one widget with its own cursor; its description lists its keys. */}
      <canvas
        ref={canvas}
        role="application"
        tabIndex={0}
        aria-label="Fleet map"
        aria-describedby="fleet-map-keys"
        className="block rounded-md"
        style={{ width: layout.width, height: layout.height }}
        onPointerMove={point}
        onPointerLeave={() => setCursor(null)}
        onClick={() => box !== null && onOpen(box.node.id)}
        onFocus={(event) => {
          if (box === null && event.currentTarget.matches(":focus-visible")) move(layout.boxes[0]);
        }}
        onBlur={() => setCursor(null)}
        onKeyDown={onKeyDown}
      />
      <p id="fleet-map-keys" className="sr-only">
        Arrow keys move from node to node, Enter opens one. The table view holds the same.
      </p>
      <p className="sr-only" aria-live="polite">
        {box === null || cursor?.isPointer === true ? "" : nodeSentence(box.node)}
      </p>
      {box === null ? null : (
        <MapTip
          box={box}
          layout={layout}
          holder={holder}
          accelerator={cursor?.accelerator ?? null}
          reading={cursor?.accelerator == null ? undefined : readingOf(readings.get(box.node.id), cursor.accelerator)}
        />
      )}
    </div>
  );
}

function PoolHeadings({ layout }: { readonly layout: FleetLayout }): ReactElement {
  return (
    <>
      {layout.pools.map(({ pool, site, acceleratorType, y }) => (
        <h2 key={pool} className="absolute left-0 flex items-baseline gap-2 text-sm font-semibold" style={{ top: y }}>
          {pool}
          <span className="font-normal text-ink-3">
            {[site, acceleratorType].filter((part) => part !== "").join(", ")}
          </span>
        </h2>
      ))}
    </>
  );
}

const directions = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" } as const;

/** The position that a key moves to; `undefined`: the map does not handle the key. */
function boxAfterKey(layout: FleetLayout, box: NodeBox | null, key: string): NodeBox | null | undefined {
  if (key === "Home") return layout.boxes[0];
  if (key === "End") return layout.boxes.at(-1);
  const direction = directions[key as keyof typeof directions];
  if (direction === undefined) return undefined;
  return box === null ? (layout.boxes[0] ?? null) : neighbour(layout, box, direction);
}

interface Painting {
  readonly layout: FleetLayout;
  readonly colouring: Colouring;
  readonly teams: ReadonlyMap<string, number>;
  readonly readings: ReadonlyMap<string, NodeReadings>;
  readonly box: NodeBox | null;
  readonly workloadId: string | null;
}

function usePainting({ layout, colouring, teams, readings, box, workloadId }: Painting): {
  readonly current: HTMLCanvasElement | null;
} {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useThemeName();
  const cells = useMemo((): CellsOf => {
    if (colouring === "use") return (node) => utilizationCells(node, readings.get(node.id));
    const categorise = categoriser(colouring, teams);
    return (node) => cellsOf(node, categorise);
  }, [colouring, teams, readings]);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (element === null || context == null) return;
    const scale = window.devicePixelRatio;
    const [pixelWidth, pixelHeight] = [Math.round(layout.width * scale), Math.round(layout.height * scale)];
    // Setting the size of a canvas clears it, even if the size stays the same.
    if (element.width !== pixelWidth || element.height !== pixelHeight) {
      element.width = pixelWidth;
      element.height = pixelHeight;
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const palette = paletteFor(element.parentElement ?? element, theme);
    paintFleet(context, { layout, cellsOf: cells, palette, cursor: box, workloadId });
  }, [layout, cells, box, workloadId, theme]);
  return canvas;
}
