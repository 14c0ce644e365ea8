/** A command from a page: its success is announced, its failure too, and the data of the page are fetched again. */
import type { HeadroomClient } from "@headroom/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../connect/session.ts";
import { useAnnouncer } from "../parts/announcer.tsx";

export interface PageCommand {
  /** Calls the control plane, and resolves with the sentence to announce. */
  readonly call: (client: HeadroomClient) => Promise<string>;
}

/** `queryKey`: of the queries whose data the commands change. */
export function usePageCommand(queryKey: readonly string[]) {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ call }: PageCommand) => call(client),
    onSuccess: (sentence) => announcer.say(sentence),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey }),
  });
}
