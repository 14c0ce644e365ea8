/** A home directory with a driver and its executor, for tests that open and close it repeatedly. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Executor } from "@headroom/executors";
import { sqliteJournal } from "@headroom/journal";
import type { SqliteOptions } from "@headroom/journal";
import type { Driver } from "../driver.ts";
import { openDriver } from "../open-driver.ts";
import type { OpenDriverOptions } from "../open-driver.ts";
import { FileExecutor } from "./file-executor.ts";

export interface OpenHome {
  readonly driver: Driver;
  readonly executor: Executor;
  readonly fatal: Error[];
  readonly logged: string[];
  close(): Promise<void>;
}

export function temporaryDirectory(): string {
  return mkdtempSync(path.join(tmpdir(), "headroom-"));
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}

export const journalDirectory = (home: string): string => path.join(home, "journal");

export async function openHome(
  home: string,
  options: Partial<OpenDriverOptions> & {
    readonly slots?: number;
    readonly runMs?: number;
    readonly executor?: Executor;
    readonly journal?: Partial<Omit<SqliteOptions, "directory">>;
  } = {},
): Promise<OpenHome> {
  const { slots = 2, runMs = 5, journal = {}, ...given } = options;
  const { executor = new FileExecutor({ directory: home, slots, runMs }), ...rest } = given;
  const fatal: Error[] = [];
  const logged: string[] = [];
  const log = {
    info: (line: string) => logged.push(line),
    warn: (line: string) => logged.push(line),
    error: (line: string) => logged.push(line),
  };
  const driver = await openDriver({
    openJournal: sqliteJournal(journalDirectory(home), journal),
    executors: [executor],
    log,
    onFatal: (error) => fatal.push(error),
    ...rest,
  });
  const close = async (): Promise<void> => {
    await driver.close();
    await executor.close();
  };
  return { driver, executor, fatal, logged, close };
}

/** Declares the executor's pools and reports its nodes. */
export async function registerFleet({ driver, executor }: OpenHome): Promise<void> {
  const { sites, pools, nodes } = await executor.inventory();
  await driver.command({ kind: "apply", actor: "test", idempotencyKey: null, sites, pools, teams: [], workloads: [] });
  for (const node of nodes) await driver.observe({ kind: "nodeSeen", node });
}

/** Waits for the first durable event that satisfies the condition, from the first event on. */
export async function untilEvent(
  driver: Driver,
  condition: (event: { readonly kind: string }) => boolean,
): Promise<void> {
  const abort = new AbortController();
  for await (const { event } of driver.events(1, abort.signal)) if (condition(event)) return abort.abort();
  throw new Error("the events ended before the condition was met");
}
