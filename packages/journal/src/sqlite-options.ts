/** Options of the embedded journal. */
export interface SqliteOptions {
  readonly directory: string;
  /**
   * `full`: an append is durable when it resolves. `off`: the kernel decides when to write, and a power cut loses
   * acknowledged events. `off` exists to measure the cost of durability, and to prove that the crash tests detect such
   * a loss.
   */
  readonly synchronous: "full" | "off";
  /**
   * False: a journal that lost its end, or whose recorded inputs are damaged, is refused. True: the journal continues
   * from the rest with a warning, but never if attempts on disk know later events.
   */
  readonly acceptsLoss: boolean;
  /** Size in bytes above which the oldest inputs are dropped. 1 GiB holds days of heavy use and fits on a laptop. */
  readonly roundsBytesMax: number;
  /**
   * Number of appended bytes after which the write-ahead log is folded into the database. This takes milliseconds in
   * which nothing is appended.
   */
  readonly checkpointBytes: number;
}

export const sqliteDefaults: Omit<SqliteOptions, "directory"> = {
  synchronous: "full",
  acceptsLoss: false,
  roundsBytesMax: 1024 * 1024 * 1024,
  checkpointBytes: 4 * 1024 * 1024,
};
