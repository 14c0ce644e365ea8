/** Incidents: failures of nodes with one cause, and what people do about them. */
import { z } from "zod";
import { count, INSTANT_MS_MAX, instantMs, integer, limits, names } from "@headroom/spec";
import { pageOf, pageQuery } from "./page.ts";

const silence = { kind: z.literal("silence"), untilMs: instantMs };

/** As the journal has it. */
export const incidentAnnotation = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("acknowledge") }),
    z.object(silence),
    z.object({ kind: z.literal("resolve") }),
    z.object({ kind: z.literal("note"), text: z.string() }),
  ])
  .meta({ id: "IncidentAnnotation" });

const faultCode = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, "must be a code such as xid-79");
const faultSeverity = z.enum(["info", "warning", "critical"]);

/** As the journal has it. */
export const nodeFault = z
  .object({ code: z.string(), severity: faultSeverity, device: z.string().optional(), detail: z.string() })
  .meta({ id: "NodeFault" });

const line = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\p{Cc}]*$/u, "must be one line without control characters");

export const faultReport = z
  .strictObject({
    faults: z
      .array(
        z.strictObject({
          code: faultCode,
          severity: faultSeverity,
          device: line(200).optional(),
          detail: line(500).default(""),
        }),
      )
      .min(1)
      .max(100)
      .meta({ description: "Findings of `headroom health read`, or of another tool." }),
  })
  .meta({ id: "FaultReport" });
export const faultsAccepted = z.object({ nodeId: z.string() }).meta({ id: "FaultsAccepted" });

const incidentPhase = z.enum(["open", "recovered", "resolved"]).meta({
  id: "IncidentPhase",
  description:
    "`open`: some of its nodes are not back; `recovered`: all are back, or were removed; `resolved`: a person closed it.",
});

const incidentDomain = z
  .object({
    level: z.string().meta({
      description:
        "`node`, `pool`, `site`, `executor`, a level of the fabric, or the name of a label such as `rack` or `feed`.",
    }),
    path: z.array(z.string()).meta({ description: "Its name; for a level of the fabric, the path from the site on." }),
  })
  .meta({ id: "IncidentDomain" });

const hitWork = z
  .object({
    workloadId: z.string(),
    name: z.string(),
    team: z.string(),
    attempts: count.meta({ description: "Attempts that had workers on nodes of the incident." }),
    workers: count.meta({ description: "Workers on nodes of the incident." }),
    accelerators: count,
  })
  .meta({ id: "HitWork" });

const timelineEntry = z
  .object({ atMs: instantMs, sequence: count, text: z.string(), actor: z.string().optional() })
  .meta({ id: "IncidentTimelineEntry" });

/** Instructions for people, as operators declare them. */
export const runbooks = z
  .array(
    z.object({
      for: z.string().meta({ description: "Code, cause or kind that the runbook names." }),
      text: z.string().nullable(),
      url: z.string().nullable(),
    }),
  )
  .optional()
  .meta({ description: "Runbooks of `runbooks.yaml`, at most 5; absent: none." });

export const incident = z
  .object({
    id: z.string(),
    phase: incidentPhase,
    title: z.string(),
    cause: z.enum(["nodesLost", "faults", "executor"]),
    domain: incidentDomain,
    sameNodesAs: z.array(incidentDomain).meta({ description: "Domains that have exactly the same nodes." }),
    startedAtMs: instantMs,
    endedAtMs: instantMs.nullable(),
    alerts: count.meta({ description: "Reports that the incident gathers: losses of nodes, faults, hit attempts." }),
    nodes: z.object({
      inDomain: count.meta({ description: "Blast radius: nodes of the domain when it failed." }),
      failed: count,
      notBack: count,
      ids: z.array(z.string()).meta({ description: "Nodes that failed, at most 1,000." }),
    }),
    accelerators: z.object({ inDomain: count, failed: count }),
    work: z.array(hitWork),
    codes: z.array(z.string()).meta({ description: "Codes of faults that its nodes reported." }),
    advice: z.string().meta({ description: "The next step." }),
    runbooks,
    acknowledgedBy: z.string().nullable(),
    silencedUntilMs: instantMs.nullable(),
    timeline: z.array(timelineEntry).meta({ description: "At most 200 entries: the first 100 and the last 100." }),
  })
  .meta({ id: "Incident" });

export const incidentPage = pageOf(incident, "IncidentPage");

export const incidentQuery = pageQuery.extend({
  phase: z.enum(["open", "recovered", "resolved", "all"]).default("open").meta({ description: "Default: open." }),
});

export const annotationRequest = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("acknowledge") }),
    z.strictObject({
      kind: z.literal("silence"),
      untilMs: integer(0, INSTANT_MS_MAX).optional(),
      forMs: integer(1, limits.DURATION_MS_MAX)
        .optional()
        .meta({ description: "Duration; used instead of `untilMs`." }),
    }),
    z.strictObject({ kind: z.literal("resolve") }),
    z.strictObject({ kind: z.literal("note"), text: names.reason }),
  ])
  .refine((value) => value.kind !== "silence" || (value.untilMs === undefined) !== (value.forMs === undefined), {
    message: "must state either untilMs or forMs",
  })
  .meta({ id: "AnnotationRequest" });

const nodesByPhase = z.object({
  total: count,
  inService: count,
  qualifying: count.optional().meta({ description: "Absent: none." }),
  draining: count,
  removing: count,
  suspended: count,
  lost: count,
});

export const peerComparison = z
  .object({
    compared: count.meta({ description: "Nodes and accelerators with at least eight recent samples." }),
    items: z
      .array(
        z.object({
          nodeId: z.string(),
          accelerator: count.nullable().meta({ description: "Its index; null: a value of the node." }),
          set: z.string().meta({ description: "Pool and type of accelerator of the comparable set." }),
          metric: z.string(),
          unit: z.string(),
          value: z.number().meta({ description: "Mean of about the last hour. Of a counter: its growth in an hour." }),
          median: z.number().meta({ description: "The same of the set." }),
          deviations: z
            .number()
            .meta({ description: "Standard deviations of the set above its median; negative: below." }),
        }),
      )
      .meta({ description: "The largest deviations first, at most 200." }),
  })
  .meta({ id: "PeerComparison" });

export const linkMap = z
  .object({
    pairs: count.meta({ description: "Measured pairs of nodes, a pair for each measure." }),
    nodes: z.object({ total: count, measured: count.meta({ description: "Nodes that are part of a measured pair." }) }),
    items: z
      .array(
        z.object({
          kind: z.enum(["uplink", "nic", "pair"]),
          verdict: z.enum(["slow", "ok", "tooFew", "notMeasured"]),
          pool: z.string(),
          leaf: z.string().nullable().meta({ description: "Path of the leaf of an uplink; null: not of an uplink." }),
          nodes: z.array(z.string()).meta({ description: "One of a `nic`, two of a `pair`, none of an `uplink`." }),
          measure: z.enum(["throughput", "latency"]).nullable().meta({ description: "Null: not measured." }),
          unit: z.string(),
          value: z.number().nullable().meta({
            description:
              "The value of a `pair`; for a `nic`, that of its best pair; for an `uplink`, the median of its pairs.",
          }),
          median: z.number().nullable().meta({
            description:
              "Median of the pairs of the kind that no slow adapter or uplink explains; null: fewer than four.",
          }),
          deviations: z.number().nullable().meta({
            description: "Standard deviations by which the value is worse than the median; negative: better.",
          }),
          pairs: count.meta({ description: "Measured pairs that the link is part of." }),
          measuredAtMs: instantMs.nullable(),
          detail: z.string(),
        }),
      )
      .meta({ description: "Slow links first, at most 1,000." }),
    leftOut: count.meta({ description: "Items beyond them, and pairs that are not compared." }),
  })
  .meta({ id: "LinkMap" });

export const healthSummary = z
  .object({
    atMs: instantMs,
    nodes: nodesByPhase,
    accelerators: z.object({ total: count, lost: count }),
    incidents: z.object({ open: count, unacknowledged: count }),
    faulty: z
      .array(z.object({ nodeId: z.string(), codes: z.array(z.string()), lastAtMs: instantMs }))
      .meta({ description: "Nodes of open incidents that reported faults; at most 50." }),
    unwatched: z
      .array(
        z.object({
          executor: z.string(),
          fromMs: instantMs,
          untilMs: instantMs,
          signals: count.meta({
            description: "Signals of nodes that ended in the period, as far as the executor keeps them.",
          }),
          unknown: z.string().meta({ description: "A sentence about signals of the period that are not known." }),
        }),
      )
      .meta({
        description:
          "Periods of the last seven days in which nobody looked at the nodes of an executor: the control plane did not run, or the executor did not answer. The newest first, at most 20.",
      }),
    sets: z
      .array(
        z.object({
          pool: z.string(),
          acceleratorType: z.string(),
          nodes: count,
          inService: count,
          lost: count,
          faulty: count,
          map: z.object({ nodesPerCell: count, cells: z.string() }).meta({
            description:
              "The nodes in the order in which they joined, at most 512 cells: `.` in service, `d` draining, `q` qualifying, `s` suspended, `r` removing, `f` faulty, `l` lost; the worst node of a cell.",
          }),
        }),
      )
      .meta({ description: "Comparable sets: the nodes of one pool and one type of accelerator." }),
    domains: z
      .array(
        z.object({
          domain: incidentDomain,
          nodes: count,
          lost: count,
          accelerators: count,
          workloads: count,
          power: z
            .object({ capWatts: count, drawWatts: count })
            .optional()
            .meta({ description: "Its tightest cap on power or cooling, and its declared draw; absent: it has none." }),
        }),
      )
      .meta({ description: "Blast radius of the failure domains with work, the largest first; at most 50." }),
    advice: z.array(z.string()),
  })
  .meta({ id: "HealthSummary" });

export type Incident = z.output<typeof incident>;
export type IncidentQuery = z.input<typeof incidentQuery>;
export type IncidentPhase = z.output<typeof incidentPhase>;
export type IncidentPage = z.output<typeof incidentPage>;
export type AnnotationRequestInput = z.input<typeof annotationRequest>;
export type FaultReportInput = z.input<typeof faultReport>;
export type FaultsAccepted = z.output<typeof faultsAccepted>;
export type PeerComparison = z.output<typeof peerComparison>;
export type LinkMap = z.output<typeof linkMap>;
export type HealthSummary = z.output<typeof healthSummary>;
