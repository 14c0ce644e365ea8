/** Qualification of nodes: the rule of a pool, and the state of a node that has not passed its suite. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";

export const qualificationSuites = ["quick", "full"] as const;
export const qualificationCauses = ["joined", "returned", "resumed", "changed", "requested"] as const;

export const nodeQualification = z
  .object({
    suite: z.enum(qualificationSuites),
    cause: z.enum(qualificationCauses).meta({ description: "The event after which the node has to qualify." }),
    phase: z.enum(["waiting", "running", "failed"]).meta({
      description: "`waiting` for a run, `running`, or `failed`: no further run begins by itself.",
    }),
    sinceMs: instantMs,
    run: count.meta({ description: "Number of runs that have begun." }),
    expectedAtMs: instantMs.optional().meta({
      description:
        "Instant at which the node is expected in service; absent: the qualification has failed, or cannot begin yet.",
    }),
    detail: z
      .string()
      .optional()
      .meta({ description: "The reason why the last run proved nothing; absent: none ended." }),
  })
  .meta({ id: "NodeQualification" });

export const qualificationReport = z
  .object({
    nodeId: z.string(),
    qualification: nodeQualification.optional().meta({ description: "Absent: the node does not have to qualify." }),
    result: z
      .object({
        node: z.string(),
        pool: z.string(),
        suite: z.enum(qualificationSuites),
        atMs: instantMs,
        durationMs: count,
        isPassed: z.boolean(),
        detail: z.string(),
        measurements: z.array(
          z.object({
            node: z.string(),
            test: z.string(),
            value: z.number().nullable(),
            unit: z.string().nullable(),
            verdict: z.enum(["pass", "fail", "warn", "skip", "unknown"]).nullable(),
            source: z.string(),
            detail: z.string().optional(),
            text: z
              .string()
              .optional()
              .meta({ description: "A fact instead of a figure, such as the layout of links." }),
            differs: z
              .enum(["fail", "warn"])
              .optional()
              .meta({ description: "The verdict where the fact differs from that of most peers. Absent: `fail`." }),
          }),
        ),
      })
      .nullable()
      .meta({ description: "The newest result of a suite on the node; null: there is none." }),
    history: z
      .array(
        z.object({
          suite: z.enum(qualificationSuites),
          atMs: instantMs,
          durationMs: count,
          isPassed: z.boolean(),
          detail: z.string(),
        }),
      )
      .meta({ description: "The newest runs of suites on the node, the newest first; at most 20." }),
    differences: z
      .array(
        z.object({
          fact: z.string(),
          value: z.string().nullable().meta({ description: "null: the node does not state the fact." }),
          expected: z.string().meta({ description: "The value that more than half of the other nodes have." }),
          peerCount: count.meta({ description: "Other nodes with that value." }),
          comparedCount: count.meta({ description: "Other nodes that were compared." }),
        }),
      )
      .meta({
        description:
          "Facts in which the node differs from most nodes of its pool: labels of hardware and software, and facts that its suite states.",
      }),
  })
  .meta({ id: "QualificationReport" });

export type QualificationReport = z.output<typeof qualificationReport>;
export type NodeQualification = z.output<typeof nodeQualification>;
