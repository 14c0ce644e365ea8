import type { Workload, WorkloadSpec } from "@headroom/protocol";
import { durationText, plural, specTerms } from "@headroom/views";
import type { ReactElement } from "react";
import { gangSentence, workerNeedText } from "../../format/amounts.ts";
import { download } from "../../format/download.ts";
import { Button } from "../../parts/button.tsx";
import { Facts, type Fact } from "../../parts/facts.tsx";
import { Panel } from "../../parts/page.tsx";
import { useCopy } from "../../parts/use-copy.ts";

export function SpecPanel({ workload }: { readonly workload: Workload }): ReactElement {
  const copy = useCopy();
  const { spec } = workload;
  const json = JSON.stringify(spec, null, 2);
  return (
    <Panel title="Specification">
      <Facts facts={specFacts(spec)} />
      <details className="border-t border-line">
        <summary className="px-4 py-2 font-medium text-ink-2 hover:text-ink">Everything, as JSON</summary>
        <div className="relative">
          <pre
            tabIndex={0}
            role="region"
            aria-label="Specification as JSON"
            className="scroll-thin max-h-96 overflow-auto bg-sunken px-4 py-3 font-mono text-xs"
          >
            {json}
          </pre>
          <div className="absolute top-2 right-2 flex gap-2">
            <Button onClick={() => download(`${workload.name}.json`, `${json}\n`)}>Download</Button>
            <Button icon="copy" onClick={() => copy(json, "Specification copied.")}>
              Copy
            </Button>
          </div>
        </div>
      </details>
    </Panel>
  );
}

function specFacts(spec: WorkloadSpec): readonly Fact[] {
  const { gang, retries } = spec;
  const optional: readonly (Fact | null)[] = [
    spec.kind === "serve" ? { name: "Replicas", value: `${spec.replicas.min} to ${spec.replicas.max}` } : null,
    spec.kind === "batch" ? { name: "Tasks", value: plural(spec.taskCount, "task") } : null,
    { name: "Gang", value: gangSentence(gang) },
    gang.taskGroups === undefined ? { name: "Each worker", value: workerNeedText(gang) } : null,
    ...specTerms(spec).map(({ name, text }) => ({ name, value: text })),
    spec.acceleratorTypes.length === 0 ? null : { name: "Type", value: spec.acceleratorTypes.join(", then ") },
    {
      name: "Command",
      value: (
        <code className="line-clamp-6 font-mono text-xs break-all whitespace-pre-wrap">
          {spec.run === "" ? "(none)" : spec.run}
        </code>
      ),
    },
    spec.dir === null
      ? null
      : { name: "Directory", value: <code className="font-mono text-xs break-all">{spec.dir}</code> },
    { name: "Walltime", value: spec.walltimeMs === null ? "unlimited" : durationText(spec.walltimeMs) },
    {
      name: "Retries",
      value:
        spec.kind === "serve"
          ? `always, after ${durationText(retries.backoffMs)} at first`
          : retries.max === 0
            ? "none"
            : `up to ${retries.max}, after ${durationText(retries.backoffMs)} at first`,
    },
    { name: "Grace period", value: durationText(spec.graceTimeoutMs) },
    spec.checkpointDir === null
      ? null
      : { name: "Checkpoints", value: <code className="font-mono text-xs break-all">{spec.checkpointDir}</code> },
  ];
  return optional.filter((fact) => fact !== null);
}
