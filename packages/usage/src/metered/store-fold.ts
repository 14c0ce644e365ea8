/**
 * Bytes in stores, from the journal: each version of an artifact counts in each store that has a place of it, from the registration
 * to the deletion or the removal of the place. Places that are missing and versions of unknown size do not count.
 */
import { DAY_MS, versionId } from "@headroom/model";
import type { ArtifactPlace, Event, EventOf } from "@headroom/model";
import type { BillingRange } from "../bill/charges.ts";
import { instantOf, MICRO } from "../prices/amounts.ts";
import type { PriceBook, StoragePrice } from "../prices/price-documents.ts";
import { EgressFold } from "./egress-fold.ts";
import type { MeteredLine } from "./metered-line.ts";

interface Stored {
  readonly team: string;
  readonly subject: string;
  readonly bytes: number;
  places: readonly ArtifactPlace[];
  isDeleted: boolean;
  sinceMs: number;
}

interface StoredSpan {
  readonly team: string;
  readonly subject: string;
  readonly store: string;
  readonly bytes: number;
  readonly fromMs: number;
  readonly toMs: number;
}

const GIB = 1_073_741_824;
const HOUR_MS = 3_600_000;
/** Months of a storage price have 730 hours, a twelfth of 8,760. */
const MONTH_HOURS = 730;

export class StoreFold {
  readonly #stored = new Map<string, Stored>();
  readonly #spans: StoredSpan[] = [];
  readonly #egress = new EgressFold();

  fold(event: Event): void {
    if (event.kind === "artifactRegistered") this.#register(event);
    else if (event.kind === "artifactChanged") this.#change(event);
    else this.#egress.fold(event);
  }

  #register({ artifact, atMs }: EventOf<"artifactRegistered">): void {
    if (artifact.bytes === null) return;
    this.#stored.set(versionId(artifact, artifact.number), {
      team: artifact.team,
      subject: versionId(artifact, artifact.number),
      bytes: artifact.bytes,
      places: artifact.places,
      isDeleted: false,
      sinceMs: atMs,
    });
  }

  #change({ artifact, change, atMs }: EventOf<"artifactChanged">): void {
    if (change.kind !== "place" && change.kind !== "delete" && change.kind !== "restore") return;
    const stored = this.#stored.get(`${artifact}@${change.number}`);
    if (stored === undefined) return;
    this.#spans.push(...spansOf(stored, atMs));
    stored.sinceMs = atMs;
    if (change.kind === "place") {
      const { place, removed } = change;
      const others = stored.places.filter(({ store, uri }) => store !== place.store || uri !== place.uri);
      stored.places = removed === true ? others : [...others, place];
    } else stored.isDeleted = change.kind === "delete";
  }

  /** Lines of the range; what is stored now counts up to `untilMs`. */
  lines(
    { fromMs, toMs }: BillingRange,
    untilMs: number,
    { storage }: Pick<PriceBook, "storage">,
  ): readonly MeteredLine[] {
    const lines = new Map<string, MeteredLine>();
    const open = [...this.#stored.values()].flatMap((stored) => spansOf(stored, untilMs));
    for (const span of [...this.#spans, ...open]) {
      const [from, to] = [Math.max(span.fromMs, fromMs), Math.min(span.toMs, toMs)];
      for (let atMs = from; atMs < to;) {
        const dayMs = Math.floor(atMs / DAY_MS) * DAY_MS;
        const endMs = Math.min(to, dayMs + DAY_MS);
        addSpan(lines, { ...span, fromMs: atMs, toMs: endMs }, dayMs, storage);
        atMs = endMs;
      }
    }
    return [...[...lines.values()].map(roundedLine), ...this.#egress.lines({ fromMs, toMs })];
  }
}

/** A day has one price of a store, so a line has one part. */
function roundedLine(line: MeteredLine): MeteredLine {
  const microUsd = Math.round(line.microUsd);
  const parts = line.parts.map((part) => ({ ...part, quantity: line.quantity, microUsd }));
  return { ...line, microUsd, parts };
}

function spansOf({ team, subject, bytes, places, isDeleted, sinceMs }: Stored, toMs: number): readonly StoredSpan[] {
  if (isDeleted || bytes === 0 || sinceMs >= toMs) return [];
  const stores = new Set(places.filter(({ state }) => state !== "missing").map(({ store }) => store));
  return [...stores].map((store) => ({ team, subject, store, bytes, fromMs: sinceMs, toMs }));
}

function addSpan(
  lines: Map<string, MeteredLine>,
  { team, subject, store, bytes, fromMs, toMs }: StoredSpan,
  dayMs: number,
  prices: readonly StoragePrice[],
): void {
  const key = JSON.stringify([dayMs, team, subject, store]);
  const quantity = (bytes / GIB) * ((toMs - fromMs) / HOUR_MS);
  const price = priceAt(prices, store, dayMs);
  const before = lines.get(key);
  lines.set(key, {
    dayMs,
    service: "storage",
    team,
    subject,
    place: store,
    quantity: quantity + (before?.quantity ?? 0),
    requestCount: 0,
    price: price?.name ?? "",
    provider: price?.provider ?? "",
    microUsd: (quantity * (price?.perGibMonth ?? 0) * MICRO) / MONTH_HOURS + (before?.microUsd ?? 0),
    chargedMicroUsd: 0,
    parts: [{ meter: "Stored Data", quantity, unitPrice: price?.perGibMonth ?? 0, microUsd: 0 }],
  });
}

/** The newest price of the store that has begun by the day. */
function priceAt(prices: readonly StoragePrice[], store: string, dayMs: number): StoragePrice | null {
  let found: StoragePrice | null = null;
  for (const price of prices) {
    const isValid =
      price.store === store &&
      instantOf(price.from) <= dayMs &&
      (price.until === undefined || instantOf(price.until) > dayMs);
    if (isValid && (found === null || instantOf(price.from) > instantOf(found.from))) found = price;
  }
  return found;
}
