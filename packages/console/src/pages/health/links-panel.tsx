/** Links that are slow beside their peers: adapters of nodes, uplinks of leaves, pairs of nodes. */
import { grouped, plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { linksQuery } from "../../data/queries.ts";
import { Panel } from "../../parts/page.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { numberCell, PanelTable } from "./panel-table.tsx";

const ROWS_SHOWN = 20;
const KINDS = { uplink: "Uplink of", nic: "Adapter of", pair: "Pair" } as const;
const amount = (value: number | null, unit: string): string =>
  value === null ? "–" : `${Number(value.toPrecision(4))} ${unit}`.trim();

/** Nothing is shown while no pair is measured. */
export function LinksPanel(): ReactElement | null {
  const { data } = useQuery(linksQuery(useClient()));
  if (data === undefined || data.pairs === 0) return null;
  const { pairs, nodes, items } = data;
  const slow = items.filter(({ verdict }) => verdict === "slow");
  return (
    <Panel title="Slow links">
      <p className="px-4 py-3 text-ink-2">
        {plural(pairs, "pair")} measured, of {grouped(nodes.measured)} of {plural(nodes.total, "node")};{" "}
        {plural(slow.length, "link")} slow.
      </p>
      {slow.length === 0 ? null : (
        <PanelTable
          label="Slow links"
          region="Slow links"
          texts={["Link", "Measured", "Detail"]}
          numbers={["Value", "Median"]}
        >
          {slow.slice(0, ROWS_SHOWN).map(({ kind, leaf, nodes: ends, pool, measure, unit, value, median, ...rest }) => (
            <tr key={`${kind} ${pool} ${leaf ?? ends.join(" ")} ${measure ?? ""}`} data-row>
              <th scope="row" className="px-4 py-2 font-normal break-words">
                {KINDS[kind]} {leaf ?? ends.join(" and ")}
              </th>
              <td className="px-4 py-2">{rest.measuredAtMs === null ? "–" : <Moment atMs={rest.measuredAtMs} />}</td>
              <td className="px-4 py-2">{rest.detail}</td>
              <td className={numberCell}>{amount(value, unit)}</td>
              <td className={numberCell}>{amount(median, unit)}</td>
            </tr>
          ))}
        </PanelTable>
      )}
    </Panel>
  );
}
