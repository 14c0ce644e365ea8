import { grouped } from "@headroom/views";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { Panel } from "./page.tsx";

interface ListedWorkProps<Work> {
  readonly title: string;
  /** Accessible name of the region. On narrow screens the region scrolls sideways. */
  readonly label: string;
  /** Columns in addition to the workload and its team. */
  readonly columns: readonly string[];
  readonly work: readonly Work[];
  /** Total number of workloads. `work` can contain only the first of them. */
  readonly count: number;
  /** One cell for each column. */
  readonly cells: (work: Work) => ReactNode;
}

const SHOWN_MAX = 50;

/** A list of workloads with additional columns. */
export function ListedWork<Work extends { readonly workloadId: string; readonly name: string; readonly team: string }>({
  title,
  label,
  columns,
  work,
  count,
  cells,
}: ListedWorkProps<Work>): ReactElement {
  return (
    <Panel title={title}>
      <div className="scroll-thin relative overflow-x-auto" tabIndex={0} role="region" aria-label={label}>
        <table className="w-full text-left">
          <thead className="border-b border-line text-xs text-ink-3">
            <tr>
              {["Workload", "Team", ...columns].map((column) => (
                <th
                  key={column}
                  scope="col"
                  className={`px-4 py-2 font-medium ${column === "Team" ? "hidden sm:table-cell" : ""}`}
                >
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {work.slice(0, SHOWN_MAX).map((each) => (
              <tr key={each.workloadId}>
                <th scope="row" className="px-4 py-1.5 font-medium">
                  <Link
                    to="/workloads/$workloadId"
                    params={{ workloadId: each.workloadId }}
                    className="hover:underline"
                  >
                    {each.name}
                  </Link>
                </th>
                <td className="hidden px-4 py-1.5 text-ink-2 sm:table-cell">{each.team}</td>
                {cells(each)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {count > SHOWN_MAX ? (
        <p className="border-t border-line px-4 py-2 text-ink-3">and {grouped(count - SHOWN_MAX)} more</p>
      ) : null}
    </Panel>
  );
}
