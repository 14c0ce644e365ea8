/** The commands for one workload: rerun, hold or release, clone, edit, stop. */
import type { Workload } from "@headroom/protocol";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactElement } from "react";
import { workloadConsequence, workloadVerbs, workloadWords, type WorkloadVerb } from "../../commands/commands.ts";
import { useWorkloadCommand } from "../../commands/use-commands.ts";
import { Button, buttonClass } from "../../parts/button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { WorkloadEditor } from "./workload-editor.tsx";

export function WorkloadActions({ workload }: { readonly workload: Workload }): ReactElement {
  const command = useWorkloadCommand();
  const [isAsking, setIsAsking] = useState(false);
  const [isEditing, setIsEditing] = useState(false);
  const isOver = workload.endedAtMs !== null;
  const isStopPending = command.isPending && command.variables.verb === "stop";
  const isStopping = workload.stopRequested || isStopPending;
  const verbs = workloadVerbs(workload).filter((verb) => verb !== "stop" && !isStopPending);
  const send = (verb: WorkloadVerb): void => command.mutate({ verb, workload });
  return (
    <>
      {verbs.map((verb) => (
        <Button
          key={verb}
          look={verb === "rerun" ? "primary" : "plain"}
          icon={workloadWords[verb].icon}
          disabled={command.isPending}
          onClick={() => send(verb)}
        >
          {workloadWords[verb].label}
        </Button>
      ))}
      <Link to="/workloads/new" search={{ from: workload.id }} className={buttonClass("plain")}>
        <Icon name="copy" size={14} />
        Clone
      </Link>
      {isOver || isStopping ? null : <Button onClick={() => setIsEditing(true)}>Edit</Button>}
      <WorkloadEditor workload={workload} isOpen={isEditing} onClose={() => setIsEditing(false)} />
      {isOver ? null : (
        <Button icon="stop" disabled={isStopping} onClick={() => setIsAsking(true)}>
          {isStopping ? "Stopping" : "Stop"}
        </Button>
      )}
      <Confirm
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => send("stop")}
        title={`Stop ${workload.name}?`}
        action="Stop"
        isDangerous
      >
        {workloadConsequence("stop", workload, `${workload.spec.graceTimeoutMs / 1000} s`)}
      </Confirm>
    </>
  );
}
