/** Stops several selected workloads after one confirmation. */
import type { WorkloadSummary } from "@headroom/protocol";
import { plural } from "@headroom/views";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/dialog.tsx";

export interface ChosenWorkloads {
  /** Names of the workloads by id. */
  readonly chosen: ReadonlyMap<string, string>;
  readonly toggle: (workload: WorkloadSummary) => void;
  readonly choose: (workloads: readonly WorkloadSummary[]) => void;
  readonly clear: () => void;
}

export function useSelection(): ChosenWorkloads {
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map());
  return {
    chosen,
    toggle: ({ id, name }) =>
      setChosen((now) => {
        const next = new Map(now);
        if (!next.delete(id)) next.set(id, name);
        return next;
      }),
    choose: (workloads) =>
      setChosen((now) => new Map([...now, ...workloads.map(({ id, name }) => [id, name] as const)])),
    clear: () => setChosen(new Map()),
  };
}

const NAMED_MAX = 5;

export function BulkStop({
  selection: { chosen, clear },
}: {
  readonly selection: ChosenWorkloads;
}): ReactElement | null {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  const [isAsking, setIsAsking] = useState(false);
  const stop = useMutation({
    // Stops the workloads one after the other, so that a refusal does not hide the results of the other workloads.
    mutationFn: async (ids: readonly string[]) => {
      const outcomes: boolean[] = [];
      for (const id of ids)
        outcomes.push(
          await client.stopWorkload(id).then(
            () => true,
            () => false,
          ),
        );
      return outcomes;
    },
    onSuccess: (outcomes) => {
      const refused = outcomes.filter((isStopped) => !isStopped).length;
      announcer.say(
        `${plural(outcomes.length - refused, "workload")} stopped${refused === 0 ? "" : `, ${refused} had ended already or were refused`}.`,
      );
      clear();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["workloads"] }),
  });
  if (chosen.size === 0) return null;
  const names = [...chosen.values()];
  return (
    <>
      <Button icon="stop" disabled={stop.isPending} onClick={() => setIsAsking(true)}>
        Stop {chosen.size} selected
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => stop.mutate([...chosen.keys()])}
        title={`Stop ${plural(chosen.size, "workload")}?`}
        action={`Stop ${chosen.size}`}
        isDangerous
      >
        {names.slice(0, NAMED_MAX).join(", ")}
        {names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ""}. Running workers get SIGTERM and their
        grace period, then SIGKILL; waiting workloads leave the queue.
      </Confirm>
    </>
  );
}
