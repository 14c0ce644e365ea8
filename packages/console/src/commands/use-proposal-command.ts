/** Commands about proposals from the console: decisions, simulations and requests for quota. */
import type { HeadroomClient, Proposal, ProposalRequestInput } from "@headroom/protocol";
import { proposalPhaseText } from "@headroom/views";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../connect/session.ts";
import { useAnnouncer } from "../parts/announcer.tsx";

export type ProposalCommand =
  | { readonly verb: "approve" | "reject" | "withdraw" | "simulate"; readonly id: string }
  | { readonly verb: "create"; readonly request: ProposalRequestInput };

function call(client: HeadroomClient, command: ProposalCommand): Promise<Proposal> {
  switch (command.verb) {
    case "create":
      return client.createProposal(command.request);
    case "simulate":
      return client.simulateProposal(command.id);
    case "withdraw":
      return client.withdrawProposal(command.id, {});
    case "approve":
    case "reject":
      return client.decideProposal(command.id, { verdict: command.verb });
  }
}

export function useProposalCommand() {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (command: ProposalCommand) => call(client, command),
    onSuccess: ({ id, phase }) => announcer.say(`Proposal ${id} ${proposalPhaseText(phase)}.`),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["proposals"] }),
  });
}
