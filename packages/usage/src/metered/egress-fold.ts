/**
 * Bytes that left the site of their store, from the journal: each movement carries its cost, by the price that the store declared
 * at that time. Bytes of transfers that failed were sent too, so they count.
 */
import { DAY_MS } from "@headroom/model";
import type { Event } from "@headroom/model";
import type { BillingRange } from "../bill/charges.ts";
import { MICRO } from "../prices/amounts.ts";
import type { MeteredLine } from "./metered-line.ts";

interface Work {
  readonly team: string;
  name: string;
}

interface Sent extends Work {
  readonly dayMs: number;
  readonly store: string;
  bytes: number;
  microUsd: number;
}

const GIB = 1_073_741_824;

export class EgressFold {
  readonly #works = new Map<string, Work>();
  readonly #sent = new Map<string, Sent>();

  fold(event: Event): void {
    if (event.kind === "workloadSubmitted")
      this.#works.set(event.workloadId, { team: event.spec.team, name: event.spec.name });
    else if (event.kind === "bytesTransferred" && event.egressMicroUsd !== undefined)
      this.#add({ ...event, egressMicroUsd: event.egressMicroUsd });
  }

  #add({
    workloadId,
    store,
    bytes,
    egressMicroUsd,
    atMs,
  }: {
    readonly workloadId: string;
    readonly store: string;
    readonly bytes: number;
    readonly egressMicroUsd: number;
    readonly atMs: number;
  }): void {
    const work = this.#works.get(workloadId) ?? { team: "", name: workloadId };
    const dayMs = Math.floor(atMs / DAY_MS) * DAY_MS;
    const key = JSON.stringify([dayMs, work.team, work.name, store]);
    const sum = this.#sent.get(key) ?? { ...work, dayMs, store, bytes: 0, microUsd: 0 };
    sum.bytes += bytes;
    sum.microUsd += egressMicroUsd;
    this.#sent.set(key, sum);
  }

  /** Lines of the days that begin in the range, and of the day in which it begins. */
  lines({ fromMs, toMs }: BillingRange): readonly MeteredLine[] {
    const firstMs = Math.floor(fromMs / DAY_MS) * DAY_MS;
    return [...this.#sent.values()].filter(({ dayMs }) => dayMs >= firstMs && dayMs < toMs).map(lineOf);
  }
}

function lineOf({ dayMs, team, name, store, bytes, microUsd }: Sent): MeteredLine {
  const quantity = bytes / GIB;
  const unitPrice = microUsd / MICRO / quantity;
  return {
    dayMs,
    service: "egress",
    team,
    subject: name,
    place: store,
    quantity,
    requestCount: 0,
    price: `store-${store}`,
    provider: "",
    microUsd,
    chargedMicroUsd: 0,
    parts: [{ meter: "Egress Data", quantity, unitPrice, microUsd }],
  };
}
