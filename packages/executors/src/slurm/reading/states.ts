/** States of jobs and nodes: full words, compact words, words cut off by a column, and the lists of the JSON forms. */
import { isAbsent, quoted, Unreadable } from "./rows.ts";

/** Compact and full words of job states (squeue(1), "JOB STATE CODES"; sacct(1)). */
const jobStates: ReadonlyMap<string, string> = new Map(
  Object.entries({
    BF: "BOOT_FAIL",
    CA: "CANCELLED",
    CD: "COMPLETED",
    CF: "CONFIGURING",
    CG: "COMPLETING",
    DL: "DEADLINE",
    F: "FAILED",
    LF: "LAUNCH_FAILED",
    NF: "NODE_FAIL",
    OOM: "OUT_OF_MEMORY",
    PD: "PENDING",
    PR: "PREEMPTED",
    R: "RUNNING",
    RD: "RESV_DEL_HOLD",
    RF: "REQUEUE_FED",
    RH: "REQUEUE_HOLD",
    RQ: "REQUEUED",
    RS: "RESIZING",
    RV: "REVOKED",
    SI: "SIGNALING",
    SE: "SPECIAL_EXIT",
    SO: "STAGE_OUT",
    ST: "STOPPED",
    S: "SUSPENDED",
    TO: "TIMEOUT",
  }),
);
/** Further words of jobs, some of them only of the JSON forms. */
const moreJobStates = ["EXPEDITING", "LAUNCH_FAILED", "POWER_UP_NODE", "RECONFIG_FAIL", "RESV_DEL_HOLD", "UPDATE_DB"];
const jobWords: ReadonlySet<string> = new Set([...jobStates.values(), ...moreJobStates]);

/** Flags that Slurm prints instead of the base state, in its order (`job_state_string` in slurm_protocol_defs.c). */
const jobFlagOrder = [
  "COMPLETING",
  "STAGE_OUT",
  "CONFIGURING",
  "RESIZING",
  "REQUEUED",
  "REQUEUE_FED",
  "REQUEUE_HOLD",
  "SPECIAL_EXIT",
  "STOPPED",
  "REVOKED",
  "RESV_DEL_HOLD",
  "SIGNALING",
];

/** Letters from which the start of a state is taken for the state: squeue prints eight of them. */
const CUT_LETTERS_MIN = 6;

export function jobState(column: string, text: string): string {
  // `CANCELLED by 1000`.
  const word = text.trim().split(/\s/)[0]?.toUpperCase() ?? "";
  const known = jobStates.get(word) ?? (jobWords.has(word) ? word : undefined);
  if (known !== undefined) return known;
  // sacct marks a cut with `+` (`OUT_OF_ME+`), squeue does not (`COMPLETI`). `CANCELLED+` is `CANCELLED by 1000`.
  const start = word.replace(/\+$/, "");
  if (jobWords.has(start)) return start;
  const full = start.length < CUT_LETTERS_MIN ? [] : [...jobWords].filter((each) => each.startsWith(start));
  if (full.length === 1 && full[0] !== undefined) return full[0];
  throw new Unreadable(`${column}: ${quoted(text)} is no state of a job`);
}

export function jobStateOfList(column: string, words: readonly string[]): string {
  const states = words.map((word) => jobState(column, word));
  const flag = jobFlagOrder.find((each) => states.includes(each));
  const state = flag ?? states[0];
  if (state === undefined) throw new Unreadable(`${column}: the list of states is empty`);
  return state;
}

/** Whether a job with this state has neither started nor ended. */
export function isPending(state: string): boolean {
  return state === "PENDING" || state === "REQUEUE_HOLD" || state === "SPECIAL_EXIT" || state === "RESV_DEL_HOLD";
}

/** Whether a job with this state has an end. */
export function isEnded(state: string): boolean {
  return endedStates.has(state);
}

const endedStates: ReadonlySet<string> = new Set([
  "BOOT_FAIL",
  "CANCELLED",
  "COMPLETED",
  "COMPLETING",
  "DEADLINE",
  "FAILED",
  "LAUNCH_FAILED",
  "NODE_FAIL",
  "OUT_OF_MEMORY",
  "PREEMPTED",
  "REQUEUED",
  "REVOKED",
  "STAGE_OUT",
  "TIMEOUT",
]);

/** Compact forms and synonyms of node states (sinfo(1), "NODE STATE CODES"). */
const nodeWords: ReadonlyMap<string, string> = new Map(
  [
    ["allocated", "alloc"],
    ["blocked", "block"],
    ["completing", "comp"],
    ["down"],
    ["drain"],
    ["drained"],
    ["draining", "drng"],
    ["error", "err"],
    ["fail"],
    ["failing", "failg"],
    ["future", "futr"],
    ["idle"],
    ["inval", "invalid"],
    ["maint", "maintenance"],
    ["mixed", "mix"],
    ["no_respond"],
    ["perfctrs", "npc", "network_performance_counters"],
    ["planned", "plnd"],
    ["powering_down", "pow_dn", "power_down"],
    ["powered_down"],
    ["powering_up", "pow_up"],
    ["reboot_issued"],
    ["reboot_requested", "reboot"],
    ["boot"],
    ["reserved", "resv"],
    ["unknown", "unk"],
    ["cloud"],
    ["dynamic_future"],
    ["dynamic_norm"],
    ["external"],
    ["invalid_reg"],
    ["not_responding"],
    ["parallel_unwatched"],
    ["power_drain"],
    ["power_up"],
    ["resume"],
    ["undrain"],
    ["reboot_canceled"],
  ].flatMap(([full = "", ...short]) => [full, ...short].map((word) => [word, full] as const)),
);

/** Marks after a node state (sinfo(1)). `+` marks a node of several partitions or a started job on it in old versions. */
const nodeMarks: ReadonlyMap<string, string> = new Map([
  ["*", "not_responding"],
  ["~", "powered_down"],
  ["#", "powering_up"],
  ["!", "powering_down_pending"],
  ["%", "powering_down"],
  ["$", "in_maintenance"],
  ["@", "reboot_pending"],
  ["^", "reboot_issued"],
  ["-", "planned"],
  ["+", "more"],
]);

export interface NodeState {
  readonly state: string | null;
  readonly flags: readonly string[];
}

/** `drained*`, `IDLE+DRAIN`, `DOWN*+DRAIN`, or the words of a JSON list joined by `+`. */
export function nodeState(column: string, text: string): NodeState {
  const given = text.trim();
  if (given === "" || given === "(null)" || given.toLowerCase() === "n/a") return { state: null, flags: [] };
  const words: string[] = [];
  const flags: string[] = [];
  for (const part of given.split(/\+(?=[A-Za-z])/)) {
    const [, letters = "", marks = ""] = /^([A-Za-z_]*)(.*)$/s.exec(part) ?? [];
    const word = nodeWordOf(letters.toLowerCase());
    if (word === undefined) throw new Unreadable(`${column}: ${quoted(text)} is no state of a node`);
    for (const mark of marks) {
      const flag = nodeMarks.get(mark);
      if (flag === undefined) throw new Unreadable(`${column}: ${quoted(text)} is no state of a node`);
      if (flag !== "more") flags.push(flag);
    }
    if (word === "not_responding") flags.push(word);
    else words.push(word === "drain" && words.length === 0 ? "drained" : word);
  }
  return { state: words.length === 0 ? null : words.join("+"), flags: [...new Set(flags)] };
}

/** `sinfo -N -l` prints eleven letters: `powering_do`. */
function nodeWordOf(letters: string): string | undefined {
  const known = nodeWords.get(letters);
  if (known !== undefined || letters.length < CUT_LETTERS_MIN) return known;
  const full = new Set([...nodeWords].flatMap(([each, word]) => (each.startsWith(letters) ? [word] : [])));
  return full.size === 1 ? [...full][0] : undefined;
}

/** A drain reason without the user and time that scontrol appends: `[root@2026-01-31T08:15:00]`. */
export function nodeReason(text: string): string | null {
  const plain = text
    .trim()
    .replace(/\s*\[[^\s@[\]]+@[^\s[\]]+\]/, "")
    .replaceAll(/\s*\n\s*/g, "\n")
    .trim();
  return isAbsent(plain) ? null : plain;
}
