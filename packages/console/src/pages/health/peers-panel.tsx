/** Readings of nodes and accelerators that differ from those of their comparable set. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { peersQuery } from "../../data/queries.ts";
import { Panel } from "../../parts/page.tsx";

const ROWS_SHOWN = 20;
const cell = "px-4 py-2 text-right tabular-nums";
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
        <div className="scroll-thin overflow-x-auto" tabIndex={0} role="region" aria-label="Readings unlike the set">
          <table aria-label="Readings unlike the set" className="w-full text-left">
            <thead className="text-xs text-ink-3">
              <tr>
                {["Node", "Reading"].map((title) => (
                  <th key={title} scope="col" className="px-4 py-2 font-medium">
                    {title}
                  </th>
                ))}
                {["Value", "Median of the set", "Deviations"].map((title) => (
                  <th key={title} scope="col" className="px-4 py-2 text-right font-medium">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody className="divide-y divide-line">
              {data.items
                .slice(0, ROWS_SHOWN)
                .map(({ nodeId, accelerator, metric, unit, value, median, deviations }) => (
                  <tr key={`${nodeId} ${accelerator ?? ""} ${metric}`} data-row>
                    <th scope="row" className="px-4 py-2 font-normal">
                      <Link to="/" search={{ node: nodeId }} className="underline">
                        {nodeId}
                      </Link>
                      {accelerator === null ? "" : ` #${accelerator}`}
                    </th>
                    <td className="px-4 py-2">{metric}</td>
                    <td className={cell}>{amount(value, unit)}</td>
                    <td className={cell}>{amount(median, unit)}</td>
                    <td className={cell}>{deviations}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
