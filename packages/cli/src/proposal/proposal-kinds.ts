/** Kinds of proposals that the command line makes. In a file of its own, so that the table of commands loads nothing else. */
export const proposalKindNames = [
  "quota",
  "priority",
  "drain",
  "defragment",
  "resume",
  "restart",
  "spares",
  "request",
  "order",
  "advice",
  "remediate",
  "alias",
] as const;
