/** Hypothetical pools and sites from command-line options. The options use the notation of workload and fleet files. */
import {
  readDocument,
  type DocumentReading,
  type FleetFromDocument,
  type WhatIfQuestionInput,
} from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";

type AddedPool = NonNullable<WhatIfQuestionInput["addPools"]>[number];
type AddedSite = NonNullable<WhatIfQuestionInput["addSites"]>[number];

/** The field of a pool in a fleet file for each key of `--add-pool`. */
const poolKeys: Readonly<Record<string, string>> = {
  type: "accelerator",
  nodes: "nodes",
  gpus: "perNode",
  cores: "cores",
  memory: "memory",
  price: "price",
};
/** Other accepted keys. A fleet file states the site in another place and has no `per-leaf`. */
const otherKeys: ReadonlySet<string> = new Set(["site", "per-leaf"]);
const numbers: ReadonlySet<string> = new Set(["nodes", "gpus", "cores"]);

/** `b200:type=B200,nodes=4,gpus=8,site=lyon`. */
export function addedPool(text: string): AddedPool {
  const at = text.indexOf(":");
  const refuse = (message: string): CliError => new CliError(`--add-pool ${text}: ${message}`, exitCode.usage);
  if (at <= 0) throw refuse("write NAME:nodes=4,gpus=8,type=B200");
  const given = new Map<string, string>();
  for (const pair of text.slice(at + 1).split(",")) {
    const equals = pair.indexOf("=");
    const key = pair.slice(0, equals).trim();
    if (equals <= 0 || (poolKeys[key] === undefined && !otherKeys.has(key)))
      throw refuse(
        `${JSON.stringify(pair)} is not one of ${[...Object.keys(poolKeys), ...otherKeys].map((each) => `${each}=…`).join(", ")}`,
      );
    given.set(key, pair.slice(equals + 1).trim());
  }
  const pool: Record<string, unknown> = { name: text.slice(0, at), executor: "simulated" };
  for (const [key, value] of given) {
    const field = poolKeys[key];
    if (field !== undefined) pool[field] = numbers.has(key) && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
  }
  if (given.has("gpus") && !given.has("type")) throw refuse("name the accelerator type: type=B200");
  if (given.has("type") && !given.has("gpus")) throw refuse("state the accelerators of each node: gpus=8");
  const site = given.get("site");
  const reading = readDocument({ kind: "fleet", sites: [{ name: site ?? "added", pools: [pool] }] });
  const [found] = addedPools(fleetOf(reading, refuse));
  if (found === undefined) throw refuse("state the number of nodes: nodes=4");
  const perLeaf = given.get("per-leaf");
  if (perLeaf !== undefined && !/^[1-9][0-9]{0,4}$/.test(perLeaf))
    throw refuse(`per-leaf must be a whole number from 1 on, got ${perLeaf}`);
  const { site: _site, ...rest } = found;
  return {
    ...rest,
    ...(site === undefined ? {} : { site }),
    ...(perLeaf === undefined ? {} : { nodesPerDomain: Number(perLeaf) }),
  };
}

/** `lyon` or `lyon:spine,leaf`. */
export function addedSite(text: string): AddedSite {
  const at = text.indexOf(":");
  const refuse = (message: string): CliError => new CliError(`--add-site ${text}: ${message}`, exitCode.usage);
  const name = at < 0 ? text : text.slice(0, at);
  const fabric = at < 0 ? [] : text.slice(at + 1).split(",");
  // A fleet document needs at least one pool. This one is not part of the answer.
  const pools = [{ name: "unused", executor: "simulated", nodes: 1 }];
  const [site] = fleetOf(readDocument({ kind: "fleet", sites: [{ name, fabric, pools }] }), refuse).sites;
  if (site === undefined) throw refuse("write NAME or NAME:spine,leaf");
  return site;
}

function fleetOf(reading: DocumentReading, refuse: (message: string) => CliError): FleetFromDocument {
  if (!reading.ok) {
    const [problem] = reading.problems;
    throw refuse(
      problem === undefined ? "the file cannot be read" : `${String(problem.path.at(-1) ?? "")} ${problem.message}`,
    );
  }
  if (reading.document.kind !== "fleet") throw refuse("the file cannot be read");
  return reading.document.fleet;
}

/** The simulated pools of a fleet document. */
export function addedPools({ pools, simulatedNodes }: FleetFromDocument): AddedPool[] {
  return simulatedNodes.flatMap(({ pool: name, nodeCount, acceleratorCount, coresMilli, memoryMib }) => {
    const pool = pools.find((each) => each.name === name);
    if (pool === undefined) return [];
    const { site, acceleratorType, priceMicroUsdPerHour, labels } = pool;
    return {
      name,
      site,
      acceleratorType,
      nodes: nodeCount,
      acceleratorsPerNode: acceleratorCount,
      coresMilli,
      memoryMib,
      ...(priceMicroUsdPerHour === undefined ? {} : { priceMicroUsdPerHour }),
      ...(labels === undefined ? {} : { labels }),
    };
  });
}
