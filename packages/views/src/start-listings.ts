/**
 * All waiting work by expected start. All pages of one listing belong to one instant, because later estimates would
 * have another order. The newest listings are kept, and their cursors name them.
 */
import type { Engine } from "@headroom/engine";
import type { WorkloadId } from "@headroom/model";
import { PAGE_ITEMS_DEFAULT } from "@headroom/protocol";
import type { ExpectedStart, QueryFor, Page } from "@headroom/protocol";
import { estimateView, type EstimatedStart, type StartEstimator } from "./forecast-view.ts";
import type { ReadableTeams } from "./readable-teams.ts";
import { matcher } from "./workload-list.ts";
import { workloadSummary } from "./workload-view.ts";

/** Maximum number of listings, because each keeps its state. */
const KEPT_MAX = 2;

interface Listing {
  readonly id: string;
  readonly engine: Engine;
  readonly starts: readonly EstimatedStart[];
  /** The reader's teams, as text. */
  readonly reader: string;
}

/** Whether the text looks like a cursor of any listing. */
export const isListingCursor = (cursor: string): boolean => /^[0-9]{1,16}-[0-9]{1,9}\.[1-9][0-9]{0,8}$/.test(cursor);

export class StartListings {
  readonly #kept: Listing[] = [];
  #count = 0;

  /** The first page of a new listing. */
  begin(
    engine: Engine,
    estimate: StartEstimator,
    { team, limit, readable = null }: QueryFor<"expectedStarts"> & { readonly readable?: ReadableTeams },
  ): Page<ExpectedStart> {
    const isAsked = matcher(engine.state, { team }, readable);
    const starts = estimate(engine)
      .filter(({ workloadId }) => isAsked(engine.state.workloads.get(workloadId as WorkloadId)!))
      .toSorted(byStart);
    const listing = { id: `${engine.state.nowMs}-${++this.#count}`, engine, starts, reader: readerText(readable) };
    this.#kept.push(listing);
    if (this.#kept.length > KEPT_MAX) this.#kept.shift();
    return pageOf(listing, 0, limit);
  }

  /** The page; `null`: its listing has expired, or never existed. */
  goOn(cursor: string, limit: number | undefined, readable: ReadableTeams = null): Page<ExpectedStart> | null {
    const [id, place = ""] = cursor.split(".");
    const listing = this.#kept.find((each) => each.id === id);
    const from = /^[1-9][0-9]{0,8}$/.test(place) ? Number(place) : 0;
    if (listing === undefined || from === 0 || from >= listing.starts.length) return null;
    // A page of a listing for another reader could have work that this reader may not see.
    if (listing.reader !== readerText(readable)) return null;
    return pageOf(listing, from, limit);
  }
}

const readerText = (readable: ReadableTeams): string =>
  readable === null ? "" : JSON.stringify([...readable].toSorted());

/**
 * Entries without an instant come last. Entries with equal instants keep the order of submission, in which estimates
 * arrive.
 */
function byStart(left: EstimatedStart, right: EstimatedStart): number {
  return compareInstants(left.p50AtMs, right.p50AtMs) || compareInstants(left.p10AtMs, right.p10AtMs);
}

function compareInstants(left: number | null, right: number | null): number {
  if (left === right) return 0;
  if (left === null) return 1;
  return right === null ? -1 : left - right;
}

function pageOf({ id, engine, starts }: Listing, from: number, limit = PAGE_ITEMS_DEFAULT): Page<ExpectedStart> {
  const { state } = engine;
  const until = from + limit;
  const items = starts.slice(from, until).flatMap((start): ExpectedStart[] => {
    const workload = state.workloads.get(start.workloadId as WorkloadId);
    if (workload === undefined) return [];
    return [{ workload: workloadSummary(state, workload), estimate: estimateView(engine, start) }];
  });
  return { items, nextCursor: until < starts.length ? `${id}.${until}` : null };
}
