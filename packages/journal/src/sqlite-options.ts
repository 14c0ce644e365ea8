/** Options of the embedded journal. */
export interface SqliteOptions {
  readonly directory: string;
  /**
   * `full`: an append is durable when it resolves. `off` leaves that to the kernel: a power cut loses acknowledged
   * events. It exists to measure the cost of durability, and to prove that the crash tests detect it.
   */
  readonly synchronous: "full" | "off";
  /**
   * False: a journal that lost its end, or damaged recorded inputs, are refused. True: the journal continues from the
   * rest with a warning, but never if attempts on disk know later events.
   */
  readonly acceptsLoss: boolean;
  /** Size in bytes above which the oldest inputs are dropped. 1 GiB is days of heavy use and affordable on a laptop. */
  readonly roundsBytesMax: number;
  /**
   * Bytes of appends after which the write-ahead log is folded into the database, which takes milliseconds without an
   * append.
   */
  readonly checkpointBytes: number;
}

export const sqliteDefaults: Omit<SqliteOptions, "directory"> = {
  synchronous: "full",
  acceptsLoss: false,
  roundsBytesMax: 1024 * 1024 * 1024,
  checkpointBytes: 4 * 1024 * 1024,
};
