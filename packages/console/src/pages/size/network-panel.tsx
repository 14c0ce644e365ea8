import { answerSizing, fabricRequest } from "@headroom/perf";
import type { FabricRequest } from "@headroom/perf";
import { useMemo, useState } from "react";
import type { ReactElement } from "react";
import { Segments } from "../../parts/controls.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Panel } from "../../parts/page.tsx";
import { NumberTable } from "../../parts/number-table.tsx";
import { AnswerFrame, Notice } from "./answer-frame.tsx";
import { Choice, namesAsOptions } from "./choice.tsx";
import { amountText, doublings } from "./scales.ts";
import { Sliders, type SliderRow } from "./slider.tsx";

const nodeCounts = doublings(4, 16_384).flatMap((count) => [count, count * 1.5]);
const ratios = [1, 1.5, 2, 3, 4, 7, 15];
const radixes = namesAsOptions(["32", "36", "40", "64", "128", "144"]);
const kinds = [
  { value: "rail-optimised", label: "Rails" },
  { value: "fat-tree", label: "Fat tree" },
  { value: "dragonfly", label: "Dragonfly" },
] as const;

export function NetworkPanel(): ReactElement {
  const [request, setRequest] = useState(() => fabricRequest({ nodeCount: 512 }));
  const answer = useMemo(() => answerSizing({ kind: "network", network: request }), [request]);
  const set = (part: Partial<FabricRequest>): void => setRequest((before) => ({ ...before, ...part }));
  return (
    <AnswerFrame controls={<NetworkControls request={request} set={set} />}>
      {answer.kind === "impossible" ? (
        <Notice title={`${answer.reason}.`} text={`Nearest that works: ${answer.nearest}.`} />
      ) : null}
      {answer.kind === "network" ? (
        <Panel title="Bill of materials">
          <NumberTable
            label="Levels of the fabric"
            columns={["Level", "Switches", "Cables down", "Nodes below", "Oversubscribed"]}
            rows={answer.levels.map(({ name, switchCount, cablesDown }, index) => [
              name,
              String(switchCount),
              String(cablesDown),
              String(answer.nodesBelow[index] ?? ""),
              answer.oversubscription[index] === undefined ? "" : `${amountText(answer.oversubscription[index])}:1`,
            ])}
          />
          <Facts
            facts={[
              { name: "Switches", value: String(answer.switchCount) },
              { name: "Cables", value: String(answer.cableCount) },
              { name: "Bisection", value: `${amountText(answer.bisectionGbPerS)} GB/s per direction` },
              { name: "Grows to", value: `${answer.nodeCountMax} nodes with these switches and tiers` },
            ]}
          />
        </Panel>
      ) : null}
    </AnswerFrame>
  );
}

interface NetworkControlsProps {
  readonly request: FabricRequest;
  readonly set: (part: Partial<FabricRequest>) => void;
}

type NetworkAmount =
  | "nodeCount"
  | "portsPerNode"
  | "portGbps"
  | "leafOversubscription"
  | "spineOversubscription"
  | "planes";

const ratio = (value: number): string => `${value}:1`;

const sliders: readonly SliderRow<NetworkAmount>[] = [
  { key: "nodeCount", label: "Nodes", steps: nodeCounts, text: String },
  { key: "portsPerNode", label: "Ports per node", steps: doublings(1, 16), text: String },
  { key: "portGbps", label: "Gbit/s of a port", steps: [100, 200, 400, 800, 1600], text: String },
  { key: "leafOversubscription", label: "Oversubscription of the leaves", steps: ratios, text: ratio },
  {
    key: "spineOversubscription",
    label: "Oversubscription of the spines (three tiers)",
    steps: ratios,
    text: ratio,
  },
  { key: "planes", label: "Planes", steps: doublings(1, 8), text: String },
];

function NetworkControls({ request, set }: NetworkControlsProps): ReactElement {
  return (
    <>
      <Segments label="Fabric" name="fabric" value={request.kind} options={kinds} onValue={(kind) => set({ kind })} />
      <Choice
        label="Ports of a switch"
        options={radixes}
        value={String(request.switchPorts)}
        onValue={(value) => set({ switchPorts: Number(value) })}
      />
      <Sliders rows={sliders} values={request} onValue={(key, value) => set({ [key]: value })} />
    </>
  );
}
