/**
 * Anti-affinity: sets of work by name, in a fabric domain or the nodes with one label value, or all other work on its
 * nodes.
 */
export interface AntiAffinitySpec {
  /** Sets that the work belongs to; others may keep away from them. */
  readonly sets?: readonly string[];
  /** It shares no domain with work of these sets that is not its own gang; nor may such work come near it. */
  readonly from?: readonly AntiAffinityFrom[];
  /** No other work runs on its nodes. */
  readonly exclusive?: true;
}

/** `within`: a domain of this level of the fabric, or the node. `topologyKey`: nodes with the same value of this label. */
export type AntiAffinityFrom =
  | { readonly set: string; readonly within: string }
  | { readonly set: string; readonly topologyKey: string };
