/** Words of executors in scenarios. The executor of all pools is `simulated`. */
import type { ExecutorMode, Input } from "@headroom/model";
import { command } from "../lab/make.ts";

/** `declare NAME [follow]`, `remove NAME`, `abandon NAME`, `answers NAME`, `silent NAME [REASON]`. */
export function executorOf(text: string): Input {
  const [change = "", executor = "", ...rest] = text.split(/\s+/);
  switch (change) {
    case "declare":
      return command({
        kind: "setExecutor",
        executor,
        change: { kind: "declare", mode: (rest[0] ?? "run") as ExecutorMode },
      });
    case "remove":
      return command({ kind: "setExecutor", executor, change: { kind: "remove" } });
    case "abandon":
      return command({ kind: "setExecutor", executor, change: { kind: "abandon", reason: rest.join(" ") } });
    case "answers":
      return { kind: "executorReachable", executor };
    default:
      return { kind: "executorUnreachable", executor, detail: rest.join(" ") };
  }
}
