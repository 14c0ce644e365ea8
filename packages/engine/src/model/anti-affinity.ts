/**
 * Anti-affinity: sets of work by name, in a fabric domain or the nodes with one label value, or all other work on its
 * nodes.
 */
export interface AntiAffinitySpec {
  /** Sets to which the work belongs; other work can have anti-affinity to them. */
  readonly sets?: readonly string[];
  /** The work shares no domain with work of these sets outside its own gang, in either direction. */
  readonly from?: readonly AntiAffinityFrom[];
  /** No other work runs on its nodes. */
  readonly exclusive?: true;
}

/** `within`: a domain of this level of the fabric, or the node. `topologyKey`: nodes with the same value of this label. */
export type AntiAffinityFrom =
  | { readonly set: string; readonly within: string }
  | { readonly set: string; readonly topologyKey: string };
