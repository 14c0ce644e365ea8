/** Readings of nodes and accelerators that differ from those of their comparable set. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { peersQuery } from "../../data/queries.ts";
import { Panel } from "../../parts/page.tsx";
import { numberCell, PanelTable } from "./panel-table.tsx";

const ROWS_SHOWN = 20;
const amount = (value: number, unit: string): string => `${Number(value.toPrecision(4))} ${unit}`.trim();

/** Nothing is shown while no readings are compared. */
export function PeersPanel(): ReactElement | null {
  const { data } = useQuery(peersQuery(useClient()));
  if (data === undefined || data.compared === 0) return null;
  return (
    <Panel title="Unlike their set">
      {data.items.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">No reading differs from those of its comparable set.</p>
      ) : (
        <PanelTable
          label="Readings unlike the set"
          region="Readings unlike the set"
          texts={["Node", "Reading"]}
          numbers={["Value", "Median of the set", "Deviations"]}
        >
          {data.items.slice(0, ROWS_SHOWN).map(({ nodeId, accelerator, metric, unit, value, median, deviations }) => (
            <tr key={`${nodeId} ${accelerator ?? ""} ${metric}`} data-row>
              <th scope="row" className="px-4 py-2 font-normal">
                <Link to="/" search={{ node: nodeId }} className="underline">
                  {nodeId}
                </Link>
                {accelerator === null ? "" : ` #${accelerator}`}
              </th>
              <td className="px-4 py-2">{metric}</td>
              <td className={numberCell}>{amount(value, unit)}</td>
              <td className={numberCell}>{amount(median, unit)}</td>
              <td className={numberCell}>{deviations}</td>
            </tr>
          ))}
        </PanelTable>
      )}
    </Panel>
  );
}
