/** The purpose of each preset, for users who choose one. */

const imitation = (what: string): string => `${what}: to compare with, and for whoever comes from there.`;

export const presetPurposes: Readonly<Record<string, string>> = {
  default:
    "Important work first, nothing idle that could run, and every team gets what it was promised, by eviction where need be.",
  fifo: "Strictly in turn: predictable, at the price of idle accelerators while a large gang waits.",
  "fifo-skip": "In turn, but around what does not fit. Large gangs can starve.",
  easy: "In turn; what does not delay the start of the first goes around it. Needs walltimes that can be believed.",
  conservative: "In turn; what goes around others delays none of them. Needs walltimes that can be believed.",
  sjf: "Short work first: the shortest waits on average. Work without a walltime comes last.",
  random: "Any node that has room, drawn by lot: what every better placement is measured against.",
  "best-fit": "The node where least of cores and accelerators is left: full nodes, at the price of odd remnants.",
  fgd: imitation("Fragmentation Gradient Descent, placement alone"),
  kai: imitation("The rounds of KAI-Scheduler"),
  "volcano-capacity": imitation("The rounds of Volcano's capacity plugin"),
  armada: imitation("The rounds of Armada"),
  "kueue-fair-sharing": imitation("Kueue's quotas with fair sharing"),
  "kueue-topology": imitation("Kueue's placement on a topology"),
  "kueue-classic": imitation("Kueue's quotas without fair sharing"),
  hived: imitation("HiveD's cells, which teams own by shape"),
};
