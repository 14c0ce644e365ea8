/**
 * Answers of slurmrestd as the text that Slurm's commands print, so that one reader with its checks serves both. Pure. Forms: v0.0.38 (22.05,
 * run), later ones from their documentation: states become lists, numbers become `{set, infinite, number}`.
 */
import { OperationalError } from "@headroom/platform";

type RestObject = Readonly<Record<string, unknown>>;

/** Lines in the format `JOB_FORMAT` of `squeue`. Jobs without an id or a state make the list incomplete, as an unreadable line does. */
export const jobLines = (answer: string): string =>
  itemsOf(answer, "jobs")
    .map((job) => {
      const leader = numberOf(job["het_job_id"]) ?? 0;
      const id = leader > 0 ? leader : numberOf(job["job_id"]);
      // squeue prints the flag of a state with one, such as COMPLETING; it comes last here.
      const state = wordsOf(job["job_state"]).at(-1);
      const reason = oneLine(job["state_reason"]).replaceAll("|", " ");
      return `${[id ?? "?", state ?? "?", reason, numberOf(job["user_id"]) ?? "?", oneLine(job["name"])].join("|")}\n`;
    })
    .join("");

/** As `scontrol show node --details --oneliner`. */
export const nodeLines = (answer: string): string =>
  itemsOf(answer, "nodes")
    .map((node) =>
      lineOf({
        NodeName: node["name"],
        CPUAlloc: numberOf(node["alloc_cpus"]),
        CPUTot: numberOf(node["cpus"]),
        ActiveFeatures: commaList(node["active_features"]),
        Gres: node["gres"],
        GresUsed: node["gres_used"],
        NodeAddr: node["address"],
        RealMemory: numberOf(node["real_memory"]),
        AllocMem: numberOf(node["alloc_memory"]),
        State: [...wordsOf(node["state"]), ...wordsOf(node["state_flags"])].join("+").toUpperCase(),
        Partitions: commaList(node["partitions"]),
        CfgTRES: node["tres"],
        Reason: oneLine(node["reason"]),
      }),
    )
    .join("");

/** As `scontrol show partition --oneliner`. */
export const partitionLines = (answer: string): string =>
  itemsOf(answer, "partitions")
    .map((partition) => {
      const { nodes, defaults, maximums } = partition as {
        nodes?: unknown;
        defaults?: RestObject;
        maximums?: RestObject;
      };
      return lineOf({
        PartitionName: partition["name"],
        DefaultTime: timeOf(partition["default_time_limit"] ?? defaults?.["time"]),
        MaxTime: timeOf(partition["max_time_limit"] ?? maximums?.["time"]),
        Nodes: typeof nodes === "string" ? nodes : (nodes as RestObject | undefined)?.["configured"],
      });
    })
    .join("");

/** Throws if the answer has errors or no such list: an empty answer is no statement. */
function itemsOf(answer: string, list: "jobs" | "nodes" | "partitions"): readonly RestObject[] {
  let value: RestObject;
  try {
    value = (JSON.parse(answer) as RestObject | null) ?? {};
  } catch {
    throw unusable("the answer of slurmrestd is not JSON");
  }
  const errors = Array.isArray(value["errors"]) ? (value["errors"] as readonly RestObject[]) : [];
  if (errors.length > 0) throw unusable(`slurmrestd: ${oneLine(errors[0]?.["error"] ?? errors[0]?.["description"])}`);
  const items = value[list];
  if (!Array.isArray(items)) throw unusable(`the answer of slurmrestd has no list of ${list}`);
  return items as readonly RestObject[];
}

export const unusable = (message: string): OperationalError =>
  new OperationalError("executorUnreachable", message, { retryable: true });

/** `Reason` comes last, because only it may contain blanks. Other values with blanks are left out, as a field that Slurm does not know. */
function lineOf(fields: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(fields).flatMap(([name, value]) => {
    const text = typeof value === "number" ? String(value) : typeof value === "string" ? value : "";
    return text === "" || (name !== "Reason" && /\s/.test(text)) ? [] : [`${name}=${text}`];
  });
  return `${words.join(" ")}\n`;
}

/** Anyone may put line ends into the name of a job or the reason of a node. */
const oneLine = (value: unknown): string =>
  typeof value === "string" ? value.replaceAll(/[\s\p{Cc}]+/gu, " ").trim() : "";

const wordsOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value]).filter((word) => typeof word === "string" && word !== "") as string[];

const commaList = (value: unknown): string => wordsOf(value).join(",");

/** `null`: absent, unset or infinite. */
function numberOf(value: unknown): number | null {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0 ? value : null;
  if (typeof value !== "object" || value === null) return null;
  const { set, infinite, number } = value as RestObject;
  return set === true && infinite !== true ? numberOf(number) : null;
}

/** Minutes as `days-hours:minutes:seconds`. */
function timeOf(value: unknown): string {
  const minutes = numberOf(value);
  if (minutes === null) return "UNLIMITED";
  const parts = [Math.floor(minutes / 60) % 24, minutes % 60, 0].map((part) => String(part).padStart(2, "0"));
  return `${Math.floor(minutes / 1_440)}-${parts.join(":")}`;
}
