/** Published failure rates of a node, in total and by component. */
export interface FailureRecord {
  readonly name: string;
  /** Number of unplanned failures that end the job on a node with 8 accelerators, in 1,000 days of one node. */
  readonly perThousandNodeDays: number;
  readonly components: readonly ComponentRate[];
  readonly source: string;
}

export interface ComponentRate {
  readonly component: string;
  readonly family: "accelerator" | "host" | "network" | "software" | "maintenance" | "unknown";
  readonly perThousandNodeDays: number;
}

/**
 * Node-days of Llama 3's training: 54 days on 2,048 nodes of eight H100. The interruptions by cause are in table 5 of
 * The Llama 3 Herd of Models.
 */
const llamaNodeDays = 2048 * 54;
const llamaInterruptions: readonly (readonly [string, ComponentRate["family"], number])[] = [
  ["accelerator", "accelerator", 148],
  ["HBM", "accelerator", 72],
  ["software", "software", 54],
  ["switch or cable", "network", 35],
  ["host maintenance, unplanned", "maintenance", 32],
  ["accelerator SRAM", "accelerator", 19],
  ["accelerator system processor", "accelerator", 17],
  ["network card", "host", 7],
  ["collective watchdog", "unknown", 7],
  ["silent data corruption", "accelerator", 6],
  ["thermal interface or sensor", "accelerator", 6],
  ["SSD", "host", 3],
  ["power supply", "host", 3],
  ["chassis", "host", 2],
  ["IO board", "host", 2],
  ["dependency", "software", 2],
  ["CPU", "host", 2],
  ["host memory", "host", 2],
];

function llamaComponents(): ComponentRate[] {
  return llamaInterruptions.map(([component, family, count]) => ({
    component,
    family,
    perThousandNodeDays: (1000 * count) / llamaNodeDays,
  }));
}

export const failureRecords: readonly FailureRecord[] = [
  {
    name: "llama3-h100",
    perThousandNodeDays: llamaComponents().reduce((sum, one) => sum + one.perThousandNodeDays, 0),
    components: llamaComponents(),
    source: "The Llama 3 Herd of Models, table 5: 419 unexpected interruptions of 16,384 H100 in 54 days",
  },
  { name: "rsc1-a100", perThousandNodeDays: 6.5, components: [], source: "arXiv 2410.21680, RSC-1, 16k A100" },
  { name: "rsc2-a100", perThousandNodeDays: 2.34, components: [], source: "arXiv 2410.21680, RSC-2, 8k A100" },
];

export function findFailureRecord(name: string): FailureRecord | undefined {
  return failureRecords.find((record) => record.name === name);
}

/**
 * Failure rate of a node with another number of accelerators. Failures of accelerators are proportional to their
 * number; the rate of other failures does not change.
 */
export function scaledToNode(record: FailureRecord, acceleratorCount: number): number {
  const ofAccelerators = record.components
    .filter((one) => one.family === "accelerator")
    .reduce((sum, one) => sum + one.perThousandNodeDays, 0);
  const share = record.components.length === 0 ? 1 : ofAccelerators / record.perThousandNodeDays;
  return record.perThousandNodeDays * (1 - share + (share * acceleratorCount) / 8);
}

/**
 * Mean time to failure of a job on `nodeCount` nodes, in seconds: 1 ÷ (N·r), by Meta's law (arXiv 2410.21680 §4). Small
 * jobs fail earlier than this, because some causes belong to no node (1,024 GPUs: 7.9 h measured, 28.9 h by the law).
 * `otherPerDay`: number of failures per day from such causes, if it is known.
 */
export function jobMttfSeconds(nodeCount: number, perThousandNodeDays: number, otherPerDay: number): number {
  return 86_400 / ((nodeCount * perThousandNodeDays) / 1000 + otherPerDay);
}
