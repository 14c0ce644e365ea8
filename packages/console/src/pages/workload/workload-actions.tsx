/** The commands for one workload: rerun, hold or release, clone, edit, stop. */
import type { Workload } from "@headroom/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button, buttonClass } from "../../parts/button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { WorkloadEditor } from "./workload-editor.tsx";

type Command = "rerun" | "hold" | "release" | "stop";

const said: Readonly<Record<Command, string>> = {
  rerun: "runs again",
  hold: "is held: nothing more of it starts",
  release: "was released",
  stop: "is being stopped",
};

function useCommand({ id, name }: Workload) {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  const calls: Readonly<Record<Command, () => Promise<unknown>>> = {
    rerun: () => client.rerunWorkload(id),
    hold: () => client.holdWorkload(id),
    release: () => client.releaseWorkload(id),
    stop: () => client.stopWorkload(id),
  };
  return useMutation({
    mutationFn: (command: Command) => calls[command](),
    onSuccess: (_, command) => announcer.say(`${name} ${said[command]}.`),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["workload", id] }),
  });
}

export function WorkloadActions({ workload }: { readonly workload: Workload }): ReactElement {
  const command = useCommand(workload);
  const [isAsking, setIsAsking] = useState(false);
  const [isEditing, setIsEditing] = useState(false);
  const isOver = workload.endedAtMs !== null;
  const isStopping = workload.stopRequested || (command.isPending && command.variables === "stop");
  return (
    <>
      {workload.rerunnable ? (
        <Button look="primary" icon="play" disabled={command.isPending} onClick={() => command.mutate("rerun")}>
          Rerun
        </Button>
      ) : null}
      {isOver || isStopping ? null : workload.held === true ? (
        <Button icon="play" disabled={command.isPending} onClick={() => command.mutate("release")}>
          Release
        </Button>
      ) : (
        <Button icon="pause" disabled={command.isPending} onClick={() => command.mutate("hold")}>
          Hold
        </Button>
      )}
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
        onConfirm={() => command.mutate("stop")}
        title={`Stop ${workload.name}?`}
        action="Stop"
        isDangerous
      >
        {workload.tasks.active === 0
          ? "It leaves the queue and does not start."
          : `Its workers get SIGTERM and ${workload.spec.graceTimeoutMs / 1000} s to write a checkpoint, then SIGKILL. It does not start again unless it is rerun.`}
      </Confirm>
    </>
  );
}
