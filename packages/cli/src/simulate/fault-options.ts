/** `--faults` and `--lose` of `headroom simulate`: rates of losses and failures, and failure domains that are lost at stated times. */
import type { FaultOptions, FleetSpec, LevelFaults, StatedLoss } from "@headroom/sim";
import { CliError, exitCode } from "../cli-error.ts";
import { failureDomainNamed } from "../input/failure-domain.ts";
import { duration, rate, settings } from "./amount-options.ts";

/** Keys of `--faults` that are no levels of failure domains. */
const RATES = ["mtbf", "repair", "failures", "notice"] as const;
const LOSSES_MAX = 1_000;

interface FaultSettings {
  readonly faults: string | undefined;
  readonly lose: readonly string[] | undefined;
  readonly seed: number;
  readonly fleet: FleetSpec;
}

/** `null`: no faults are simulated. */
export async function faultsOf({ faults, lose = [], seed, fleet }: FaultSettings): Promise<FaultOptions | null> {
  if (faults === undefined && lose.length === 0) return null;
  const { levelsOf } = await import("@headroom/sim");
  const levels = levelsOf(fleet).filter((level) => !RATES.includes(level as (typeof RATES)[number]));
  const given = faults === undefined ? new Map<string, string>() : settings(faults, "--faults", [...RATES, ...levels]);
  const meanUp = given.get("mtbf");
  const failures = given.get("failures");
  const notice = given.get("notice");
  const lost = levels.flatMap((level): LevelFaults[] => {
    const text = given.get(level);
    return text === undefined ? [] : [{ level, meanUpMs: duration(text, `--faults: ${level}`) }];
  });
  return {
    seed,
    nodeMeanUpMs: meanUp === undefined ? null : duration(meanUp, "--faults: mtbf"),
    nodeMeanDownMs: duration(given.get("repair") ?? "1h", "--faults: repair"),
    attemptFailuresPer10000: failures === undefined ? 0 : rate(failures, "--faults: failures"),
    ...(notice === undefined ? {} : { nodeNoticeMs: duration(notice, "--faults: notice") }),
    levels: lost,
    losses: await lossesOf(lose, fleet),
  };
}

async function lossesOf(texts: readonly string[], { nodes, pools, sites }: FleetSpec): Promise<readonly StatedLoss[]> {
  if (texts.length === 0) return [];
  if (texts.length > LOSSES_MAX)
    throw new CliError(`--lose: at most ${LOSSES_MAX} losses, got ${texts.length}`, exitCode.usage);
  const { nodesOfDomains } = await import("@headroom/views");
  const fleet = {
    nodes: new Map(nodes.map((node) => [node.id, node])),
    pools: new Map(pools.map((pool) => [pool.name, pool])),
    sites: new Map(sites.map((site) => [site.name, site])),
  };
  return texts.map((text) => {
    const [, named = "", at = "", lasts = ""] = /^(.+)@([^@+]+)\+([^@+]+)$/.exec(text) ?? [];
    if (named === "")
      throw new CliError(
        `--lose ${text}: write NAME@TIME+DURATION, like leaf-3@10h+30m or rack=r7@2d+1h`,
        exitCode.usage,
      );
    const domain = failureDomainNamed(named, "--lose");
    return {
      nodes: nodesOfDomains(fleet, [domain]),
      atMs: duration(at, `--lose ${text}`),
      forMs: Math.max(1, duration(lasts, `--lose ${text}`)),
    };
  });
}
