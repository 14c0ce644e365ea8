/** The form with which a user asks for a larger limit or guarantee of a team. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useProposalCommand } from "../../commands/use-proposal-command.ts";
import { useClient } from "../../connect/session.ts";
import { teamsQuery } from "../../data/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Field, Select, inputClass } from "../../parts/controls.tsx";
import { Panel } from "../../parts/page.tsx";

const fields = [
  { value: "limit", label: "Limit" },
  { value: "guarantee", label: "Guarantee" },
] as const;
type AmountField = (typeof fields)[number]["value"];

export function AskPanel(): ReactElement {
  const teams = useQuery(teamsQuery(useClient())).data ?? [];
  const { mutate, isPending } = useProposalCommand();
  const [chosen, setChosen] = useState("");
  const [field, setField] = useState<AmountField>("limit");
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  const team = chosen === "" ? (teams[0]?.name ?? "") : chosen;
  const isComplete = team !== "" && /^\d{1,9}$/.test(amount) && reason.trim() !== "";
  const ask = (): void =>
    mutate({
      verb: "create",
      request: {
        change: { kind: "quota", team, [field]: { accelerators: Number(amount) } },
        reason: reason.trim(),
      },
    });
  return (
    <Panel title="Ask for quota">
      <form
        className="grid gap-3 px-4 py-3 sm:grid-cols-2 lg:grid-cols-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (isComplete) ask();
        }}
      >
        <Field id="ask-team" label="Team">
          <Select
            id="ask-team"
            label="Team"
            value={team}
            options={teams.map(({ name }) => ({ value: name, label: name }))}
            onValue={setChosen}
          />
        </Field>
        <Field id="ask-field" label="Amount of">
          <Select
            id="ask-field"
            label="Amount of"
            value={field}
            options={fields}
            onValue={(value) => setField(value === "guarantee" ? "guarantee" : "limit")}
          />
        </Field>
        <Field id="ask-amount" label="Accelerators">
          <input
            id="ask-amount"
            inputMode="numeric"
            className={inputClass}
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
          />
        </Field>
        <Field id="ask-reason" label="Reason">
          <input
            id="ask-reason"
            className={inputClass}
            maxLength={200}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </Field>
        <Button type="submit" look="primary" disabled={!isComplete || isPending} className="w-fit">
          Propose
        </Button>
      </form>
    </Panel>
  );
}
