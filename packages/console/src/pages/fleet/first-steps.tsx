/** Shows first steps on a control plane that has never had a workload. Steps that are done are marked. */
import type { Fleet, Status, Team } from "@headroom/protocol";
import { plural } from "@headroom/views";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { buttonClass } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Panel } from "../../parts/page.tsx";

interface FirstStepsProps {
  readonly fleet: Fleet;
  readonly status: Status;
  readonly teams: readonly Team[];
}

export function FirstSteps({ fleet, status, teams }: FirstStepsProps): ReactElement | null {
  if (status.workloads.submitted > 0) return null;
  const nodes = fleet.nodes.total;
  return (
    <Panel title="First steps">
      <ol className="divide-y divide-line">
        <Step
          number={1}
          title="Connect nodes"
          isDone={nodes > 0}
          done={`${plural(nodes, "node")} with ${plural(fleet.accelerators.total, "accelerator")} joined.`}
        >
          Start the control plane on a machine with accelerators: it registers the machine itself. To try it without
          accelerators, declare slots: <Code>headroom up --slots 4</Code>
        </Step>
        <Step number={2} title="Submit a workload" isDone={false} done="">
          <span className="flex flex-wrap items-center gap-x-3 gap-y-2">
            <Link to="/workloads/new" className={buttonClass("primary")}>
              <Icon name="plus" size={14} />
              New workload
            </Link>
            <span>
              or from a shell: <Code>headroom run --follow -- echo hello</Code>
            </span>
          </span>
        </Step>
        <Step
          number={3}
          title="Define teams"
          isDone={teams.length > 1}
          done={`${plural(teams.length, "team")} defined.`}
        >
          Optional. Guarantees, limits and budgets per team are edited on the page{" "}
          <Link to="/teams" className="underline decoration-line-strong underline-offset-2 hover:text-ink">
            Teams
          </Link>
          . Without teams, all work belongs to the team <Code>default</Code>.
        </Step>
      </ol>
    </Panel>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly done: string;
  /** The instruction of a step, shown until the step is done. */
  readonly children: ReactNode;
}

function Step({ number, title, isDone, done, children }: StepProps): ReactElement {
  return (
    <li className="flex gap-3 px-4 py-3">
      <span
        className={`mt-px grid size-5 shrink-0 place-items-center rounded-full text-2xs font-semibold ${
          isDone ? "bg-good-soft text-good" : "bg-accent-soft text-accent"
        }`}
      >
        {isDone ? <Icon name="check" size={12} /> : number}
      </span>
      <div className="min-w-0">
        <h3 className="font-medium">
          {title}
          {isDone ? <span className="sr-only"> (done)</span> : null}
        </h3>
        <div className="mt-0.5 text-ink-2">{isDone ? done : children}</div>
      </div>
    </li>
  );
}

function Code({ children }: { readonly children: string }): ReactElement {
  return <code className="rounded-sm bg-sunken px-1 font-mono text-xs text-ink">{children}</code>;
}
