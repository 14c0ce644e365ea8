/** Tokens of people and programs, with their last use, and the requests that were denied. */
import type { AccessToken } from "@headroom/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { useNow } from "../../connect/use-now.ts";
import { identityQuery, tokensQuery } from "../../data/queries.ts";
import { problemText } from "../../format/problem-text.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Segments } from "../../parts/controls.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { DenialsPanel } from "./denials-panel.tsx";
import { TokenForm } from "./token-form.tsx";

const shownTokens = [
  { value: "active", label: "Active" },
  { value: "all", label: "All" },
] as const;

export function AccessPage(): ReactElement {
  const client = useClient();
  const [shown, setShown] = useState<(typeof shownTokens)[number]["value"]>("active");
  const [isCreating, setIsCreating] = useState(false);
  const { data, error, refetch } = useQuery(tokensQuery(client, { all: shown === "all" }));
  return (
    <Page
      title="Access"
      layout="flow"
      summary={<OwnAccess />}
      toolbar={<Segments label="Tokens" name="tokens" value={shown} options={shownTokens} onValue={setShown} />}
      actions={
        <Button icon="plus" onClick={() => setIsCreating(true)}>
          New token
        </Button>
      }
    >
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading the tokens" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="flex max-w-7xl flex-col gap-4 px-4 pb-6 md:px-6">
            <TokensPanel tokens={data} />
            <DenialsPanel />
          </div>
        </>
      )}
      <TokenForm isOpen={isCreating} onClose={() => setIsCreating(false)} />
    </Page>
  );
}

/** The user and the role with which this page was opened. */
function OwnAccess(): ReactElement {
  const { data } = useQuery(identityQuery(useClient()));
  if (data === undefined) return <>Tokens of people and programs</>;
  const { user, role, team, token } = data;
  const from = token === null ? "the token of the state directory" : `the token ${token}`;
  return <>{`You are ${user}, ${role} of ${team ?? "the whole control plane"}, by ${from}`}</>;
}

function TokensPanel({ tokens }: { readonly tokens: readonly AccessToken[] }): ReactElement {
  return (
    <Panel title="Tokens">
      {tokens.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">
          There are no tokens: only the token of the state directory opens this control plane, with all rights. Create
          one for each person and program, so that each has the rights that it needs.
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {tokens.map((token) => (
            <TokenRow key={token.id} token={token} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function TokenRow({ token }: { readonly token: AccessToken }): ReactElement {
  const { name, user, role, team, createdAtMs, createdBy, expiresAtMs, revokedAtMs, lastUsedAtMs } = token;
  const hasExpired = useNow() >= (expiresAtMs ?? Infinity);
  return (
    <li className="grid gap-x-6 gap-y-1 px-4 py-3 md:grid-cols-[16rem_1fr_auto]" aria-label={`Token ${name}`}>
      <div className="min-w-0">
        <h3 className="font-medium break-words">{name}</h3>
        <p className="text-ink-2">as {user}</p>
      </div>
      <div className="min-w-0">
        <p>
          <Badge tone={role === "admin" ? "wait" : "idle"}>{role}</Badge> of {team ?? "the whole control plane"}
        </p>
        <p className="mt-0.5 text-ink-2">
          Created <Moment atMs={createdAtMs} /> by {createdBy};{" "}
          {lastUsedAtMs === null ? (
            "never used"
          ) : (
            <>
              last used <Moment atMs={lastUsedAtMs} />
            </>
          )}
        </p>
        <p className="text-ink-2">
          {revokedAtMs === null ? (
            expiresAtMs === null ? (
              "Does not expire"
            ) : (
              <>
                {hasExpired ? "Expired" : "Expires"} <Moment atMs={expiresAtMs} />
              </>
            )
          ) : (
            <>
              Revoked <Moment atMs={revokedAtMs} />
            </>
          )}
        </p>
      </div>
      {revokedAtMs === null && !hasExpired ? <RevokeButton token={token} /> : null}
    </li>
  );
}

function RevokeButton({ token: { id, name, user } }: { readonly token: AccessToken }): ReactElement {
  const client = useClient();
  const queryClient = useQueryClient();
  const announcer = useAnnouncer();
  const [isAsking, setIsAsking] = useState(false);
  const revoke = useMutation({
    mutationFn: () => client.revokeToken(id),
    onSuccess: () => announcer.say(`The token ${name} was revoked.`),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["tokens"] }),
  });
  return (
    <div>
      <Button look="danger" disabled={revoke.isPending} onClick={() => setIsAsking(true)} aria-label={`Revoke ${name}`}>
        Revoke
      </Button>
      {revoke.error === null ? null : (
        <p role="alert" className="mt-1 text-xs text-bad">
          {problemText(revoke.error).detail}
        </p>
      )}
      <Confirm
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => revoke.mutate()}
        title={`Revoke ${name}`}
        action="Revoke"
        isDangerous
      >
        Requests and browser sessions of {user} with this token are refused at once. It cannot be taken back: {user}{" "}
        needs a new token.
      </Confirm>
    </div>
  );
}
