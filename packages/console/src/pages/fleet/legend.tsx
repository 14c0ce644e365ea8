import type { Node } from "@headroom/protocol";
import { useMemo } from "react";
import type { ReactElement } from "react";
import type { Colouring } from "../../routes/search-params.ts";
import { useThemeName } from "../../theme/token-colours.ts";
import { categoryColour } from "./paint-fleet.ts";

interface LegendProps {
  readonly nodes: readonly Node[];
  readonly teams: ReadonlyMap<string, number>;
  readonly colouring: Colouring;
}

interface LegendEntry {
  readonly name: string;
  readonly colour: string;
  readonly border?: string;
}

const token = (name: string): string => `var(--color-${name})`;

const common: readonly LegendEntry[] = [
  { name: "Free", colour: token("cell-free") },
  { name: "Lost", colour: token("cell-down"), border: `1.5px solid ${token("bad")}` },
  { name: "Draining", colour: "transparent", border: `1.5px dashed ${token("wait")}` },
];

const states: readonly LegendEntry[] = [
  { name: "Running", colour: token("run") },
  { name: "Launching", colour: token("run-soft"), border: `1px solid ${token("run")}` },
  { name: "Stopping", colour: token("stop") },
];

const uses: readonly LegendEntry[] = [
  { name: "Idle", colour: token("cell-free") },
  { name: "Half busy", colour: `color-mix(in oklab, ${token("run")} 50%, ${token("cell-free")})` },
  { name: "Busy", colour: token("run") },
  { name: "Fault", colour: token("cell-down"), border: `1px solid ${token("bad")}` },
  { name: "No telemetry", colour: token("sunken"), border: `1px solid ${token("line-strong")}` },
  { name: "Lost", colour: token("cell-down"), border: `1.5px solid ${token("bad")}` },
];

const foreign: LegendEntry = {
  name: "Foreign work",
  colour: token("sunken"),
  border: `1px solid ${token("ink-3")}`,
};

/** Meaning of the colours. Only teams that hold accelerators now are listed. */
export function Legend({ nodes, teams, colouring }: LegendProps): ReactElement {
  const theme = useThemeName();
  const holding = useMemo(() => new Set(nodes.flatMap(({ holders }) => holders.map(({ team }) => team))), [nodes]);
  const hasForeign = nodes.some(({ foreignUse }) => (foreignUse?.accelerators ?? "") !== "");
  const own: readonly LegendEntry[] =
    colouring === "use"
      ? uses
      : colouring === "state"
        ? states
        : colouring === "team"
          ? [...teams]
              .filter(([team]) => holding.has(team))
              .map(([team, category]) => ({ name: team, colour: categoryColour(category, theme) }))
          : [];
  return (
    <ul aria-label="Legend" className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-ink-2">
      {[...own, ...(colouring === "use" ? [] : hasForeign ? [...common, foreign] : common)].map(
        ({ name, colour, border }) => (
          <li key={name} className="flex items-center gap-1.5">
            <span aria-hidden="true" className="size-2.5" style={{ background: colour, border }} />
            {name}
          </li>
        ),
      )}
      {colouring === "workload" ? <li>Cells of one colour side by side belong to one workload.</li> : null}
    </ul>
  );
}
