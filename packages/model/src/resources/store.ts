/**
 * Stores of bytes, as the control plane declares them to the engine, and how fast their bytes came. Transfers to nodes count in
 * the schedule, in start estimates and in costs. Throughput is in KiB/s, money in micro-dollars.
 */
import type { SiteName } from "./ids.ts";

export interface StoreSpec {
  readonly name: string;
  /** The URI with which every object of the store begins. */
  readonly root: string;
  /** Site at which the bytes are; `null`: none is stated, so every read leaves it. */
  readonly site: SiteName | null;
  /** Work reads the bytes where they are: nothing is transferred before a start. */
  readonly inPlace?: true;
  /** Declared throughput of one transfer. Absent: not stated. */
  readonly kibPerS?: number;
  /** Price of a gibibyte that leaves the site. Absent: 0. */
  readonly egressMicroUsdPerGib?: number;
}

/** Throughput of the last transfers from a store to a site, in KiB/s, the newest last. */
export interface StoreLink {
  /** `""`: to nodes without a site. */
  readonly site: string;
  readonly readings: readonly number[];
}

export interface Store extends StoreSpec {
  /** In the order of their sites. */
  readonly links: readonly StoreLink[];
}

/** Readings of a link. With 39 of them, the fourth from each end are the tenth and the ninetieth percent. */
export const LINK_READINGS_KEPT = 39;
export const STORE_LINKS_KEPT = 64;
export const STORES_KEPT = 256;
/** One part of a transfer. Shorter ones say more about the answer time of a store than about its throughput. */
export const READING_BYTES_MIN = 16_777_216;

/** Bytes that moved between a store and a node. */
export interface ByteTransfer {
  /** `in`: from the store to the node. `out`: from the node to the store. */
  readonly direction: "in" | "out";
  readonly store: string;
  readonly uri: string;
  /** Bytes that were sent, those of transfers that failed included. */
  readonly bytes: number;
  readonly tookMs: number;
  /** The transfer did not end: its bytes count in costs and not in readings. */
  readonly failed?: true;
  /** An earlier transfer had brought a part: the time is not that of the bytes, so it counts in costs and not in readings. */
  readonly resumed?: true;
}

const BYTES_PER_GIB = 1_073_741_824;

/** Cost of bytes that a store sends to a site, in micro-dollars. */
export const egressMicroUsd = (
  { site, egressMicroUsdPerGib = 0 }: Pick<StoreSpec, "site" | "egressMicroUsdPerGib">,
  bytes: number,
  to: string,
): number => (site !== null && site === to ? 0 : Math.round((bytes / BYTES_PER_GIB) * egressMicroUsdPerGib));
