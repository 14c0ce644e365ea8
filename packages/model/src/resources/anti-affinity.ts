/**
 * Anti-affinity of work. It applies to named sets of work, within a fabric domain or on nodes with the same label
 * value, or to all other work on its nodes.
 */
export interface AntiAffinitySpec {
  /** Names of the sets to which the work belongs. Other work can state anti-affinity to these sets. */
  readonly sets?: readonly string[];
  /** Sets of work that must not share a domain with this work; workers of its own gang may. The rule is symmetric. */
  readonly from?: readonly AntiAffinityFrom[];
  readonly exclusive?: true;
}

/**
 * `within`: the separate domains are those of this level of the fabric, or single nodes. `topologyKey`: the separate
 * domains are the nodes with the same value of this label.
 */
export type AntiAffinityFrom =
  | { readonly set: string; readonly within: string }
  | { readonly set: string; readonly topologyKey: string };
