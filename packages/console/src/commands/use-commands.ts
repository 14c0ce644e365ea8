/** Sends commands to the control plane, announces their outcome and reads again what they changed. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../connect/session.ts";
import { useAnnouncer } from "../parts/announcer.tsx";
import { nodeWords, workloadWords, type NodeVerb, type WorkloadVerb } from "./commands.ts";

export interface WorkloadCommand {
  readonly verb: WorkloadVerb;
  readonly workload: { readonly id: string; readonly name: string };
}

export function useWorkloadCommand() {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  const calls: Readonly<Record<WorkloadVerb, (id: string) => Promise<unknown>>> = {
    rerun: (id) => client.rerunWorkload(id),
    hold: (id) => client.holdWorkload(id),
    release: (id) => client.releaseWorkload(id),
    stop: (id) => client.stopWorkload(id),
  };
  return useMutation({
    mutationFn: ({ verb, workload }: WorkloadCommand) => calls[verb](workload.id),
    onSuccess: (_, { verb, workload }) => announcer.say(`${workload.name} ${workloadWords[verb].done}.`),
    onError: (error) => announcer.fail(error),
    onSettled: (_data, _error, { workload }) => queryClient.invalidateQueries({ queryKey: ["workload", workload.id] }),
  });
}

export interface NodeCommand {
  readonly verb: NodeVerb;
  readonly node: string;
  /** Drains only: whether running work is stopped and queued again. */
  readonly running?: "wait" | "requeue";
}

export function useNodeCommand() {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ verb, node, running = "wait" }: NodeCommand) =>
      verb === "drain" ? client.drainNode(node, { running }) : client.resumeNode(node),
    onSuccess: (_, { verb, node }) => announcer.say(`${node} ${nodeWords[verb].done}.`),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["nodes"] }),
  });
}
