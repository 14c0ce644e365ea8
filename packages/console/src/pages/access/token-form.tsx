/** The drawer that creates a token and shows it once. */
import { roles } from "@headroom/protocol";
import type { TokenCreated, TokenRequestInput } from "@headroom/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement, FormEvent } from "react";
import { useClient } from "../../connect/session.ts";
import { teamsQuery } from "../../data/queries.ts";
import { problemText } from "../../format/problem-text.ts";
import { Button } from "../../parts/button.tsx";
import { Field, Select, TextInput } from "../../parts/controls.tsx";
import { Drawer } from "../../parts/dialog.tsx";
import { useCopy } from "../../parts/use-copy.ts";

interface NewTokenProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function TokenForm({ isOpen, onClose }: NewTokenProps): ReactElement {
  return (
    <Drawer isOpen={isOpen} onClose={onClose} title="New token">
      {isOpen ? <Form onClose={onClose} /> : null}
    </Drawer>
  );
}

type Role = TokenRequestInput["role"];

const roleOptions: readonly { readonly value: Role; readonly label: string }[] = roles.map((role) => ({
  value: role,
  label: {
    viewer: "viewer: reads the work of its teams",
    member: "member: also submits work, and changes its own",
    operator: "operator: also changes the work of others",
    admin: "admin: also teams and tokens",
  }[role],
}));

const DAY_MS = 24 * 3_600_000;
const lifetimes = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "A year" },
  { value: "", label: "Does not expire" },
] as const;

interface TokenFields {
  readonly name: string;
  readonly user: string;
  /** "": the whole control plane. */
  readonly team: string;
  readonly role: Role;
  /** "": it does not expire. */
  readonly days: string;
}

const emptyFields: TokenFields = { name: "", user: "", team: "", role: "member", days: "90" };

const requestOf = ({ name, user, team, role, days }: TokenFields): TokenRequestInput => ({
  name: name.trim(),
  user: user.trim(),
  team: team === "" ? null : team,
  role,
  ...(days === "" ? {} : { expiresInMs: Number(days) * DAY_MS }),
});

function Form({ onClose }: { readonly onClose: () => void }): ReactElement {
  const client = useClient();
  const queryClient = useQueryClient();
  const { data: teams = [] } = useQuery(teamsQuery(client));
  const [fields, setFields] = useState(emptyFields);
  const create = useMutation({
    mutationFn: (request: TokenRequestInput) => client.createToken(request),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["tokens"] }),
  });
  const change = (next: Partial<TokenFields>): void => setFields((now) => ({ ...now, ...next }));
  if (create.data !== undefined) return <Created created={create.data} onClose={onClose} />;
  const isComplete = fields.name.trim() !== "" && fields.user.trim() !== "";
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isComplete && !create.isPending) create.mutate(requestOf(fields));
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4 p-4">
      <Field id="token-name" label="Name" hint="For people, like alice-laptop or ci">
        <TextInput id="token-name" value={fields.name} onValue={(name) => change({ name })} />
      </Field>
      <Field id="token-user" label="User" hint="Workloads that it submits belong to this user">
        <TextInput id="token-user" value={fields.user} onValue={(user) => change({ user })} />
      </Field>
      <Field id="token-role" label="Role">
        <Select
          id="token-role"
          label="Role"
          options={roleOptions}
          value={fields.role}
          onValue={(role) => change({ role: role as Role })}
        />
      </Field>
      <Field id="token-team" label="Team" hint="The role holds for this team and those below it">
        <Select
          id="token-team"
          label="Team"
          options={[
            { value: "", label: "The whole control plane" },
            ...teams.map(({ name }) => ({ value: name, label: name })),
          ]}
          value={fields.team}
          onValue={(team) => change({ team })}
        />
      </Field>
      <Field id="token-days" label="Expires after">
        <Select
          id="token-days"
          label="Expires after"
          options={lifetimes}
          value={fields.days}
          onValue={(days) => change({ days })}
        />
      </Field>
      {create.error === null ? null : (
        <p role="alert" className="text-bad">
          {problemText(create.error).detail}
        </p>
      )}
      <div className="flex gap-2">
        <Button look="primary" type="submit" disabled={!isComplete || create.isPending}>
          Create token
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}

interface CreatedProps {
  readonly created: TokenCreated;
  readonly onClose: () => void;
}

function Created({ created: { token, secret }, onClose }: CreatedProps): ReactElement {
  const copy = useCopy();
  return (
    <div className="flex flex-col gap-4 p-4">
      <p>
        The token {token.name} of {token.user}. It is shown once: the control plane keeps only its digest.
      </p>
      <code className="rounded-md border border-line bg-sunken p-3 font-mono text-xs break-all" aria-label="Secret">
        {secret}
      </code>
      <p className="text-ink-2">
        On the machine of {token.user}: <code className="font-mono text-xs">HEADROOM_TOKEN</code> has it, beside{" "}
        <code className="font-mono text-xs">HEADROOM_URL</code> with the address of this control plane.
      </p>
      <div className="flex gap-2">
        <Button look="primary" icon="copy" onClick={() => copy(secret, "The token was copied.")}>
          Copy
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
    </div>
  );
}
