/** How the embedded journal is set up. */
export interface SqliteOptions {
  readonly directory: string;
  /**
   * `full`: an append is durable when it resolves. `off` leaves that to the kernel: a power cut loses what was
   * acknowledged. It exists to measure what durability costs, and to prove that the crash tests notice.
   */
  readonly synchronous: "full" | "off";
  /**
   * False: a journal that lost its end, or recorded inputs that are damaged, are refused. True: the journal goes on from what it
   * still has, with a warning. Never past attempts on disk that know more.
   */
  readonly acceptsLoss: boolean;
  /** The inputs stream is cut at its old end beyond this. 1 GiB is days of heavy use and what a laptop has to spare. */
  readonly roundsBytesMax: number;
  /** After so many bytes of appends the write-ahead log is folded into the database: milliseconds during which nothing is appended. */
  readonly checkpointBytes: number;
}

export const sqliteDefaults: Omit<SqliteOptions, "directory"> = {
  synchronous: "full",
  acceptsLoss: false,
  roundsBytesMax: 1024 * 1024 * 1024,
  checkpointBytes: 4 * 1024 * 1024,
};
