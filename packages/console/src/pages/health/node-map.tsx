/** The nodes of a comparable set as cells, in the order in which they joined. Each state is one path, however many nodes there are. */
import type { HealthSummary } from "@headroom/protocol";
import { grouped, mapLetters, plural } from "@headroom/views";
import type { ReactElement } from "react";

const COLUMNS = 64;
const STEP = 10;
const SIZE = 8;

const states = {
  inService: { name: "in service", fill: "fill-run" },
  draining: { name: "draining", fill: "fill-ink-3" },
  qualifying: { name: "qualifying", fill: "fill-accent" },
  suspended: { name: "suspended", fill: "fill-stop" },
  removing: { name: "leaving", fill: "fill-cell-down" },
  faulty: { name: "faulty", fill: "fill-wait" },
  lost: { name: "lost", fill: "fill-bad" },
} as const satisfies Readonly<Record<keyof typeof mapLetters, { readonly name: string; readonly fill: string }>>;

const shown = Object.entries(states).map(([state, look]) => ({
  ...look,
  letter: mapLetters[state as keyof typeof states],
}));

export function NodeMap({ set }: { readonly set: HealthSummary["sets"][number] }): ReactElement {
  const { cells, nodesPerCell } = set.map;
  const rows = Math.max(1, Math.ceil(cells.length / COLUMNS));
  const present = shown.flatMap((each) => {
    const places = cells.split("").flatMap((letter, index) => (letter === each.letter ? index : []));
    return places.length === 0 ? [] : [{ ...each, places }];
  });
  const of = nodesPerCell === 1 ? "" : `, each for ${plural(nodesPerCell, "node")} with the state of the worst`;
  const summary = present.map(({ name, places }) => `${grouped(places.length)} ${name}`).join(", ");
  return (
    <figure className="px-4 pb-3">
      <svg
        role="img"
        aria-label={`Map of ${set.pool}: ${plural(cells.length, "cell")}${of}; ${summary}`}
        viewBox={`0 0 ${COLUMNS * STEP} ${rows * STEP}`}
        className="w-full max-w-160"
      >
        {present.map(({ name, fill, places }) => (
          <path key={name} className={fill} d={places.map(cellPath).join("")} />
        ))}
      </svg>
      <figcaption className="flex flex-wrap gap-x-3 text-xs text-ink-2">
        {present.map(({ name, fill, places }) => (
          <span key={name} className="flex items-center gap-1">
            <svg aria-hidden="true" viewBox="0 0 8 8" className="size-2">
              <rect width="8" height="8" className={fill} />
            </svg>
            {`${name} ${grouped(places.length)}`}
          </span>
        ))}
        {nodesPerCell === 1 ? null : (
          <span>{`each cell stands for ${plural(nodesPerCell, "node")} and has the state of the worst`}</span>
        )}
      </figcaption>
    </figure>
  );
}

const cellPath = (index: number): string =>
  `M${(index % COLUMNS) * STEP} ${Math.floor(index / COLUMNS) * STEP}h${SIZE}v${SIZE}h-${SIZE}z`;
