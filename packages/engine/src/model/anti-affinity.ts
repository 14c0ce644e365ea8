/**
 * Anti-affinity of work: to named sets of work, within a fabric domain or on nodes with the same label value, or to all
 * other work on its nodes.
 */
export interface AntiAffinitySpec {
  /** Sets to which the work belongs; other work can have anti-affinity to them. */
  readonly sets?: readonly string[];
  /** Sets of which no work, other than its own gang, shares a domain with this work. The rule is symmetric. */
  readonly from?: readonly AntiAffinityFrom[];
  readonly exclusive?: true;
}

/** `within`: a domain of this level of the fabric, or the node. `topologyKey`: nodes with the same value of this label. */
export type AntiAffinityFrom =
  | { readonly set: string; readonly within: string }
  | { readonly set: string; readonly topologyKey: string };
