/** Words of executors in scenarios. The executor of all pools is `simulated`. */
import { attemptId, nodeId, siteName, workloadId } from "@headroom/model";
import type { ExecutorMode, ForeignUseReport, Input, NodeCacheReport, StoreSpec } from "@headroom/model";
import { command } from "../lab/make.ts";

/**
 * `declare NAME [follow]`, `remove NAME`, `abandon NAME`, `answers NAME`, `silent NAME [REASON]`, `foreign NAME NODE=ACCELERATORS …`
 * with 1 core and 1 GiB for each accelerator, `cache NAME NODE URI=MIB …`, `store NAME ROOT …`, `moved STORE WORKLOAD URI BYTES MS`.
 */
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
    case "cache":
      return { kind: "nodeCachesSeen", executor, caches: [cacheOf(rest)] };
    case "store":
      return { kind: "storesSeen", stores: [storeOf(executor, rest)] };
    case "moved":
      return movedOf(executor, rest);
    case "foreign":
      return { kind: "foreignUseSeen", executor, uses: rest.map(foreignUse) };
    default:
      return { kind: "executorUnreachable", executor, detail: rest.join(" ") };
  }
}

function cacheOf([node = "", ...inputs]: readonly string[]): NodeCacheReport {
  const cached = inputs.map((text) => {
    const [uri = "", mib = "1"] = text.split("=");
    return { uri, digest: null, mib: Number(mib) };
  });
  return { nodeId: nodeId(node), inputs: cached };
}

/** `ROOT [site=SITE] [kib=KIB_PER_S] [egress=MICRO_USD_PER_GIB]` */
function storeOf(name: string, [root = "", ...fields]: readonly string[]): StoreSpec {
  const values = new Map(fields.map((each) => each.split("=") as [string, string]));
  const [site, kib, egress] = ["site", "kib", "egress"].map((key) => values.get(key));
  return {
    name,
    root,
    site: site === undefined ? null : siteName(site),
    ...(kib === undefined ? {} : { kibPerS: Number(kib) }),
    ...(egress === undefined ? {} : { egressMicroUsdPerGib: Number(egress) }),
  };
}

/** `moved STORE WORKLOAD URI BYTES MS`, for the first attempt of the workload. */
function movedOf(store: string, [id = "", uri = "", bytes = "0", tookMs = "0"]: readonly string[]): Input {
  const work = { workloadId: workloadId(id), attemptId: attemptId(`${id}.1`) };
  return {
    kind: "bytesTransferred",
    ...work,
    direction: "in",
    store,
    uri,
    bytes: Number(bytes),
    tookMs: Number(tookMs),
  };
}

function foreignUse(text: string): ForeignUseReport {
  const [id = "", count = "0"] = text.split("=");
  const accelerators = Number(count);
  return { nodeId: nodeId(id), accelerators, coresMilli: 1_000 * accelerators, memoryMib: 1_024 * accelerators };
}
