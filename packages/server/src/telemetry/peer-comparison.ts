/** The lists that are answered of one comparison with peers. */
import { isHarmful, type PeerDeviation } from "@headroom/health";

/** Deviations for readers. */
const SHOWN_MAX = 200;
/** Deviations that are watched: of a whole pool, a bound of memory alone. */
const HARMFUL_MAX = 10_000;

export interface ListedDeviations {
  /** The largest. */
  readonly deviations: readonly PeerDeviation[];
  /** All that can become a finding: harmless ones, however large, take no place of theirs. */
  readonly harmful: readonly PeerDeviation[];
}

/** `all`: the largest first. */
export const listedDeviations = (all: readonly PeerDeviation[]): ListedDeviations => ({
  deviations: all.slice(0, SHOWN_MAX),
  harmful: all.filter(isHarmful).slice(0, HARMFUL_MAX),
});
