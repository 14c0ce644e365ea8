/** Isolation of an attempt as its launch record states it. The supervisor carries it out. */
import type { UserRecord } from "./team-users.ts";
import type { CgroupParent, WorkerLimits } from "./cgroups.ts";

export interface IsolationRecord {
  /** `null`: workers are processes of the control plane's user, with all that this user sees. */
  readonly bubblewrap: BubblewrapRecord | null;
  readonly cgroups: readonly CgroupParent[];
  /** Limits by rank. Workers that join later have theirs in the request. */
  readonly limits: readonly WorkerLimits[];
}

export interface BubblewrapRecord {
  /** Absolute path of bwrap(1). */
  readonly program: string;
  readonly args: readonly string[];
  /** Directories outside of the state directory that are removed at the end of the attempt. */
  readonly scratchDirs: readonly string[];
  /** Network namespace in which the sandbox is made. Absent: that of the machine, or one that `args` ask for. */
  readonly network?: NetworkRecord;
  /** User to whom workers change in the sandbox. Absent: that of the control plane. */
  readonly user?: UserRecord;
}

export interface NetworkRecord {
  /** Absolute path of nsenter(1). */
  readonly program: string;
  /** File that keeps the namespace. */
  readonly file: string;
}

export const withNetwork = (record: IsolationRecord, network: NetworkRecord | null): IsolationRecord =>
  network === null || record.bubblewrap === null
    ? record
    : { ...record, bubblewrap: { ...record.bubblewrap, network } };

/** Words that start a program in the network of the sandbox. */
export const intoNetwork = ({ network }: Pick<BubblewrapRecord, "network">): readonly string[] =>
  network === undefined ? [] : [network.program, `--net=${network.file}`, "--"];
