/** The purpose of each preset, for users who choose one. */

const imitation = (what: string): string => `${what}, for comparison and for migration from that system.`;

export const presetPurposes: Readonly<Record<string, string>> = {
  default: "High priority first, with backfill; teams get their guarantees, by preemption if needed.",
  fifo: "Strict queue order: predictable, but accelerators stay idle while a large gang waits.",
  "fifo-skip": "Queue order, skipping requests that do not fit. Large gangs can starve.",
  easy: "Queue order with EASY backfill: later requests start if they do not delay the head. Needs realistic walltimes.",
  conservative:
    "Queue order with conservative backfill: later requests start if they delay no earlier one. Needs realistic walltimes.",
  sjf: "Shortest job first: lowest mean wait. Work without a walltime comes last.",
  random: "Random node that fits: the baseline for other placements.",
  "best-fit":
    "Best fit: the node with the smallest rest of cores and accelerators. Nodes fill up, but leave odd remnants.",
  fgd: imitation("Fragmentation Gradient Descent, placement alone"),
  kai: imitation("The rounds of KAI-Scheduler"),
  "volcano-capacity": imitation("The rounds of Volcano's capacity plugin"),
  armada: imitation("The rounds of Armada"),
  "kueue-fair-sharing": imitation("Kueue's quotas with fair sharing"),
  "kueue-topology": imitation("Kueue's placement on a topology"),
  "kueue-classic": imitation("Kueue's quotas without fair sharing"),
  hived: imitation("HiveD's virtual clusters: teams own topology cells"),
};
